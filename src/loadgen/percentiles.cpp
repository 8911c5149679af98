#include "loadgen/percentiles.h"

#include <algorithm>

#include "base/assert.h"
#include "model/load_profile.h"

namespace assay {

std::int64_t percentile_of_sorted(std::span<const std::int64_t> sorted, double p) {
  ASSAY_ASSERT(!sorted.empty() && p >= 0 && p <= 1);
  const auto index = static_cast<std::size_t>(static_cast<double>(sorted.size()) * p);
  return sorted[std::min(index, sorted.size() - 1)];
}

LatencySummary summarise_latencies(std::vector<std::int64_t>& values) {
  LatencySummary summary;
  if (values.empty()) return summary;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const auto value : values) sum += static_cast<double>(value);
  summary.count = values.size();
  summary.min = values.front();
  summary.max = values.back();
  summary.mean = sum / static_cast<double>(values.size());
  summary.p50 = percentile_of_sorted(values, 0.50);
  summary.p90 = percentile_of_sorted(values, 0.90);
  summary.p95 = percentile_of_sorted(values, 0.95);
  summary.p97 = percentile_of_sorted(values, 0.97);
  summary.p99 = percentile_of_sorted(values, 0.99);
  summary.p999 = percentile_of_sorted(values, 0.999);
  const std::size_t kept = std::min(values.size(), kMostQuantiles);
  summary.quantiles.reserve(kept);
  for (std::size_t i = 0; i + 1 < kept; ++i) summary.quantiles.push_back(values[i * (values.size() - 1) / (kept - 1)]);
  summary.quantiles.push_back(values.back());
  return summary;
}

}  // namespace assay
