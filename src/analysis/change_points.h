#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

// What others use to find slow hardware, for comparison with degradation.h: a change-point method made for software
// regressions, and a fixed limit. Pure.

struct ChangePoint {
  std::size_t index = 0;  ///< the first value after the change
  double p = 1;
  double before = 0;  ///< mean between the change point before and this one
  double after = 0;   ///< mean up to the next one
};

struct HunterSettings {
  std::size_t window = 50;
  double most_p = 0.001;
  double smallest_change = 0;  ///< relative
};

/// Hunter (Fleming et al., "Hunter: Using Change Point Detection to Hunt for Performance Regressions", 2023) with its
/// defaults: E-divisive (Matteson and James, 2014) in overlapping windows, Student's t-test in the place of
/// permutations at ten times the final level, then weak points are merged away from the weakest on. Rising index.
std::vector<ChangePoint> hunter_change_points(std::span<const double> series, const HunterSettings& settings = {});

/// The rule of thumb: more than `limit_percent` below the reference.
inline bool fixed_rule_alarm(double percent_of_reference, double limit_percent = 5) {
  return percent_of_reference < 100 - limit_percent;
}

}  // namespace assay
