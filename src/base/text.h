#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Without blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);
/// Every part, empty ones included: n separators give n + 1 parts. The parts point into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Of a list, a set or an array of texts: "a, b, c".
template <typename Texts>
std::string join(const Texts& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const std::string_view part : parts) {
    if (!std::exchange(first, false)) text += separator;
    text += part;
  }
  return text;
}
bool contains(std::span<const std::string_view> list, std::string_view word);
/// ASCII letters only.
std::string lower_case(std::string_view text);

/// The candidate a user probably meant: edit distance with swaps, at most a third of the word, case only between
/// equals; else the only one that the word abbreviates: `lr` is learning_rate, `optim` optimizer. Nothing if none is
/// near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// Columns a terminal needs for UTF-8 text (combining marks 0, East Asian wide 2, all else 1).
std::size_t display_width(std::string_view utf8);

/// Makes bytes from outside safe to print: invalid UTF-8 becomes U+FFFD; terminal escape sequences and control
/// characters but tab and newline are dropped (a log must not move the reader's cursor), and so is what turns the
/// direction of writing. An escape sequence that does not end takes the rest of its line with it, never more.
std::string printable(std::string_view bytes);

}  // namespace assay
