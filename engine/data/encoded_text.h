#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::engine {

/// How text becomes tokens 0 … vocabulary−1. Called by several threads at once.
struct TextEncoder {
  std::string name;  ///< for messages: the tokenizer's file
  std::int64_t vocabulary = 0;
  std::function<std::vector<std::int32_t>(std::string_view)> encode;

  /// `encode`, but throws Failure `bad_file` where a token is not below `vocabulary`: a GPU would crash on it later.
  std::vector<std::int32_t> encode_checked(std::string_view text) const;
};

/// `position`, or up to three bytes later where that would be inside a character of UTF-8.
std::size_t character_start(std::string_view text, std::size_t position);

/// The tokens of a long text, encoded once, in pieces of about a mebibyte by all the cores this process may use. Pieces
/// end with a line where there is a line end within their last quarter, else at the end of a character; where they end
/// depends on the text alone, so the tokens do too. Each piece is encoded on its own.
class EncodedText {
 public:
  /// Encodes no more than is needed for `most_tokens`, but for the pieces already begun.
  EncodedText(std::string_view text, const TextEncoder& encoder, std::int64_t most_tokens);

  std::int64_t size() const { return size_; }  ///< at most `most_tokens`
  /// The tokens from `first` on; first + out.size() ≤ size().
  void copy(std::int64_t first, std::span<std::int32_t> out) const;

 private:
  std::vector<std::vector<std::int32_t>> pieces_;
  std::vector<std::int64_t> starts_;  // the number of tokens before each piece
  std::int64_t size_ = 0;
};

}  // namespace assay::engine
