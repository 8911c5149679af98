#include "access/authenticator.h"

#include <fmt/format.h>

#include "access/token_book.h"

namespace assay {

std::string Principal::owner() const {
  if (kind == Kind::node) return "node " + name;
  return account.empty() ? "token " + name : "user " + account;
}

Result<std::optional<Principal>> TokenAuthenticator::authenticate(const Claims& claims) {
  if (claims.bearer.empty()) return std::optional<Principal>();
  ASSAY_TRY(const auto token, book_.check(claims.bearer));
  return std::optional(Principal{.kind = Principal::Kind::user,
                                 .name = token.name,
                                 .scopes = scopes_of(token.role),
                                 .title = fmt::format("token '{}' of role {}", token.name, name_of(token.role)),
                                 .role = std::string(name_of(token.role))});
}

Result<std::optional<Principal>> NodeKeyAuthenticator::authenticate(const Claims& claims) {
  if (claims.node.empty()) return std::optional<Principal>();
  ASSAY_CHECK(book_.check_node(claims.node, claims.bearer));
  return std::optional(Principal{.kind = Principal::Kind::node,
                                 .name = claims.node,
                                 .scopes = {Scope::node},
                                 .title = fmt::format("node {}", claims.node)});
}

}  // namespace assay
