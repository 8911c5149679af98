#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"
#include "access/token_book.h"
#include "api/offer_types.h"
#include "api/run_types.h"
#include "base/text.h"
#include "base/units.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "leader/leader.h"

namespace assay {
namespace {

using In = ApiParameter::In;

constexpr Nanos kUsualJoinLifetime = std::chrono::hours(24);
/// A join token is copied to many machines; one that is good for years is made where its maker is at home.
constexpr Nanos kLongestJoinLifetime = std::chrono::hours(24 * 30);

JoinTokenView view_of(const TokenInfo& token, WallTime now) {
  const bool over = token.expires && *token.expires <= now;
  return {.id = token.id,
          .name = token.name,
          .created = token.created,
          .expires = token.expires,
          .state = token.revoked ? "revoked"
                   : over        ? "expired"
                                 : "good",
          .nodes = token.terms.nodes,
          .uses = token.terms.most_nodes,
          .approval = token.terms.needs_approval,
          .nodes_let_in = token.nodes_let_in};
}

NodeKeyView view_of(const NodeKeyInfo& key) {
  return {.node = key.node,
          .joined = key.joined,
          .by_token = key.by_token,
          .state = key.revoked ? "revoked"
                   : key.waits ? "waits"
                               : "good"};
}

constexpr std::size_t kMostOfBook = 1000;

/// Tokens and keys each in pages.
Result<JoinTokenList> list_join_tokens(TokenBook& book, const HttpRequest& request, WallTime now) {
  ASSAY_TRY(const auto limit, limit_of(request, kMostOfBook, kMostOfBook));
  JoinTokenList answer;
  auto tokens = book.tokens();
  std::erase_if(tokens, [](const TokenInfo& token) { return token.role != Role::agent; });
  std::reverse(tokens.begin(), tokens.end());
  auto token = tokens.begin();
  if (const auto before = request.query_value("before_token")) {
    token = std::find_if(tokens.begin(), tokens.end(), [&](const TokenInfo& one) { return one.id == *before; });
    if (token == tokens.end()) {
      return Error{.kind = ErrorKind::usage,
                   .message = "'before_token' must be the 'next_token' of another page of this list"};
    }
    ++token;
  }
  for (; token != tokens.end() && answer.tokens.size() < limit; ++token) answer.tokens.push_back(view_of(*token, now));
  if (token != tokens.end()) answer.next_token = answer.tokens.back().id;

  const auto after = request.query_value("after_key").value_or("");
  const bool waiting_alone = request.query_value("waiting") == "true";
  for (const auto& key : book.nodes()) {
    if (key.node <= after || (waiting_alone && (key.revoked || !key.waits))) continue;
    if (answer.keys.size() == limit) {
      answer.next_key = answer.keys.back().node;
      break;
    }
    answer.keys.push_back(view_of(key));
  }
  return answer;
}

Result<Nanos> join_lifetime(const std::string& text) {
  if (text.empty()) return kUsualJoinLifetime;
  const auto length = parse_duration(text);
  if (!length) return Error{.kind = ErrorKind::usage, .message = "'for' " + length.error().message};
  if (*length <= kLongestJoinLifetime) return *length;
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'for: {}' is too long: 30d at most", printable(text)),
               .hint = "On the leader's machine: `assay token create --role agent --expires …`."};
}

Result<MadeJoinToken> make_join_token(TokenBook& book, const LeaderProgram& program, NewJoinToken wanted,
                                      WallTime now) {
  ASSAY_TRY(const auto lifetime, join_lifetime(wanted.length));
  ASSAY_TRY(
      const auto made,
      book.create(Role::agent, std::move(wanted.name), lifetime,
                  {.nodes = std::move(wanted.nodes), .most_nodes = wanted.uses, .needs_approval = wanted.approval}));
  const std::string fingerprint = program.fingerprint ? program.fingerprint() : std::string();
  return MadeJoinToken{
      .token = view_of(made.info, now),
      .secret = join_token_text(made.secret, fingerprint.empty() ? std::nullopt : std::optional(fingerprint))};
}

/// By its id alone, and only of machines: what else is in the book is not to be touched from here.
Result<void> revoke_join_token(TokenBook& book, std::string_view id, bool with_nodes) {
  for (const auto& token : book.tokens()) {
    if (token.id != id || token.role != Role::agent) continue;
    ASSAY_CHECK(book.revoke(token.id, with_nodes));
    return {};
  }
  return Error{.kind = ErrorKind::not_found, .message = "there is no such token for machines"};
}

Result<void> check_has_key(TokenBook& book, std::string_view node) {
  const auto keys = book.nodes();
  if (std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return key.node == node; })) return {};
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("no node '{}' has ever joined", printable(node))};
}

void add_join_tokens(ApiTable& table, Leader& leader, TokenBook& book, LeaderProgram program) {
  table.add({.path = "/api/v1/join-tokens",
             .scope = Scope::admin,
             .summary = "Tokens that let machines join, and the keys of those that did",
             .parameters = {{.name = "waiting",
                             .description = "true: of keys, those alone that wait for an approval",
                             .type = "boolean"},
                            {.name = "limit", .description = "At most so many of each (1,000)", .type = "integer"},
                            {.name = "before_token", .description = "The 'next_token' of the page before"},
                            {.name = "after_key", .description = "The 'next_key' of the page before"}},
             .handle = answering([&book, &leader](const HttpRequest& request, const Principal&) {
               return list_join_tokens(book, request, leader.clock().wall());
             })});
  table.add({.method = "POST",
             .path = "/api/v1/join-tokens",
             .scope = Scope::admin,
             .summary = "A token with which machines join",
             .handle = taking<NewJoinToken>([&book, &leader, program = std::move(program)](
                                                NewJoinToken wanted, const HttpRequest&, const Principal&) {
               return make_join_token(book, program, std::move(wanted), leader.clock().wall());
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/join-tokens/{token}",
             .scope = Scope::admin,
             .summary = "Let nobody join with it any more",
             .parameters = {{.name = "token", .in = In::path, .description = "Its id"},
                            {.name = "with_nodes",
                             .description = "true: and the keys of all that it let in are good no longer",
                             .type = "boolean"}},
             .handle = answering([&book](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(
                   revoke_join_token(book, request.capture("token"), request.query_value("with_nodes") == "true"));
               return Done{};
             })});
}

}  // namespace

void add_join_endpoints(ApiTable& table, Leader& leader, TokenBook& book, LeaderProgram program) {
  add_join_tokens(table, leader, book, std::move(program));
  const ApiParameter node{.name = "node", .in = In::path, .description = "The name of the node"};
  table.add({.method = "POST",
             .path = "/api/v1/nodes/{node}/approve",
             .scope = Scope::admin,
             .summary = "Let in a node that waits for it",
             .parameters = {node},
             .handle = answering([&book](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(book.approve(request.capture("node")));
               return Done{};
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/nodes/{node}/key",
             .scope = Scope::admin,
             .summary = "Shut a node out: it joins again with another key and a token made after this alone",
             .parameters = {node},
             .handle = answering([&book](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(check_has_key(book, request.capture("node")));
               ASSAY_CHECK(book.revoke("node:" + std::string(request.capture("node"))));
               return Done{};
             })});
}

}  // namespace assay
