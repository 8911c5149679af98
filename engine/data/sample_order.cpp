#include "data/sample_order.h"

#include "base/assert.h"

namespace assay::engine {
namespace {

// With fewer places the rounds have too few values to choose from for an even mix.
constexpr std::uint64_t kLeastSide = 16;

std::uint64_t side_for(std::uint64_t samples) {
  ASSAY_ASSERT(samples < std::uint64_t{1} << 62);
  std::uint64_t low = kLeastSide;
  std::uint64_t high = std::uint64_t{1} << 31;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (middle * middle >= samples) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// A number below `bound` that depends on every bit of key and value: the finaliser of SplitMix64, scaled.
std::uint64_t scrambled(std::uint32_t key, std::uint64_t value, std::uint64_t bound) {
  std::uint64_t bits = (std::uint64_t{key} << 32 | value) + 0x9E3779B97F4A7C15;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return (bits >> 32) * bound >> 32;
}

}  // namespace

SampleOrder::SampleOrder(std::uint64_t seed, std::int64_t training_samples, std::int64_t global_batch)
    : samples_(training_samples),
      global_batch_(global_batch),
      side_(side_for(static_cast<std::uint64_t>(training_samples))),
      random_(seed, "data.order") {
  ASSAY_ASSERT(training_samples >= 1 && global_batch >= 1);
}

SampleOrder::Keys SampleOrder::keys_of(std::int64_t epoch) const {
  Random random = random_;
  random.skip_to(static_cast<std::uint64_t>(epoch) * (kRounds / 4));  // four keys to a block
  Keys keys{};
  for (auto& key : keys) key = random.bits32();
  return keys;
}

std::uint64_t SampleOrder::permuted(std::uint64_t place, const Keys& keys) const {
  // A permutation of the domain, walked until it comes back to 0 … n−1, is a permutation of 0 … n−1.
  do {
    std::uint64_t left = place / side_;
    std::uint64_t right = place % side_;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      left += scrambled(keys[round], right, side_);
      if (left >= side_) left -= side_;
      right += scrambled(keys[round + 1], left, side_);
      if (right >= side_) right -= side_;
    }
    place = left * side_ + right;
  } while (place >= static_cast<std::uint64_t>(samples_));
  return place;
}

void SampleOrder::indices(std::int64_t step, std::int64_t first_row, std::span<std::int64_t> out) const {
  ASSAY_ASSERT(step >= 0 && first_row >= 0 && first_row + std::ssize(out) <= global_batch_);
  const Keys keys = keys_of(step / steps_per_epoch());
  std::int64_t place = step % steps_per_epoch() * global_batch_ + first_row;
  for (auto& index : out)
    index = static_cast<std::int64_t>(permuted(static_cast<std::uint64_t>(place++ % samples_), keys));
}

}  // namespace assay::engine
