#include "base/random.h"

#include <cmath>
#include <string>

#include "base/assert.h"
#include "base/hash.h"
#include "base/portable_math.h"

namespace assay {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

Random::Random(std::uint64_t seed, std::string_view purpose) {
  const std::uint64_t key = stable_hash(std::to_string(seed) + ':' + std::string(purpose));
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

void Random::refill() {
  block_ =
      philox4x32({static_cast<std::uint32_t>(next_block_), static_cast<std::uint32_t>(next_block_ >> 32), 0, 0}, key_);
  ++next_block_;
  used_ = 0;
}

void Random::skip_to(std::uint64_t block) {
  next_block_ = block;
  used_ = static_cast<unsigned>(block_.size());
}

std::uint32_t Random::bits32() {
  if (used_ == block_.size()) refill();
  return block_[used_++];
}

std::uint64_t Random::bits64() {
  const std::uint64_t high = bits32();
  return high << 32 | bits32();
}

double Random::uniform() {
  const std::uint64_t bits = bits64() >> 11;
  // 0 becomes half the smallest step instead of being drawn again: every call then takes the same number of bits.
  return bits == 0 ? 0x1p-54 : static_cast<double>(bits) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  ASSAY_ASSERT(low <= high);
  return low + (high - low) * uniform();
}

std::uint64_t Random::below(std::uint64_t bound) {
  ASSAY_ASSERT(bound > 0);
  // 2^64 modulo bound: that many numbers are refused, so that every remainder is equally likely.
  const std::uint64_t refused = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t bits = bits64();
    if (bits >= refused) return bits % bound;
  }
}

double Random::exponential(double rate) {
  ASSAY_ASSERT(rate > 0);
  return -portable_log(uniform()) / rate;
}

double Random::normal(double mean, double standard_deviation) {
  return mean + standard_deviation * normal_quantile(uniform());
}

double Random::lognormal(double mu, double sigma) { return portable_exp(normal(mu, sigma)); }

double Random::gamma(double shape, double scale) {
  ASSAY_ASSERT(shape > 0 && scale > 0);
  if (shape < 1) {
    // If G has shape + 1, then G·U^(1/shape) has shape.
    const double boost = portable_exp(portable_log(uniform()) / shape);
    return gamma(shape + 1, scale) * boost;
  }
  // G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_quantile(uniform());
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (portable_log(uniform()) < 0.5 * x * x + d * (1 - v + portable_log(v))) return d * v * scale;
  }
}

}  // namespace assay
