#include "report/text/plain_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay {
namespace {

// U+202A…202E and U+2066…2069 reorder the text around them; U+FFFE and U+FFFF are no characters of XML.
constexpr std::array<std::string_view, 9> kDirectionMarks = {
    "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD", "\xE2\x80\xAE",
    "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9",
};
constexpr std::array<std::string_view, 2> kNonCharacters = {"\xEF\xBF\xBE", "\xEF\xBF\xBF"};
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

template <typename Marks>
bool contains(const Marks& marks, std::string_view text) {
  return std::find(marks.begin(), marks.end(), text) != marks.end();
}

/// Cuts `word` into pieces that fit; all but the last become lines.
std::string break_word(std::string_view word, std::size_t width, std::vector<std::string>& lines) {
  std::string piece;
  std::size_t used = 0;
  for (const std::string_view character : characters(word)) {
    const std::size_t columns = display_width(character);
    if (used + columns > width && !piece.empty()) {
      lines.push_back(std::move(piece));
      piece.clear();
      used = 0;
    }
    piece += character;
    used += columns;
  }
  return piece;
}

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string>& lines) {
  std::string line;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && display_width(line) + 1 + display_width(word) <= width) {
      line += ' ';
      line += word;
      continue;
    }
    if (!line.empty()) lines.push_back(std::move(line));
    line = display_width(word) <= width ? std::string(word) : break_word(word, width, lines);
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::string clean_text(std::string_view text) {
  const std::string valid = printable(text);
  std::string clean;
  clean.reserve(valid.size());
  for (const std::string_view character : characters(valid)) {
    if (character == "\t") {
      clean += ' ';
    } else if (character.size() == 3 && contains(kNonCharacters, character)) {
      clean += kReplacement;
    } else if (character.size() != 3 || !contains(kDirectionMarks, character)) {
      clean += character;
    }
  }
  return clean;
}

std::string clean_line(std::string_view text) {
  std::string line;
  for (const char character : clean_text(text)) {
    const bool blank = character == ' ' || character == '\n';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : character;
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string in_ascii(std::string_view text) {
  struct Replacement {
    std::string_view character;
    std::string_view plain;
  };
  constexpr std::array kReplacements = {
      Replacement{"×", "x"},   Replacement{"–", "-"},  Replacement{"—", "-"}, Replacement{"−", "-"},
      Replacement{"µ", "u"},   Replacement{"μ", "u"},  Replacement{"·", "*"}, Replacement{"→", "->"},
      Replacement{"…", "..."}, Replacement{"±", "+-"}, Replacement{"≈", "~"}, Replacement{"≤", "<="},
      Replacement{"≥", ">="},  Replacement{"’", "'"},  Replacement{"‘", "'"}, Replacement{"“", "\""},
      Replacement{"”", "\""},  Replacement{"°", ""},   Replacement{"✓", "+"}, Replacement{"✖", "x"},
      Replacement{"▲", "!"},   Replacement{"•", "-"},  Replacement{"²", "2"}, Replacement{"³", "3"},
      Replacement{"Δ", "D"},
  };
  std::string ascii;
  ascii.reserve(text.size());
  for (const std::string_view character : characters(text)) {
    if (character.size() == 1) {
      ascii += character;
      continue;
    }
    const auto* known = std::find_if(kReplacements.begin(), kReplacements.end(),
                                     [&](const Replacement& one) { return one.character == character; });
    if (known != kReplacements.end()) {
      ascii += known->plain;
    } else {
      ascii.append(display_width(character), '?');
    }
  }
  return ascii;
}

std::string terminal_line(std::string_view text, const TerminalStyle& style) {
  return style.unicode ? clean_line(text) : in_ascii(clean_line(text));
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char character : clean_text(text)) {
    switch (character) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += character;
    }
  }
  return escaped;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    std::size_t size = 1;
    while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) ++size;
    found.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return found;
}

std::vector<std::string> wrap_text(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  const std::string clean = clean_text(text);
  if (trim(clean).empty()) return lines;
  // Two columns: one wide character always fits.
  for (const std::string_view line : split(trim(clean), '\n')) wrap_line(line, std::max<std::size_t>(width, 2), lines);
  return lines;
}

}  // namespace assay
