#include "loadgen/early_stopping.h"

#include "analysis/distributions.h"
#include "base/assert.h"

namespace assay {

std::uint64_t min_passing_queries(std::uint64_t over_latency, double percentile) {
  ASSAY_ASSERT(percentile > 0 && percentile < 1);
  const double t = static_cast<double>(over_latency);
  const auto shown = [&](std::uint64_t passing) {
    return incomplete_beta(static_cast<double>(passing), t + 1, percentile) < 1 - kEarlyStoppingConfidence;
  };
  std::uint64_t high = 1;
  while (!shown(high)) high *= 2;
  std::uint64_t low = high / 2;  // not enough, or 0
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (shown(middle) ? high : low) = middle;
  }
  return high;
}

bool early_stopping_met(std::uint64_t queries, std::uint64_t over_latency, double percentile) {
  if (over_latency > queries) return false;
  // The share itself decides first: far beyond the limit the search would be long and its answer known.
  if (static_cast<double>(over_latency) > static_cast<double>(queries) * (1 - percentile)) return false;
  return queries >= min_passing_queries(over_latency, percentile) + over_latency;
}

std::uint64_t min_queries_for_estimate(double percentile) { return min_passing_queries(1, percentile) + 1; }

std::optional<EarlyStoppingEstimate> early_stopping_estimate(std::span<const std::int64_t> sorted, double percentile) {
  EarlyStoppingEstimate estimate{.needed = min_queries_for_estimate(percentile)};
  const std::uint64_t queries = sorted.size();
  if (queries < estimate.needed) return std::nullopt;
  const auto enough = [&](std::uint64_t t) { return min_passing_queries(t, percentile) + t <= queries; };
  std::uint64_t low = 1;
  std::uint64_t high = queries;  // never enough: nothing would be left to pass
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (enough(middle) ? low : high) = middle;
  }
  estimate.discarded = low - 1;
  estimate.latency_ns = sorted[queries - low];
  return estimate;
}

}  // namespace assay
