#pragma once

namespace assay {

// Of ASCII alone, whatever the locale says: what programs and files write, not what people read.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
constexpr bool is_url_safe(char c) { return is_word(c) || c == '-'; }

}  // namespace assay
