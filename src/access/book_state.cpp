#include "access/book_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/secrets.h"
#include "base/text.h"

namespace assay {
namespace {

Error denied(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::denied, .message = std::move(message), .hint = std::move(hint)};
}

Error misfit(std::string message) { return {.kind = ErrorKind::bad_file, .message = std::move(message)}; }

}  // namespace

Result<void> BookState::apply(const TokenRecord& record) {
  return std::visit([this](const auto& one) { return add(one); }, record);
}

Result<void> BookState::add(const TokenMade& made) {
  const std::size_t place = tokens_.size();
  if (by_hash_.contains(made.hash)) return misfit(fmt::format("the secret of token '{}' is given twice", made.id));
  if (!by_id_.emplace(made.id, place).second) return misfit(fmt::format("the token '{}' is there twice", made.id));
  by_hash_.emplace(made.hash, place);
  tokens_.push_back({.id = made.id,
                     .name = made.name,
                     .role = made.role,
                     .created = made.time,
                     .expires = made.expires,
                     .revoked = false});
  return {};
}

Result<void> BookState::add(const TokenRevoked& revoked) {
  const auto place = by_id_.find(revoked.id);
  if (place == by_id_.end()) return misfit(fmt::format("a token '{}' that is not there is revoked", revoked.id));
  tokens_[place->second].revoked = true;
  return {};
}

Result<void> BookState::add(const NodeJoined& joined) {
  if (!is_node_name(joined.node)) return misfit(fmt::format("'{}' is no name of a node", joined.node));
  const auto [place, is_new] = nodes_.try_emplace(joined.node);
  NodeKey& key = place->second;
  if (is_new || key.info.revoked) ++good_nodes_;
  key.info = {.node = joined.node, .joined = joined.time, .by_token = joined.token, .revoked = false};
  key.hash = joined.hash;
  return {};
}

Result<void> BookState::add(const NodeRevoked& revoked) {
  const auto key = nodes_.find(revoked.node);
  if (key == nodes_.end()) return misfit(fmt::format("a node '{}' that is not there is revoked", revoked.node));
  if (!key->second.info.revoked) --good_nodes_;
  key->second.info.revoked = true;
  key->second.revoked.push_back(key->second.hash);
  key->second.older_tokens = tokens_.size();
  return {};
}

std::vector<NodeKeyInfo> BookState::nodes() const {
  std::vector<NodeKeyInfo> all;
  all.reserve(nodes_.size());
  for (const auto& [name, key] : nodes_) all.push_back(key.info);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return all;
}

const TokenInfo* BookState::find(std::string_view id_or_name) const {
  if (const auto place = by_id_.find(id_or_name); place != by_id_.end()) return &tokens_[place->second];
  const TokenInfo* found = nullptr;
  for (const auto& token : tokens_) {
    if (token.name != id_or_name) continue;
    if (found == nullptr || found->revoked || !token.revoked) found = &token;
  }
  return found;
}

const NodeKeyInfo* BookState::find_node(std::string_view node) const {
  const auto key = nodes_.find(node);
  return key == nodes_.end() ? nullptr : &key->second.info;
}

Result<TokenInfo> BookState::check(std::string_view secret, WallTime now) const {
  const auto place = by_hash_.find(sha256_hex(secret));
  if (place == by_hash_.end()) return denied("the token is unknown", "Ask an administrator for a new token.");
  const TokenInfo& token = tokens_[place->second];
  if (token.revoked) {
    return denied(fmt::format("the token '{}' ({}) was revoked", token.name, token.id),
                  "Ask an administrator for a new token.");
  }
  if (token.expires && now >= *token.expires) {
    return denied(fmt::format("the token '{}' ({}) expired at {}", token.name, token.id, iso8601(*token.expires)),
                  "Ask an administrator for a new token.");
  }
  return token;
}

Result<bool> BookState::may_join(const TokenInfo& token, std::string_view node, std::string_view key) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return true;
  const std::string hash = sha256_hex(key);
  const auto& revoked = known->second.revoked;
  if (std::find(revoked.begin(), revoked.end(), hash) != revoked.end()) {
    return denied(fmt::format("this key of node '{}' was revoked", node),
                  "Remove the file 'key' in the agent's state folder, so that it makes a new one, and start it again.");
  }
  if (known->second.info.revoked) {
    // By their order in the book: a clock may be set back.
    if (by_id_.at(token.id) >= known->second.older_tokens) return true;
    return denied(
        fmt::format("the key of node '{}' was revoked after the token '{}' ({}) was made", node, token.name, token.id),
        "A node comes back with a new join token: assay token create --role agent");
  }
  if (equal_in_constant_time(hash, known->second.hash)) return false;
  return Error{
      .kind = ErrorKind::busy,
      .message = fmt::format("the node '{0}' has another key since {1}", node, iso8601(known->second.info.joined)),
      .hint = fmt::format("If this is the same machine, an administrator revokes the old key: "
                          "assay token revoke node:{0}, and makes a new join token. If not, give this one another "
                          "name.",
                          node)};
}

Result<void> BookState::check_node(std::string_view node, std::string_view key) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) {
    // The name may be anything that somebody sent.
    return denied(fmt::format("the node '{}' has not joined", printable(node.substr(0, 64))),
                  "Start the agent with a join token.");
  }
  if (!equal_in_constant_time(sha256_hex(key), known->second.hash)) {
    return denied(fmt::format("this is not the key of node '{}'", node));
  }
  if (known->second.info.revoked) return denied(fmt::format("the key of node '{}' was revoked", node));
  return {};
}

}  // namespace assay
