#include "loadgen/sample_order.h"

#include <utility>

#include "base/assert.h"

namespace assay {
namespace {

std::vector<std::uint32_t> counted_up(std::uint32_t samples) {
  ASSAY_ASSERT(samples > 0);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace

ShuffledSamples::ShuffledSamples(std::uint32_t samples, std::uint64_t seed)
    : order_(counted_up(samples)), random_(seed, "samples") {}

std::uint32_t ShuffledSamples::next() noexcept {
  const auto size = static_cast<std::uint32_t>(order_.size());
  const auto other = next_ + static_cast<std::uint32_t>(random_.below(size - next_));
  std::swap(order_[next_], order_[other]);
  const std::uint32_t sample = order_[next_];
  next_ = next_ + 1 == size ? 0 : next_ + 1;
  return sample;
}

RepeatedShuffle::RepeatedShuffle(std::uint32_t samples, std::uint64_t seed) : order_(counted_up(samples)) {
  Random(seed, "samples").shuffle(order_);
}

}  // namespace assay
