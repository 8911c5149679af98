#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/token_book.h"
#include "access/token_record.h"

namespace assay {

/// What the records of a token book add up to, in memory. One thread at a time.
class BookState {
 public:
  /// `bad_file`: a record that does not fit those before it (a revocation of nothing, an id given twice).
  Result<void> apply(const TokenRecord& record);

  const std::vector<TokenInfo>& tokens() const { return tokens_; }
  std::vector<NodeKeyInfo> nodes() const;
  /// Nodes whose key is good.
  std::size_t good_nodes() const { return good_nodes_; }

  /// By id, then by name; of several with that name the last that is not revoked, else the last. Null if there is none.
  const TokenInfo* find(std::string_view id_or_name) const;
  const NodeKeyInfo* find_node(std::string_view node) const;

  Result<TokenInfo> check(std::string_view secret, WallTime now) const;
  /// Whether `join` may go on with that token, which must be in the book (false: the node has this key already).
  Result<bool> may_join(const TokenInfo& token, std::string_view node, std::string_view key) const;
  Result<void> check_node(std::string_view node, std::string_view key) const;

 private:
  struct NodeKey {
    NodeKeyInfo info;
    std::string hash;
    std::vector<std::string> revoked;  ///< hashes of all keys that it must not come back with
    std::size_t older_tokens = 0;      ///< how many were made before its last revocation: they cannot undo it
  };
  /// Look-ups by a view do not copy the text.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

  Result<void> add(const TokenMade& made);
  Result<void> add(const TokenRevoked& revoked);
  Result<void> add(const NodeJoined& joined);
  Result<void> add(const NodeRevoked& revoked);
  Result<void> add(const NodeApproved& approved);
  void revoke(NodeKey& key);

  std::vector<TokenInfo> tokens_;
  ByText<std::size_t> by_id_;    ///< places in tokens_
  ByText<std::size_t> by_hash_;  ///< the hash of a secret that matches byte by byte tells nothing about the secret
  ByText<NodeKey> nodes_;
  std::size_t good_nodes_ = 0;
};

}  // namespace assay
