#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// What one guess costs. 64 MiB twice: some 80 ms here, and a graphics card gains little.
struct HashCost {
  std::uint64_t passes = 2;
  std::size_t memory_bytes = std::size_t{64} << 20;
};

/// Passwords as argon2id hashes that carry their own cost. Blocks for as long as a hash takes; never on threads that
/// must not wait. Only so many at a time, since each takes its memory: `busy` where there is no turn within a second.
/// Any thread.
class PasswordHasher {
 public:
  explicit PasswordHasher(HashCost cost = {});

  /// `$argon2id$v=19$m=65536,t=2,p=1$…`
  Result<std::string> hash(std::string_view password);
  /// An empty hash fits no password, and says so as late as any other.
  Result<bool> matches(std::string_view hash, std::string_view password);

 private:
  static constexpr std::ptrdiff_t kAtOnce = 2;
  const HashCost cost_;
  const std::string dummy_;  ///< fits no password
  std::counting_semaphore<kAtOnce> turns_{kAtOnce};
};

}  // namespace assay
