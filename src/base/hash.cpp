#include "base/hash.h"

namespace assay {
namespace {

/// FNV-1a, then a finaliser: FNV alone leaves the high bits of short texts alike.
std::uint64_t hash(std::string_view text, std::uint64_t basis) {
  std::uint64_t state = basis;
  for (const char character : text) {
    state ^= static_cast<unsigned char>(character);
    state *= 0x100000001B3ULL;
  }
  state ^= state >> 30;
  state *= 0xBF58476D1CE4E5B9ULL;
  state ^= state >> 27;
  state *= 0x94D049BB133111EBULL;
  return state ^ (state >> 31);
}

constexpr std::uint64_t kBasis = 0xCBF29CE484222325ULL;

std::string hex(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4) text[i] = kDigits[number & 15];
  return text;
}

}  // namespace

std::uint64_t stable_hash(std::string_view text) { return hash(text, kBasis); }

std::string content_hash(std::string_view text) {
  return hex(hash(text, kBasis)) + hex(hash(text, kBasis ^ 0x5851F42D4C957F2DULL));
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace assay
