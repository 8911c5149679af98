#include "formats/added_tokens.h"

#include <utility>

#include "formats/unicode.h"

namespace assay::engine {

void AddedTokens::add(AddedToken token) {
  if (token.content.empty()) return;
  starts_[static_cast<unsigned char>(token.content[0])] = true;
  std::size_t node = 0;
  for (const char byte : token.content) {
    const auto [entry, added] = nodes_[node].next.try_emplace(static_cast<unsigned char>(byte), nodes_.size());
    node = entry->second;
    if (added) nodes_.emplace_back();
  }
  nodes_[node].token = tokens_.size();
  tokens_.push_back(std::move(token));
}

std::size_t AddedTokens::longest_at(std::string_view text) const {
  std::size_t longest = kNone;
  std::size_t node = 0;
  for (const char byte : text) {
    const auto entry = nodes_[node].next.find(static_cast<unsigned char>(byte));
    if (entry == nodes_[node].next.end()) break;
    node = entry->second;
    if (nodes_[node].token != kNone) longest = nodes_[node].token;
  }
  return longest;
}

AddedTokens::Found AddedTokens::find(std::string_view text, std::size_t from) const {
  if (tokens_.empty()) return {};
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!starts_[static_cast<unsigned char>(text[at])]) continue;
    const std::size_t found = longest_at(text.substr(at));
    if (found == kNone) continue;
    const AddedToken& token = tokens_[found];
    std::size_t begin = at;
    std::size_t end = at + token.content.size();
    const auto is_space = [](Char next) { return class_of(next.code) == CharClass::space; };
    while (token.strip_left && begin > from && is_space(last_char(text.substr(from, begin - from)))) {
      begin -= last_char(text.substr(from, begin - from)).length;
    }
    while (token.strip_right && end < text.size() && is_space(first_char(text.substr(end)))) {
      end += first_char(text.substr(end)).length;
    }
    return {begin, end, token.id};
  }
  return {};
}

}  // namespace assay::engine
