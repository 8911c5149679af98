#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay::engine {

/// A token that is found in the text as it stands, before any splitting: `<|endoftext|>`.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool strip_left = false;   ///< takes the white space before it with it
  bool strip_right = false;  ///< and that behind it
};

/// Finds added tokens; const and thread-safe once all are added.
class AddedTokens {
 public:
  struct Found {
    std::size_t begin = std::string_view::npos;  ///< npos: there is none
    std::size_t end = 0;
    std::int32_t id = 0;
  };

  /// An empty content is never found; of the same content twice, the last counts.
  void add(AddedToken token);
  bool empty() const { return tokens_.empty(); }

  /// The first token in `text` at or behind `from`, the longest of those that start there. Stripped white space is
  /// part of what was found, but never reaches before `from`.
  Found find(std::string_view text, std::size_t from) const;

  /// Calls `on_text(piece, offset)` and `on_token(id)` for what `text` consists of, in order; no piece is empty.
  template <typename OnText, typename OnToken>
  void split(std::string_view text, OnText on_text, OnToken on_token) const {
    std::size_t at = 0;
    while (at < text.size()) {
      const Found found = find(text, at);
      const std::size_t end = found.begin == std::string_view::npos ? text.size() : found.begin;
      if (end > at) on_text(text.substr(at, end - at), at);
      if (end == text.size()) return;
      on_token(found.id);
      at = found.end;
    }
  }

 private:
  struct Node {
    std::map<unsigned char, std::size_t> next;
    std::size_t token = kNone;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = std::vector<Node>(1);  // a trie; the first is the root
  std::array<bool, 256> starts_{};                  // bytes that some token starts with
};

}  // namespace assay::engine
