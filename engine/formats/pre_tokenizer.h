#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay::engine {

/// The regular expressions by which tokenizers of byte-level BPE cut text into words.
enum class SplitPattern {
  gpt2,   ///< also RoBERTa
  llama3  ///< also GPT-4 (cl100k)
};

/// What GPT-2's byte-level pre-tokenizer uses without saying so.
inline constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kLlama3Regex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The pattern that is written as `regex`; empty: not one that we have.
std::optional<SplitPattern> split_pattern(std::string_view regex);

/// Bytes of the first word of `text`, which is not empty. Every byte belongs to some word: the patterns leave nothing
/// out. Bytes that are not UTF-8 count as symbols. Cutting a whole text word by word takes linear time.
std::size_t first_word(SplitPattern pattern, std::string_view text);

}  // namespace assay::engine
