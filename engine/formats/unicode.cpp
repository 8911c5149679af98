#include "formats/unicode.h"

#include <algorithm>
#include <array>

#include "formats/unicode_table.h"

namespace assay::engine {
namespace {

constexpr CharClass look_up(char32_t code) {
  if (code >= kInvalidByte) return CharClass::other;
  const auto after = std::upper_bound(kUnicodeClassChanges.begin(), kUnicodeClassChanges.end(), code << 2 | 3U);
  return static_cast<CharClass>(*(after - 1) & 3U);
}

// Nearly all text is ASCII or near it: no search for that.
constexpr char32_t kDirect = 0x400;
constexpr std::array<CharClass, kDirect> kDirectClasses = [] {
  std::array<CharClass, kDirect> classes{};
  for (char32_t code = 0; code < kDirect; ++code) classes[code] = look_up(code);
  return classes;
}();

}  // namespace

CharClass class_of(char32_t code) { return code < kDirect ? kDirectClasses[code] : look_up(code); }

Char first_char(std::string_view text) {
  const auto byte = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80; };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first < 0xE0 && continues(1)) return {(first & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
  if (first >= 0xE0 && first < 0xF0 && continues(1) && continues(2)) {
    const char32_t code = (first & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    if (code >= 0x800 && !surrogate) return {code, 3};
  }
  if (first >= 0xF0 && first < 0xF5 && continues(1) && continues(2) && continues(3)) {
    const char32_t code = (first & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    if (code >= 0x10000 && code < 0x110000) return {code, 4};
  }
  return {kInvalidByte, 1};
}

Char last_char(std::string_view text) {
  for (std::size_t length = std::min<std::size_t>(4, text.size()); length > 1; --length) {
    const Char found = first_char(text.substr(text.size() - length));
    if (found.length == length) return found;
  }
  return first_char(text.substr(text.size() - 1));
}

}  // namespace assay::engine
