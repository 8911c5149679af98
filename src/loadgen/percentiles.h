#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"

namespace assay {

/// The value at ⌊n·p⌋ of sorted values, at most the last: a latency that was measured, as LoadGen defines its
/// percentiles. `p` in [0, 1]; the values not empty.
std::int64_t percentile_of_sorted(std::span<const std::int64_t> sorted, double p);

/// One distribution of times, in nanoseconds. Exact: from every value.
struct LatencySummary {
  std::uint64_t count = 0;  ///< 0: the rest means nothing
  std::int64_t min = 0;
  std::int64_t max = 0;
  double mean = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p95 = 0;
  std::int64_t p97 = 0;
  std::int64_t p99 = 0;
  std::int64_t p999 = 0;
  /// Every value of few, else `kMostQuantiles` at even steps of rank, as `TimeDistribution` has them.
  std::vector<std::int64_t> quantiles;
};
/// Sorts the values.
LatencySummary summarise_latencies(std::vector<std::int64_t>& values);

}  // namespace assay
