#include "base/ids.h"

#include <sys/random.h>

#include <cstdint>

#include "base/assert.h"
#include "base/hash.h"

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

}  // namespace

std::string new_id() {
  std::uint64_t bits = 0;
  ASSAY_ASSERT(::getrandom(&bits, sizeof bits, 0) == static_cast<ssize_t>(sizeof bits));
  return encode(bits);
}

std::string id_from(std::string_view text) { return encode(stable_hash(text)); }

}  // namespace assay
