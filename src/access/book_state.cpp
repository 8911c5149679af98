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

/// Whether the terms of a token cover one more node: true, or why not.
Result<bool> lets_in(const TokenInfo& token, std::string_view node) {
  const JoinTerms& terms = token.terms;
  if (!terms.nodes.empty() && !matches_node_pattern(terms.nodes, node)) {
    return denied(fmt::format("the token '{}' ({}) is for nodes called {}, not for '{}'", token.name, token.id,
                              terms.nodes, node),
                  "Ask an administrator for a token that is for this node.");
  }
  if (terms.most_nodes && token.nodes_let_in >= *terms.most_nodes) {
    return denied(fmt::format("the token '{}' ({}) has let in as many nodes as it may: {}", token.name, token.id,
                              *terms.most_nodes),
                  "Ask an administrator for a new token.");
  }
  return true;
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
                     .revoked = false,
                     .terms = made.terms});
  return {};
}

Result<void> BookState::add(const TokenRevoked& revoked) {
  const auto place = by_id_.find(revoked.id);
  if (place == by_id_.end()) return misfit(fmt::format("a token '{}' that is not there is revoked", revoked.id));
  tokens_[place->second].revoked = true;
  if (!revoked.with_nodes) return {};
  for (auto& [name, key] : nodes_) {
    if (key.info.by_token == revoked.id) revoke(key);
  }
  return {};
}

Result<void> BookState::add(const NodeJoined& joined) {
  if (!is_node_name(joined.node)) return misfit(fmt::format("'{}' is no name of a node", joined.node));
  const auto [place, is_new] = nodes_.try_emplace(joined.node);
  NodeKey& key = place->second;
  if (is_new || key.info.revoked) ++good_nodes_;
  key.info = {
      .node = joined.node, .joined = joined.time, .by_token = joined.token, .revoked = false, .waits = joined.waits};
  key.hash = joined.hash;
  if (const auto token = by_id_.find(joined.token); token != by_id_.end()) ++tokens_[token->second].nodes_let_in;
  return {};
}

Result<void> BookState::add(const NodeRevoked& revoked) {
  const auto key = nodes_.find(revoked.node);
  if (key == nodes_.end()) return misfit(fmt::format("a node '{}' that is not there is revoked", revoked.node));
  revoke(key->second);
  return {};
}

void BookState::revoke(NodeKey& key) {
  if (!key.info.revoked) --good_nodes_;
  key.info.revoked = true;
  key.revoked.push_back(key.hash);
  key.older_tokens = tokens_.size();
}

Result<void> BookState::add(const NodeApproved& approved) {
  const auto key = nodes_.find(approved.node);
  if (key == nodes_.end()) return misfit(fmt::format("a node '{}' that is not there is approved", approved.node));
  key->second.info.waits = false;
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
  if (known == nodes_.end()) return lets_in(token, node);
  const std::string hash = sha256_hex(key);
  const auto& revoked = known->second.revoked;
  if (std::find(revoked.begin(), revoked.end(), hash) != revoked.end()) {
    return denied(fmt::format("this key of node '{}' was revoked", node),
                  "Remove the file 'key' in the agent's state folder, so that it makes a new one, and start it again.");
  }
  if (known->second.info.revoked) {
    // By their order in the book: a clock may be set back.
    if (by_id_.at(token.id) >= known->second.older_tokens) return lets_in(token, node);
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
  if (known->second.info.waits) {
    return denied(fmt::format("the node '{}' waits until an administrator lets it in", node),
                  fmt::format("assay nodes approve {}", node));
  }
  return {};
}

}  // namespace assay
