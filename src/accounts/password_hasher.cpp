#include "accounts/password_hasher.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "base/assert.h"

namespace assay {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(1);

Error no_turn() {
  return {.kind = ErrorKind::busy, .message = "too many sign in at this moment", .hint = "Try again in a second."};
}

}  // namespace

PasswordHasher::PasswordHasher(HashCost cost)
    : cost_(cost),
      // As libsodium writes one, so that checking it costs as much; nobody knows a password that gives zeros.
      dummy_(fmt::format("$argon2id$v=19$m={},t={},p=1${}${}", cost.memory_bytes / 1024, cost.passes,
                         std::string(22, 'A'), std::string(43, 'A'))) {
  ASSAY_ASSERT(sodium_init() >= 0);
  ASSAY_ASSERT(crypto_pwhash_str_needs_rehash(dummy_.c_str(), cost_.passes, cost_.memory_bytes) == 0);
}

Result<std::string> PasswordHasher::hash(std::string_view password) {
  if (!turns_.try_acquire_for(kPatience)) return no_turn();
  std::array<char, crypto_pwhash_STRBYTES> text{};
  const int failed = crypto_pwhash_str_alg(text.data(), password.data(), password.size(), cost_.passes,
                                           cost_.memory_bytes, crypto_pwhash_ALG_ARGON2ID13);
  turns_.release();
  if (failed != 0) return Error{.kind = ErrorKind::busy, .message = "there is no memory to hash a password with"};
  return std::string(text.data());
}

Result<bool> PasswordHasher::matches(std::string_view hash, std::string_view password) {
  if (!turns_.try_acquire_for(kPatience)) return no_turn();
  const std::string stored(hash.empty() ? dummy_ : hash);
  const bool fits = crypto_pwhash_str_verify(stored.c_str(), password.data(), password.size()) == 0;
  turns_.release();
  return fits && !hash.empty();
}

}  // namespace assay
