#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// What the bearer of a token may do, under one name: see scopes.h.
enum class Role { agent, viewer, user, admin };

std::string_view name_of(Role role);
std::optional<Role> role_from(std::string_view name);

/// One line of the token book each. Only hashes of secrets are in it.
struct TokenMade {
  std::string id;
  std::string name;
  Role role = Role::viewer;
  std::string hash;
  WallTime time;
  std::optional<WallTime> expires;
  bool operator==(const TokenMade&) const = default;
};
struct TokenRevoked {
  std::string id;
  WallTime time;
  bool operator==(const TokenRevoked&) const = default;
};
struct NodeJoined {
  std::string node;
  std::string hash;   ///< of its key
  std::string token;  ///< id of the token that let it in
  WallTime time;
  bool operator==(const NodeJoined&) const = default;
};
struct NodeRevoked {
  std::string node;
  WallTime time;
  bool operator==(const NodeRevoked&) const = default;
};
using TokenRecord = std::variant<TokenMade, TokenRevoked, NodeJoined, NodeRevoked>;

/// No line is longer, with its newline.
inline constexpr std::size_t kLongestTokenLine = 1024;

/// 1 to 64 letters, digits, `-`, `_` and `.`, not dots alone (a node's name may become that of a folder).
bool is_node_name(std::string_view text);
/// The same with `@`.
bool is_token_name(std::string_view text);

/// A record as JSON, with its newline.
std::string line_of(const TokenRecord& record);
/// Reads what `line_of` writes, without the newline. `bad_file` for all else, other kinds of records included: a line
/// that is not understood could be a revocation.
Result<TokenRecord> parse_token_line(std::string_view line);

}  // namespace assay
