#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay::engine {

/// What the split patterns of tokenizers tell apart: `\p{L}`, `\p{N}`, `\s` and the rest.
enum class CharClass : std::uint8_t { other, letter, number, space };

/// By Unicode's general categories; beyond Unicode: other.
CharClass class_of(char32_t code);

/// A byte that is no part of well-formed UTF-8. No code point, class `other`.
constexpr char32_t kInvalidByte = 0x110000;

struct Char {
  char32_t code = kInvalidByte;
  std::size_t length = 1;  ///< bytes
};

/// The character at the start of `text`, which is not empty. Bytes that are not well-formed UTF-8 (cut off, overlong,
/// surrogates) are kInvalidByte, each on its own.
Char first_char(std::string_view text);

/// As first_char, at the end of `text`.
Char last_char(std::string_view text);

}  // namespace assay::engine
