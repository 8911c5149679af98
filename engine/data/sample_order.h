#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/random.h"

namespace assay::engine {

/// Which samples each step sees: every epoch is a new permutation of the training samples 0 … n−1, cut into global
/// batches; rank r takes the r-th part of each. So one rank with batch 2b and two ranks with batch b learn from the
/// same samples in every step, no two ranks share one, and a sample comes at most once an epoch.
///
/// - Samples at the end of the permutation that do not fill a global batch are left out, other ones in each epoch.
/// - Where there are fewer samples than a global batch has rows, the permutation is repeated within the batch.
///
/// The permutation is computed, not stored: a Feistel network over a domain barely larger than n (J. Black and
/// P. Rogaway, "Ciphers with arbitrary finite domains", 2002), keyed by seed and epoch. It takes no memory and no time
/// at the start of an epoch, and any place can be asked for. Const and thread-safe; small enough to copy.
class SampleOrder {
 public:
  /// Both counts at least 1.
  SampleOrder(std::uint64_t seed, std::int64_t training_samples, std::int64_t global_batch);

  std::int64_t global_batch() const { return global_batch_; }
  std::int64_t steps_per_epoch() const { return repeats_within_batch() ? 1 : samples_ / global_batch_; }
  bool repeats_within_batch() const { return samples_ < global_batch_; }

  /// The samples of rows first_row, first_row + 1, … of the global batch of `step`, which counts from 0 through all
  /// epochs; first_row + out.size() ≤ global_batch().
  void indices(std::int64_t step, std::int64_t first_row, std::span<std::int64_t> out) const;

 private:
  static constexpr std::size_t kRounds = 8;
  using Keys = std::array<std::uint32_t, kRounds>;

  Keys keys_of(std::int64_t epoch) const;
  std::uint64_t permuted(std::uint64_t place, const Keys& keys) const;

  std::int64_t samples_;
  std::int64_t global_batch_;
  std::uint64_t side_;  // the domain of the network: side · side places
  Random random_;
};

}  // namespace assay::engine
