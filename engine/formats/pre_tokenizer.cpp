#include "formats/pre_tokenizer.h"

#include "formats/unicode.h"

namespace assay::engine {
namespace {

CharClass class_at(std::string_view text, std::size_t at) { return class_of(first_char(text.substr(at)).code); }

bool is_newline(char32_t code) { return code == '\r' || code == '\n'; }

/// Where the run of `wanted` that starts at `at` ends, after at most `most` characters.
std::size_t end_of_run(std::string_view text, std::size_t at, CharClass wanted,
                       std::size_t most = std::string_view::npos) {
  for (; at < text.size() && most > 0; --most) {
    const Char next = first_char(text.substr(at));
    if (class_of(next.code) != wanted) break;
    at += next.length;
  }
  return at;
}

/// Bytes of `'s|'t|'re|'ve|'m|'ll|'d` at the start; 0: none.
std::size_t contraction(std::string_view text, bool any_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const auto letter = [&](std::size_t i) -> char {
    if (i >= text.size()) return '\0';
    return any_case && text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
  };
  const char first = letter(1);
  const char second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) return 3;
  // The long s is an s to a pattern that ignores case.
  return any_case && text.substr(1).starts_with("\u017F") ? 3 : 0;
}

/// A run of white space at the start of a text.
struct SpaceRun {
  std::size_t end = 0;
  std::size_t last = 0;           ///< where its last character starts
  std::size_t after_newline = 0;  ///< behind its last \r or \n; 0: it has none

  /// `\s+(?!\S)|\s+`: the last space belongs to the word behind it, unless it is the only one.
  std::size_t length_before_word(std::size_t text_size) const { return end == text_size || last == 0 ? end : last; }
};

SpaceRun space_run(std::string_view text) {
  SpaceRun run;
  while (run.end < text.size()) {
    const Char next = first_char(text.substr(run.end));
    if (class_of(next.code) != CharClass::space) break;
    run.last = run.end;
    run.end += next.length;
    if (is_newline(next.code)) run.after_newline = run.end;
  }
  return run;
}

std::size_t first_word_gpt2(std::string_view text) {
  if (const std::size_t length = contraction(text, false); length > 0) return length;
  const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const CharClass kind = class_at(text, start);
  if (kind != CharClass::space) return end_of_run(text, start, kind);
  return space_run(text).length_before_word(text.size());
}

std::size_t first_word_llama3(std::string_view text) {
  if (const std::size_t length = contraction(text, true); length > 0) return length;
  const Char first = first_char(text);
  const CharClass kind = class_of(first.code);
  if (kind == CharClass::letter) return end_of_run(text, 0, kind);
  if (kind == CharClass::number) return end_of_run(text, 0, kind, 3);

  const CharClass next = first.length < text.size() ? class_at(text, first.length) : CharClass::space;
  if (next == CharClass::letter && !is_newline(first.code)) return end_of_run(text, first.length, next);
  if (kind == CharClass::other || (first.code == ' ' && next == CharClass::other)) {
    std::size_t end = end_of_run(text, kind == CharClass::other ? 0 : 1, CharClass::other);
    while (end < text.size() && (text[end] == '\r' || text[end] == '\n')) ++end;
    return end;
  }
  const SpaceRun run = space_run(text);
  return run.after_newline > 0 ? run.after_newline : run.length_before_word(text.size());
}

}  // namespace

std::optional<SplitPattern> split_pattern(std::string_view regex) {
  if (regex == kGpt2Regex) return SplitPattern::gpt2;
  if (regex == kLlama3Regex) return SplitPattern::llama3;
  return std::nullopt;
}

std::size_t first_word(SplitPattern pattern, std::string_view text) {
  return pattern == SplitPattern::gpt2 ? first_word_gpt2(text) : first_word_llama3(text);
}

}  // namespace assay::engine
