#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace assay {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// Takes one character off the front of `bytes`. What is not UTF-8 comes back as U+FFFD, as few bytes at a time as
/// Unicode recommends (the longest start of a character that could have been valid).
char32_t take_character(std::string_view& bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  if (lead < 0x80) return lead;
  if (lead < 0xC2 || lead > 0xF4) return kReplacement;
  const int following = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  // The second byte's range is narrower after some leads: overlong forms, surrogates, beyond U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t character = lead & (0x3Fu >> following);
  for (int i = 0; i < following; ++i) {
    if (bytes.empty()) return kReplacement;
    const auto next = static_cast<unsigned char>(bytes.front());
    if (next < low || next > high) return kReplacement;
    character = character << 6 | (next & 0x3Fu);
    bytes.remove_prefix(1);
    low = 0x80;
    high = 0xBF;
  }
  return character;
}

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// Whole blocks rather than Unicode's 400 exact ranges: what people print in tables is in these.
constexpr std::array kZeroWidth = {
    CharacterRange{0x0300, 0x036F}, CharacterRange{0x0483, 0x0489},   CharacterRange{0x0591, 0x05BD},
    CharacterRange{0x0610, 0x061A}, CharacterRange{0x064B, 0x065F},   CharacterRange{0x093C, 0x093C},
    CharacterRange{0x0E31, 0x0E31}, CharacterRange{0x0E34, 0x0E3A},   CharacterRange{0x0E47, 0x0E4E},
    CharacterRange{0x1AB0, 0x1AFF}, CharacterRange{0x1DC0, 0x1DFF},   CharacterRange{0x200B, 0x200F},
    CharacterRange{0x202A, 0x202E}, CharacterRange{0x2060, 0x2064},   CharacterRange{0x20D0, 0x20FF},
    CharacterRange{0x3099, 0x309A}, CharacterRange{0xFE00, 0xFE0F},   CharacterRange{0xFE20, 0xFE2F},
    CharacterRange{0xFEFF, 0xFEFF}, CharacterRange{0xE0100, 0xE01EF},
};
constexpr std::array kWide = {
    CharacterRange{0x1100, 0x115F},   CharacterRange{0x231A, 0x231B},   CharacterRange{0x2329, 0x232A},
    CharacterRange{0x23E9, 0x23EC},   CharacterRange{0x2705, 0x2705},   CharacterRange{0x274C, 0x274C},
    CharacterRange{0x2E80, 0x303E},   CharacterRange{0x3041, 0x3098},   CharacterRange{0x309B, 0x33FF},
    CharacterRange{0x3400, 0x4DBF},   CharacterRange{0x4E00, 0x9FFF},   CharacterRange{0xA000, 0xA4CF},
    CharacterRange{0xA960, 0xA97F},   CharacterRange{0xAC00, 0xD7A3},   CharacterRange{0xF900, 0xFAFF},
    CharacterRange{0xFE10, 0xFE19},   CharacterRange{0xFE30, 0xFE6F},   CharacterRange{0xFF00, 0xFF60},
    CharacterRange{0xFFE0, 0xFFE6},   CharacterRange{0x1F300, 0x1F64F}, CharacterRange{0x1F680, 0x1F6FF},
    CharacterRange{0x1F900, 0x1F9FF}, CharacterRange{0x20000, 0x3FFFD},
};

template <typename Ranges>
bool within(const Ranges& ranges, char32_t character) {
  const auto range = std::upper_bound(ranges.begin(), ranges.end(), character,
                                      [](char32_t value, const CharacterRange& one) { return value < one.first; });
  return range != ranges.begin() && character <= std::prev(range)->last;
}

