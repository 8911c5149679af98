#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokenizer_parts.h"

namespace assay::engine {

/// Text to tokens and back, as a `tokenizer.json` of Hugging Face says. Knows byte-level BPE (GPT-2, Llama 3) and BPE
/// in the manner of SentencePiece (Llama 2, TinyLlama, Mistral). Post-processors, truncation and padding are ignored:
/// no token is added that is not in the text, such as one for the beginning. Const and thread-safe.
class Tokenizer {
 public:
  /// Reads a file, or `tokenizer.json` of a folder. Throws Failure `missing_file`, `bad_file`, `unsupported`, `denied`
  /// or `io`.
  static Tokenizer read(const std::string& path);
  /// The same for text that is in memory; `file` is its name in messages.
  static Tokenizer parse(std::string_view json, const std::string& file);

  /// Never fails, whatever the bytes: what is not UTF-8 is taken byte by byte. Time is O(n log n) of the longest word.
  /// Added and special tokens that stand in the text are recognised.
  std::vector<std::int32_t> encode(std::string_view utf8) const;

  /// The text of the tokens, special ones included. Not UTF-8 where a character was cut between tokens; ids that do
  /// not exist are left out.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// The largest id + 1: rows that an embedding needs.
  std::int64_t vocabulary() const { return parts_.vocabulary; }

 private:
  explicit Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {}

  void encode_plain(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const;
  void encode_normalized(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const;
  void encode_words(std::string_view text, std::vector<std::int32_t>& ids) const;

  TokenizerParts parts_;
};

}  // namespace assay::engine
