#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/token_record.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

struct TokenInfo {
  std::string id;
  std::string name;
  Role role = Role::viewer;
  WallTime created;
  std::optional<WallTime> expires;
  bool revoked = false;
  JoinTerms terms = {};
  std::int64_t nodes_let_in = 0;  ///< ever: a node that joins with another key counts again
  bool operator==(const TokenInfo&) const = default;
};

struct NodeKeyInfo {
  std::string node;
  WallTime joined;
  std::string by_token;  ///< the id of the token that let it in
  bool revoked = false;
  bool waits = false;  ///< for an administrator's approval
  bool operator==(const NodeKeyInfo&) const = default;
};

/// How large a book may become.
struct TokenBookLimits {
  std::size_t bytes = std::size_t{64} << 20;                ///< some two hundred thousand records
  std::size_t kept_for_revocations = std::size_t{1} << 20;  ///< of those bytes: a full book must not keep anybody in
  std::size_t nodes = 20'000;  ///< with a good key: whoever has a join token must not fill the book with names
};

/// Who may do what: tokens of people and programs, keys of nodes. One append-only file of JSON lines that only its
/// owner can read, and which several processes may use at once: what one writes the others see with their next call.
/// Secrets are not in it, only their hashes. Any thread. Writing (`create`, `revoke`, `join`) takes a lock on the file
/// and waits for the disk; checking costs one stat(2) and a look-up in memory, also while another thread writes.
/// Every call may also fail with the errors of the file: `denied` (others can read it), `bad_file` (a damaged line:
/// it could be a revocation, so nobody is let in), `io`, …
class TokenBook {
 public:
  struct NewToken {
    TokenInfo info;
    std::string secret;  ///< seen here and never again
  };

  /// Makes the file, and its folder, if it is missing. `clock` must outlive the book.
  static Result<TokenBook> open(const fs::path& file, const Clock& clock, TokenBookLimits limits = {});
  TokenBook(TokenBook&&) noexcept;
  TokenBook& operator=(TokenBook&&) noexcept;
  ~TokenBook();

  /// Without a name the token is called by its id, without a lifetime it is good until it is revoked. `usage`: a bad
  /// name, the name of another token that is still good, a lifetime that is not above 0 or beyond a hundred years,
  /// terms for a token that is not for agents or that let nobody in.
  Result<NewToken> create(Role role, std::string name, std::optional<Nanos> lifetime, JoinTerms terms = {});
  /// A token by its id or name, `with_nodes`: and the keys of all that it let in; else they stay. `node:gpu03` revokes
  /// that node's key. A node whose key was revoked may join again with another one and a token that was made after
  /// that. Revoking twice is fine. `not_found` otherwise.
  Result<TokenInfo> revoke(std::string_view id_or_name, bool with_nodes = false);
  /// Lets a node in that waits; one that does not wait stays as it is. `not_found`: none of that name has a good key.
  Result<void> approve(std::string_view node);

  /// In the order in which they were made. What was known last, should the file have become unreadable.
  std::vector<TokenInfo> tokens();
  /// By name; for each node its last key.
  std::vector<NodeKeyInfo> nodes();

  /// Whose secret this is. `denied`: unknown, expired or revoked; the message is for the log, not for the bearer.
  Result<TokenInfo> check(std::string_view secret);
  enum class Joined { yes, waits };
  /// Makes a key good for a node, or lets it wait for `approve`; again with the same key changes nothing. `denied`: the
  /// token is not good, not one for agents or not for that node, has let in as many as it may, the key was revoked, or
  /// the node's last one was after the token was made. `usage`: no name of a node, no key, too many nodes. `busy`: the
  /// node has another key.
  Result<Joined> join(std::string_view join_secret, std::string_view node, std::string_view key);
  /// `denied` unless this is the node's key.
  Result<void> check_node(std::string_view node, std::string_view key);

 private:
  class Shared;
  explicit TokenBook(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace assay
