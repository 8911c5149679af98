#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace assay {

/// Which sample each request asks for. Not thread-safe.
class SampleOrder {
 public:
  virtual ~SampleOrder() = default;
  virtual std::uint32_t next() noexcept = 0;  ///< below the number of samples; tens of nanoseconds
};

/// 0, 1, 2, …, then from the beginning: what accuracy runs and recorded traces ask for.
class SamplesInOrder final : public SampleOrder {
 public:
  explicit SamplesInOrder(std::uint32_t samples) : samples_(samples) {}
  std::uint32_t next() noexcept override {
    const std::uint32_t sample = next_;
    next_ = next_ + 1 == samples_ ? 0 : next_ + 1;
    return sample;
  }

 private:
  std::uint32_t samples_;
  std::uint32_t next_ = 0;
};

/// Every sample once in random order, then every sample once in another, and so on: none is asked for more often than
/// another, so that two runs do the same work. Each draw is one step of a shuffle; there is no pause between rounds.
class ShuffledSamples final : public SampleOrder {
 public:
  ShuffledSamples(std::uint32_t samples, std::uint64_t seed);
  std::uint32_t next() noexcept override;

 private:
  std::vector<std::uint32_t> order_;
  Random random_;
  std::uint32_t next_ = 0;
};

/// One random order, repeated: for offline loads, where a draw for each of millions of samples would cost as much as
/// recording it.
class RepeatedShuffle final : public SampleOrder {
 public:
  RepeatedShuffle(std::uint32_t samples, std::uint64_t seed);
  std::uint32_t next() noexcept override {
    const std::uint32_t sample = order_[next_];
    next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    return sample;
  }

 private:
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
};

}  // namespace assay