bool is_control(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

/// What ends a line or turns the direction of writing, so that what stands there reads as something else.
bool disguises(char32_t character) {
  return character == 0x061C || character == 0x200E || character == 0x200F || character == 0x2028 ||
         character == 0x2029 || (character >= 0x202A && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

/// Takes the rest of a control sequence: parameters, then one final byte. Stops before a byte that cannot be in one.
void skip_control_sequence(std::string_view& bytes) {
  while (!bytes.empty() && bytes.front() >= 0x20 && bytes.front() <= 0x3F) bytes.remove_prefix(1);
  if (!bytes.empty() && bytes.front() >= 0x40 && bytes.front() <= 0x7E) bytes.remove_prefix(1);
}

/// Takes the rest of a string sequence (a window title, a link): up to BEL or ESC \, but never beyond the line.
void skip_string_sequence(std::string_view& bytes) {
  while (!bytes.empty() && bytes.front() != '\n') {
    if (bytes.starts_with("\x1b\\") || bytes.starts_with("\xc2\x9c")) {
      bytes.remove_prefix(2);
      return;
    }
    const bool bell = bytes.front() == '\a';
    bytes.remove_prefix(1);
    if (bell) return;
  }
}

/// Takes the rest of an escape sequence whose ESC is gone already.
void skip_escape_sequence(std::string_view& bytes) {
  if (bytes.empty()) return;
  const char kind = bytes.front();
  if (kind == '[') {
    bytes.remove_prefix(1);
    skip_control_sequence(bytes);
  } else if (std::string_view("]PX^_").find(kind) != std::string_view::npos) {
    bytes.remove_prefix(1);
    skip_string_sequence(bytes);
  } else {
    while (!bytes.empty() && bytes.front() >= 0x20 && bytes.front() <= 0x2F) bytes.remove_prefix(1);
    if (!bytes.empty() && bytes.front() >= 0x30 && bytes.front() <= 0x7E) bytes.remove_prefix(1);
  }
}

/// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours cost one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_back(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_back, previous);
    std::swap(previous, current);
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], two_back[j - 2] + 1);
      }
    }
  }
  return current[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& character : lower) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  }
  return lower;
}

namespace {

/// Whether `word` is the first letters of the words of `name` (`lr` of learning_rate), or its beginning.
bool abbreviates(std::string_view word, std::string_view name) {
  if (word.size() < 2 || word.size() >= name.size()) return false;
  if (word.size() >= 3 && name.starts_with(word)) return true;
  std::string initials;
  for (const auto part : split(name, '_')) {
    if (!part.empty()) initials += part.front();
  }
  return initials == word;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string lower_word = lower_case(word);
  const std::size_t limit = word.size() / 3;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  std::size_t best_exact_distance = 0;
  for (const auto& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) > limit) continue;
    const std::size_t distance = edit_distance(lower_word, lower_case(candidate));
    if (distance > limit || (best && distance > best_distance)) continue;
    const std::size_t exact_distance = edit_distance(word, candidate);
    if (best && distance == best_distance && exact_distance >= best_exact_distance) continue;
    best = &candidate;
    best_distance = distance;
    best_exact_distance = exact_distance;
  }
  if (best) return *best;
  for (const auto& candidate : candidates) {
    if (!abbreviates(lower_word, lower_case(candidate))) continue;
    if (best) return std::nullopt;  // it could be several
    best = &candidate;
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const char32_t character = take_character(utf8);
    if (is_control(character) || within(kZeroWidth, character)) continue;
    width += within(kWide, character) ? 2 : 1;
  }
  return width;
}

std::string printable(std::string_view bytes) {
  constexpr char32_t kEscape = 0x1B;
  constexpr char32_t kControlSequence = 0x9B;  // the one-character form of ESC [
  constexpr std::array<char32_t, 5> kStringSequences = {0x90, 0x98, 0x9D, 0x9E, 0x9F};
  std::string clean;
  clean.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::string_view from = bytes;
    const char32_t character = take_character(bytes);
    if (character == kEscape) {
      skip_escape_sequence(bytes);
    } else if (character == kControlSequence) {
      skip_control_sequence(bytes);
    } else if (std::find(kStringSequences.begin(), kStringSequences.end(), character) != kStringSequences.end()) {
      skip_string_sequence(bytes);
    } else if (character == kReplacement) {
      clean += "\xEF\xBF\xBD";
    } else if (!disguises(character) && (!is_control(character) || character == '\t' || character == '\n')) {
      clean += from.substr(0, from.size() - bytes.size());
    }
  }
  return clean;
}

}  // namespace assay
