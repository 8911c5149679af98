#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace assay::engine {

/// The time of a step once the run has settled.
struct SteadyState {
  std::size_t warm_up_steps = 0;  ///< left out
  std::size_t steps = 0;
  double step_seconds = 0;  ///< mean: total time over steps
  /// 95 % confidence interval of the mean, from means of consecutive batches of steps (neighbouring steps are alike,
  /// so single ones would make it look too narrow). Absent with fewer than 20 steps.
  std::optional<double> low;
  std::optional<double> high;
};

/// Leaves out the first `least_warm_up` steps, and more as long as that makes the rest steadier: the cut that minimises
/// the standard error of what remains (MSER), at most half of the steps.
SteadyState steady_state(std::span<const float> step_seconds, std::size_t least_warm_up);

}  // namespace assay::engine
