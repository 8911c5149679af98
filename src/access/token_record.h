#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "access/role.h"
#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// Which nodes a join token lets in.
struct JoinTerms {
  std::string nodes = {};                       ///< patterns of their names, see `is_node_pattern`; empty: any
  std::optional<std::int64_t> most_nodes = {};  ///< so many in all; absent: any number
  bool needs_approval = false;                  ///< each waits until an administrator has looked
  bool operator==(const JoinTerms&) const = default;
};

/// One line of the token book each. Only hashes of secrets are in it.
struct TokenMade {
  std::string id;
  std::string name;
  Role role = Role::viewer;
  std::string hash;
  WallTime time;
  std::optional<WallTime> expires;
  JoinTerms terms = {};
  bool operator==(const TokenMade&) const = default;
};
struct TokenRevoked {
  std::string id;
  WallTime time;
  bool with_nodes = false;  ///< and the keys of all nodes that it let in
  bool operator==(const TokenRevoked&) const = default;
};
struct NodeJoined {
  std::string node;
  std::string hash;   ///< of its key
  std::string token;  ///< id of the token that let it in
  WallTime time;
  bool waits = false;  ///< for `NodeApproved`
  bool operator==(const NodeJoined&) const = default;
};
struct NodeRevoked {
  std::string node;
  WallTime time;
  bool operator==(const NodeRevoked&) const = default;
};
struct NodeApproved {
  std::string node;
  WallTime time;
  bool operator==(const NodeApproved&) const = default;
};
using TokenRecord = std::variant<TokenMade, TokenRevoked, NodeJoined, NodeRevoked, NodeApproved>;

/// No line is longer, with its newline.
inline constexpr std::size_t kLongestTokenLine = 1024;

/// 1 to 64 letters, digits, `-`, `_` and `.`, not dots alone (a node's name may become that of a folder).
bool is_node_name(std::string_view text);
/// The same with `@`.
bool is_token_name(std::string_view text);

/// Patterns of names with commas between them, 256 bytes at most: `*` stands for any characters, `?` for one, `[0-9]`
/// for one of these.
bool is_node_pattern(std::string_view text);
bool matches_node_pattern(std::string_view pattern, std::string_view node);

/// A record as JSON, with its newline.
std::string line_of(const TokenRecord& record);
/// Reads what `line_of` writes, without the newline. `bad_file` for all else, other kinds of records included: a line
/// that is not understood could be a revocation.
Result<TokenRecord> parse_token_line(std::string_view line);

}  // namespace assay
