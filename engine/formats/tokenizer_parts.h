#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/added_tokens.h"
#include "formats/bpe.h"

namespace assay::engine {

/// What stands for a space in the tokens of SentencePiece: "▁", U+2581.
inline constexpr std::string_view kSpaceMark = "\u2581";
inline constexpr char32_t kSpaceMarkCode = 0x2581;

/// How spaces become space marks.
struct SpaceMarking {
  enum class Prefix {
    none,
    always,                  ///< the normalizer Prepend
    unless_marked,           ///< the pre-tokenizer Metaspace: not where the text starts with a mark already
    unless_marked_at_start,  ///< the same, and only at the very start of what is encoded
  };
  Prefix prefix = Prefix::none;
  bool replace_spaces = false;

  bool does_anything() const { return prefix != Prefix::none || replace_spaces; }
};

/// How text is cut into the words that the BPE works on.
enum class WordRule {
  none,                 ///< all of it is one word
  gpt2,                 ///< SplitPattern::gpt2
  llama3,               ///< SplitPattern::llama3
  before_marks,         ///< every space mark starts a word
  before_runs_of_marks  ///< the first of a run of space marks starts a word
};

/// What a tokenizer.json says, ready for use by Tokenizer. The steps are in their order.
struct TokenizerParts {
  AddedTokens in_text;  ///< looked for first
  SpaceMarking normalizer;
  AddedTokens in_normalized_text;  ///< looked for after the normalizer
  SpaceMarking metaspace;
  bool prefix_space = false;  ///< byte-level: text that starts without a space gets one
  WordRule words = WordRule::none;
  Bpe bpe{BpeParts{}};
  std::unordered_map<std::int32_t, std::string> texts;  ///< of every token, spaces being spaces
  bool strip_first_space = false;                       ///< when decoding: undoes the prefix
  std::int64_t vocabulary = 0;                          ///< largest id + 1
};

/// `text` with its spaces marked. `at_start`: it is the very start of what is encoded.
std::string mark_spaces(const SpaceMarking& marking, std::string_view text, bool at_start);

/// Reads the text of a tokenizer.json. Throws Failure `bad_file` (not JSON, wrong types, merges without tokens) or
/// `unsupported` (a kind of tokenizer that we do not have); `file` is its name in messages.
TokenizerParts parse_tokenizer(std::string_view json, const std::string& file);

}  // namespace assay::engine
