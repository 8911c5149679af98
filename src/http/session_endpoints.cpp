#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "access/secrets.h"
#include "accounts/accounts.h"
#include "api/account_types.h"
#include "base/rate_limit.h"
#include "base/text.h"
#include "http/api_routes.h"
#include "http/client_address.h"
#include "leader/leader.h"

namespace assay {
namespace {

/// What a browser keeps. It names no path: a browser then sends it to where it came from and below, which is the API,
/// behind whatever prefix a proxy has put before it.
std::string cookie_field(std::string_view secret, bool secure, std::string_view more = "") {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict{}{}", kSessionCookie, secret, secure ? "; Secure" : "", more);
}

std::vector<std::string> scope_names(const Scopes& scopes) {
  std::vector<std::string> names;
  for (const Scope scope : {Scope::read, Scope::run, Scope::alerts, Scope::manage, Scope::admin}) {
    if (scopes.has(scope)) names.emplace_back(name_of(scope));
  }
  return names;
}

SessionInfo info_of(const People& people, const SessionRecord& session, const UserRecord& user) {
  return {.user = user.name,
          .name = user.full_name,
          .role = user.role,
          .scopes = scope_names(scopes_of(role_from(user.role).value_or(Role::viewer))),
          .via = "session",
          .csrf = session.csrf,
          .expires = session_end(people.session_rules(), session),
          .needs_password = !has_password(user),
          .shows = {}};
}

/// The secret of a link that a request shows, for what it is about.
std::optional<SharedView> shown_by_link(Accounts& accounts, const Principal& caller) {
  constexpr std::string_view kLink = "link ";
  if (!caller.may_see || !caller.name.starts_with(kLink)) return std::nullopt;
  const auto link = accounts.links().find(caller.name.substr(kLink.size()));
  if (!link) return std::nullopt;
  return SharedView{.kind = link->kind, .runs = link->runs, .study = link->study};
}

Result<SessionInfo> who_asks(Accounts& accounts, const HttpRequest& request, const Principal& caller) {
  if (!caller.session.empty()) {
    const auto visitor = accounts.people().visitor(cookie_of(request, kSessionCookie));
    if (visitor) return info_of(accounts.people(), visitor->session, visitor->user);
  }
  SessionInfo info{.user = caller.name, .role = caller.role, .scopes = scope_names(caller.scopes), .via = "token"};
  if (const auto user = accounts.people().find(caller.account); user && !caller.account.empty()) {
    info.name = user->full_name;
  }
  info.shows = shown_by_link(accounts, caller);
  if (info.shows) info.via = "link";
  if (!request.headers.find("Authorization")) info.via = "anonymous";
  return info;
}

void note_sign_in(Leader& leader, const std::string& user, const std::string& from, int status,
                  const std::string& detail) {
  leader.note_problem("writing the audit log",
                      leader.accounts().audit().append({.time = leader.clock().wall(),
                                                        .who = user.empty() ? "" : "user " + user,
                                                        .from = from,
                                                        .what = "POST /api/v1/session",
                                                        .about = user,
                                                        .status = status,
                                                        .detail = detail}));
}

Result<People::SignedIn> sign_in(People& people, const SignIn& wanted, const std::string& from) {
  if (wanted.once.empty()) return people.sign_in(wanted.user, wanted.password, from);
  if (!wanted.user.empty() || !wanted.password.empty()) {
    return Error{
        .kind = ErrorKind::usage, .message = "'once' stands for itself", .hint = "Leave out user and password."};
  }
  return people.sign_in_once(wanted.once, from);
}

/// Of attempts that are refused without being looked at, a few at a time are written down, and how many there were
/// besides: whoever guesses must be seen, and must not be able to fill the log. Any thread.
class TurnedAwaySignIns {
 public:
  /// How many were not written down before this one, which is; nothing where it is not to be either.
  std::optional<std::size_t> note(SteadyTime now) {
    const std::lock_guard lock(mutex_);
    if (written_.pass(now)) return std::exchange(unwritten_, 0);
    ++unwritten_;
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  RateLimit written_{10, 1.0 / 6};
  std::size_t unwritten_ = 0;
};

/// A page of somebody else must not sign a visitor in: they would go on as whom it chose. It cannot have a browser send
/// JSON without being asked whether it may, and browsers say where a request comes from.
std::optional<HttpResponse> refuse_other_page(const HttpRequest& request, bool behind_proxy) {
  const std::string_view type = request.headers.find("Content-Type").value_or("");
  if (!equal_ignoring_case(trim(type.substr(0, type.find(';'))), "application/json")) {
    return error_response(415, {.kind = ErrorKind::usage,
                                .message = "who signs in sends JSON",
                                .hint = "Send the header 'Content-Type: application/json' (curl: --json)."});
  }
  const auto site = request.headers.find("Sec-Fetch-Site");
  const auto origin = request.headers.find("Origin");
  bool is_own = true;
  if (site) {
    is_own = *site == "same-origin" || *site == "none";
  } else if (origin && !behind_proxy) {
    // A proxy may call this leader by another name than browsers do.
    const std::string_view host = request.headers.find("Host").value_or("");
    is_own = origin->ends_with(host) && origin->substr(0, origin->size() - host.size()).ends_with("://");
  }
  if (is_own) return std::nullopt;
  return error_response(403, {.kind = ErrorKind::denied, .message = "another site's page may sign nobody in here"});
}

Result<HttpResponse> begin_session(Leader& leader, TurnedAwaySignIns& turned_away, const HttpRequest& request) {
  if (auto refused = refuse_other_page(request, leader.accounts().options().behind_proxy)) return std::move(*refused);
  ASSAY_TRY(auto object, body_object(request));
  ASSAY_TRY(const auto wanted, as_usage(read_api<SignIn>(json::value(std::move(object)))));
  Accounts& accounts = leader.accounts();
  const bool behind_proxy = accounts.options().behind_proxy;
  const std::string from = client_address(request, behind_proxy);
  const auto made = sign_in(accounts.people(), wanted, from);
  if (!made) {
    const Error& error = made.error();
    const int status = error.kind == ErrorKind::denied ? 401
                       : error.kind == ErrorKind::busy ? 429
                                                       : status_of(error.kind);
    // As it was written, which need not be a user; a password that slipped into this field is not kept.
    const std::string name = is_token_name(wanted.user) ? lower_case(wanted.user) : "";
    const std::string user = accounts.people().find(name) ? name : "";
    if (status == 401) note_sign_in(leader, user, from, status, error.message);
    if (status == 429) {
      if (const auto more = turned_away.note(leader.clock().now())) {
        const auto besides = *more > 0 ? fmt::format("; {} more were refused before, not written down", *more) : "";
        note_sign_in(leader, user, from, status, error.message + besides);
      }
    }
    return error_response(status, error);
  }
  note_sign_in(leader, made->user.name, from, 200, "");
  HttpResponse response = json_response(write_api(info_of(accounts.people(), made->session, made->user)));
  response.headers.add("Set-Cookie", cookie_field(made->secret, came_by_tls(request, behind_proxy)));
  return response;
}

Result<HttpResponse> end_session(Leader& leader, const HttpRequest& request, const Principal& caller) {
  if (caller.session.empty()) {
    return Error{.kind = ErrorKind::usage, .message = "you are not signed in: there is no session to end"};
  }
  ASSAY_CHECK(leader.accounts().people().sign_out(caller.session));
  HttpResponse response = json_response(write_api(Done{}));
  response.headers.add("Set-Cookie",
                       cookie_field("", came_by_tls(request, leader.accounts().options().behind_proxy), "; Max-Age=0"));
  return response;
}

Result<Done> change_password(Leader& leader, const PasswordChange& wanted, const HttpRequest& request,
                             const Principal& caller) {
  People& people = leader.accounts().people();
  const auto visitor = people.visitor(cookie_of(request, kSessionCookie));
  if (caller.session.empty() || !visitor) {
    return Error{.kind = ErrorKind::denied, .message = "a password is changed by who is signed in, not with a token"};
  }
  ASSAY_CHECK(people.change_password(*visitor, wanted.old, wanted.password));
  return Done{};
}

}  // namespace

void add_session_endpoints(ApiTable& table, Leader& leader) {
  constexpr std::size_t kSignInBytes = 8192;
  ApiHandler sign_in_handler = writing<SessionInfo>(
      "application/json",
      [&leader, turned_away = std::make_shared<TurnedAwaySignIns>()](const HttpRequest& request, const Principal&) {
        return begin_session(leader, *turned_away, request);
      });
  sign_in_handler.takes = &api_type<SignIn>().info();
  table.add({.method = "POST",
             .path = "/api/v1/session",
             .scope = std::nullopt,
             .summary = "Sign in: with a password, or with a link that works once; sets a cookie",
             .route = {.body_bytes = kSignInBytes},
             .handle = std::move(sign_in_handler)});
  table.add({.path = "/api/v1/session",
             .summary = "Who is asking, and what they may",
             .handle = answering([&leader](const HttpRequest& request, const Principal& caller) {
               return who_asks(leader.accounts(), request, caller);
             })});
  table.add(
      {.method = "DELETE",
       .path = "/api/v1/session",
       .summary = "Sign out",
       .audit = ApiEndpoint::Audit::always,
       .handle = writing<Done>("application/json", [&leader](const HttpRequest& request, const Principal& caller) {
         return end_session(leader, request, caller);
       })});
  table.add({.method = "POST",
             .path = "/api/v1/session/password",
             .summary = "Change one's own password; every other session of the account ends",
             .audit = ApiEndpoint::Audit::always,
             .handle = taking<PasswordChange>(
                 [&leader](const PasswordChange& wanted, const HttpRequest& request, const Principal& caller) {
                   return change_password(leader, wanted, request, caller);
                 })});
}

}  // namespace assay
