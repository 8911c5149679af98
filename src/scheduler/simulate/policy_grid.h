#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/interval.h"
#include "base/result.h"
#include "scheduler/simulate/run_figures.h"
#include "scheduler/simulate/synthetic.h"

namespace assay {

/// How many times better than round robin with FCFS: the geometric mean over seeds, with its 95 % interval (Student's t
/// on logarithms, both policies on the same jobs). None with a single seed.
struct GridRatio {
  double ratio = 0;
  std::optional<Interval> interval;
};

struct GridCase {
  std::string name;  ///< "burst of 50, CV 0.5"
  SyntheticTrace rule;
  std::optional<double> goal;  ///< what a central queue with SJF reached with estimates off by σ = 0.5, as published
};
/// The setting of docs/adr/015: four nodes with a GPU each, jobs of 300 s in the mean.
std::span<const GridCase> grid_cases();

struct GridRow {
  std::string name;
  std::optional<double> goal;
  // Mean completion times. Estimates are exact, or off by σ = 0.5 of their logarithm.
  GridRatio least_work;
  GridRatio central;
  GridRatio central_unsure;
  GridRatio two_tier;
  GridRatio two_tier_unsure;
  // 99th percentiles of completion times, and the longest wait of any job, with estimates that are off.
  GridRatio central_p99;
  GridRatio two_tier_p99;
  GridRatio two_tier_longest_wait;
  /// How many times shorter the mean completion time is than that of a central SJF, both with estimates that are off.
  GridRatio two_tier_to_central;
};

/// Whether the row keeps what is promised of the two-tier scheduler with estimates that are off: a 99th percentile no
/// worse than round robin's, and, where that is a goal, a mean within a hundredth of a central SJF's.
bool keeps_promise(const GridRow& row);

/// `go_on` is asked between simulations; false stops. May be empty.
Result<std::vector<GridRow>> compare_on_grid(std::size_t seeds, std::uint64_t first_seed,
                                             const SchedulerOptions& options, const std::function<bool()>& go_on);

/// Of several numbers that say how many times better, as above.
GridRatio ratio_over_seeds(std::span<const double> ratios);

}  // namespace assay
