#include "fleet/latency_counts.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kGrowth = 1.02;
constexpr double kSmallest = 1000;  // nanoseconds

}  // namespace

void LatencyCounts::add(Nanos latency) {
  const double above = std::log(std::max(1.0, static_cast<double>(latency.count()) / kSmallest)) / std::log(kGrowth);
  ++counts_[std::min(static_cast<std::size_t>(above), kSteps - 1)];
  ++count_;
  largest_ = std::max(largest_, latency);
}

Nanos LatencyCounts::end_of(std::size_t step) {
  return Nanos(static_cast<std::int64_t>(kSmallest * std::pow(kGrowth, static_cast<double>(step + 1))));
}

LatencyCounts LatencyCounts::since(const LatencyCounts& before) const {
  LatencyCounts later;
  later.count_ = count_ - before.count_;
  for (std::size_t step = 0; step < kSteps; ++step) {
    later.counts_[step] = counts_[step] - before.counts_[step];
    if (later.counts_[step] > 0) later.largest_ = std::min(end_of(step), largest_);
  }
  return later;
}

Nanos LatencyCounts::percentile(double p) const {
  if (count_ == 0) return Nanos(0);
  const auto rank = std::min(static_cast<std::uint64_t>(static_cast<double>(count_) * p), count_ - 1);
  std::uint64_t seen = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    seen += counts_[step];
    if (seen > rank) return std::min(end_of(step), largest_);
  }
  return largest_;
}

}  // namespace assay
