#include "base/ids.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdint>

#include "base/assert.h"

namespace assay {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr int kIdLength = 10;

std::string encode(std::uint64_t bits) {
  std::string id(kIdLength, '0');
  for (auto& character : id) {
    character = kAlphabet[bits & 31];
    bits >>= 5;
  }
  return id;
}

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

}  // namespace

std::string new_id() {
  std::uint64_t bits = 0;
  ASSAY_ASSERT(::getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits));
  return encode(bits);
}

std::string id_from(std::string_view text) { return encode(stable_hash(text)); }

std::uint64_t stable_hash(std::string_view text) { return hash(text, kBasis); }

std::string content_hash(std::string_view text) {
  return fmt::format("{:016x}{:016x}", hash(text, kBasis), hash(text, kBasis ^ 0x5851F42D4C957F2DULL));
}

}  // namespace assay
