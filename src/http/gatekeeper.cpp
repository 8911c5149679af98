#include "http/gatekeeper.h"

#include <fmt/format.h>

#include <utility>

#include "access/secrets.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "http/client_address.h"
#include "net/headers.h"
#include "net/http_message.h"
#include "protocol/paths.h"
#include "store/account_tables.h"

namespace assay {
namespace {

std::string_view bearer_of(const HttpRequest& request) {
  const auto field = request.headers.find("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!field || field->size() <= kScheme.size() || !equal_ignoring_case(field->substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  return trim(field->substr(kScheme.size()));
}

/// What a request is about: what its path names, else what its body calls by name. Never more of a body: it may hold
/// secrets.
std::string about_of(const HttpRequest& request) {
  constexpr std::size_t kLongest = 200;
  std::vector<std::string> about;
  for (const auto& [name, value] : request.captured) about.push_back(printable(value).substr(0, kLongest));
  if (!about.empty() || request.body.empty() || request.body.size() > (std::size_t{1} << 20)) {
    return assay::join(about, " ");
  }
  const auto body = parse_json_strictly(request.body);
  if (!body || !body->is_object()) return "";
  for (const char* key : {"name", "user", "node"}) {
    const auto* value = body->get_object().if_contains(key);
    if (value && value->is_string()) return printable(std::string(value->get_string())).substr(0, kLongest);
  }
  return "";
}

}  // namespace

Gatekeeper::Gatekeeper(TokenBook& book, std::vector<std::unique_ptr<Authenticator>> others, GatekeeperOptions options)
    : book_(book), options_(std::move(options)) {
  // Nodes first: they ask most often, and say so.
  authenticators_.push_back(std::make_unique<NodeKeyAuthenticator>(book));
  authenticators_.push_back(std::make_unique<TokenAuthenticator>(book));
  for (auto& other : others) authenticators_.push_back(std::move(other));
}

Gatekeeper::Question Gatekeeper::question_of(const HttpRequest& request) const {
  return {.claims = {.bearer = std::string(bearer_of(request)),
                     .node = std::string(request.headers.find(kNodeHeader).value_or("")),
                     .session = std::string(cookie_of(request, kSessionCookie))},
          .what = fmt::format("{} {} from {}", request.method, printable(request.path),
                              client_address(request, options_.behind_proxy)),
          .csrf = std::string(request.headers.find(kCsrfHeader).value_or("")),
          .changes = request.method != "GET" && request.method != "HEAD"};
}

std::variant<Principal, TurnedAway> Gatekeeper::admit(const HttpRequest& request, Scope scope) {
  Question question = question_of(request);
  auto admitted = admit(question, scope);
  if (auto* principal = std::get_if<Principal>(&admitted)) {
    principal->still_allowed = [this, scope, question = std::move(question)] {
      return std::holds_alternative<Principal>(admit(question, scope));
    };
  }
  return admitted;
}

Admission Gatekeeper::look_at(const HttpRequest& head, std::optional<Scope> scope, const Answer& turn_away) {
  Admission admission{.caller = client_address(head, options_.behind_proxy)};
  if (!scope) return admission;
  const Question question = question_of(head);
  auto admitted = admit(question, *scope);
  if (auto* away = std::get_if<TurnedAway>(&admitted)) {
    if (away->known) admission.caller = away->known->owner();
    admission.refuse = [turn_away, away = std::move(*away)](const HttpRequest& request) {
      return turn_away(request, away);
    };
    return admission;
  }
  auto& principal = std::get<Principal>(admitted);
  if (!question.claims.bearer.empty() || !question.claims.session.empty()) admission.caller = principal.owner();
  if (options_.no_room) admission.turned_away = [this, who = std::move(principal)] { options_.no_room(who); };
  return admission;
}

std::variant<Principal, TurnedAway> Gatekeeper::identify(const Question& question, Principal::Kind kind) {
  std::optional<Error> denied;
  for (const auto& authenticator : authenticators_) {
    auto found = authenticator->authenticate(question.claims);
    if (found && *found) {
      // As if it were unknown: what somebody is elsewhere is of no use here.
      if ((*found)->kind != kind) return refuse(question, 401, fmt::format("{} asks", (*found)->title));
      if (question.changes && !(*found)->csrf.empty() && !equal_in_constant_time((*found)->csrf, question.csrf)) {
        return refuse(question, 403, fmt::format("a change by cookie needs the header {} of the session", kCsrfHeader));
      }
      return std::move(**found);
    }
    if (found) continue;
    if (found.error().kind != ErrorKind::denied) return refuse(question, found.error());
    denied = std::move(found).error();
  }
  return denied ? refuse(question, *denied) : refuse(question, 401, "it does not say who asks");
}

std::variant<Principal, TurnedAway> Gatekeeper::admit(const Question& question, Scope scope) {
  auto known = identify(question, scope == Scope::node ? Principal::Kind::node : Principal::Kind::user);
  const auto* principal = std::get_if<Principal>(&known);
  if (!principal || principal->scopes.has(scope)) return known;
  std::vector<std::string> roles;
  for (const Role role : roles_with(scope)) roles.emplace_back(name_of(role));
  TurnedAway away = refuse(question, 403,
                           fmt::format("{} may not: this needs the scope '{}' (role {})", principal->title,
                                       name_of(scope), assay::join(roles, " or ")));
  away.known = *principal;
  return away;
}

std::variant<TokenBook::Joined, TurnedAway> Gatekeeper::join(const HttpRequest& request, const std::string& node,
                                                             const std::string& key) {
  const Question question = question_of(request);
  // Strangers are turned away below, and must not take the places of those who may.
  if (book_.check(question.claims.bearer) && !may_join_now()) {
    log_refusal(fmt::format("Refused node {} from {}: too many join at once", printable(node), request.peer.host));
    return TurnedAway{429, {.kind = ErrorKind::busy, .message = "too many nodes join at once"}};
  }
  const auto joined = book_.join(question.claims.bearer, node, key);
  if (joined) {
    log_join(fmt::format("Node {} {} from {}.", node,
                         *joined == TokenBook::Joined::yes ? "has joined" : "waits to be let in", request.peer.host));
    return *joined;
  }
  const Error& error = joined.error();
  if (error.kind == ErrorKind::usage) return TurnedAway{400, error};
  // Who has a token that is good may know why it does not help.
  if (error.kind == ErrorKind::denied && book_.check(question.claims.bearer)) {
    log_refusal(fmt::format("Refused node {} from {}: {}", printable(node), request.peer.host, error.text()));
    return TurnedAway{403, error};
  }
  if (error.kind != ErrorKind::busy) return refuse(question, error);
  log_refusal(fmt::format("Refused a second key for node {} from {}", printable(node), request.peer.host));
  return TurnedAway{409, error};
}

void Gatekeeper::note_change(const HttpRequest& request, const Principal& caller, std::string what, int status,
                             std::string detail) const {
  if (!options_.audit) return;
  options_.audit({.who = caller.owner(),
                  .from = client_address(request, options_.behind_proxy),
                  .what = std::move(what),
                  .about = about_of(request),
                  .status = status,
                  .detail = std::move(detail)});
}

TurnedAway Gatekeeper::refuse(const Question& question, int status, std::string_view why) {
  log_refusal(fmt::format("Refused {}: {}", question.what, why));
  return {
      status,
      {.kind = ErrorKind::denied,
       .message = status == 401 ? "this needs a token that is good here, or to be signed in" : std::string(why),
       .hint = status == 401 ? "`assay token create` on the leader's machine makes one; `assay login` signs in." : ""}};
}

TurnedAway Gatekeeper::refuse(const Question& question, const Error& error) {
  if (error.kind == ErrorKind::denied) return refuse(question, 401, error.text());
  log_error("Nobody can be let in: {}", error.text());
  return {503, {.kind = ErrorKind::io, .message = "the leader cannot read its tokens"}};
}

bool Gatekeeper::may_join_now() {
  const std::lock_guard lock(joins_mutex_);
  return joins_.pass(SystemClock().now());
}

void Gatekeeper::log_join(const std::string& line) {
  const std::lock_guard lock(joins_mutex_);
  if (!logged_joins_.pass(SystemClock().now())) {
    ++unlogged_joins_;
    return;
  }
  if (unlogged_joins_ > 0) log_info("{} more nodes have joined meanwhile.", std::exchange(unlogged_joins_, 0));
  log_info("{}", line);
}

void Gatekeeper::log_refusal(const std::string& line) {
  const SteadyTime now = SystemClock().now();
  const std::lock_guard lock(log_mutex_);
  if (now - logged_since_ >= kLogPeriod) {
    if (unlogged_ > 0) log_warning("{} more requests were refused within a minute.", unlogged_);
    logged_since_ = now;
    logged_ = unlogged_ = 0;
  }
  if (logged_ < kLoggedPerPeriod) {
    ++logged_;
    log_warning("{}", line);
  } else {
    ++unlogged_;
  }
}

}  // namespace assay
