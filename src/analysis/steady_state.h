#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analysis/interval.h"

namespace assay {

// What a series of steps inside one run says. Pure; values finite, in the order in which they were measured.
//
// Steps of one run are not replicates: they share one start, one placement, one temperature, and lean on each other.
// What is computed here tells how well this run's own mean is known, never how well the next run would repeat it.
// Warm-up and mean: Waits for the node benchmark. (Loads have a warm-up that somebody has set, and no steps.)

/// Where the warm-up ends, by MSER-5 (White, 1997): means of 5 steps; the cut that makes the remaining mean most
/// certain, Σ(x − mean)² / count², looked for in the first half.
struct SteadyState {
  std::size_t first = 0;  ///< the first step after the warm-up; 0: none seen
  bool found = false;     ///< false: still changing at half of the series, or shorter than 20 steps; `first` is then 0
};
SteadyState find_steady_state(std::span<const double> steps);

/// Correlation of the series with itself `lag` steps later, in [−1, 1]; 0 where all values are equal. NaN unless
/// the series is longer than lag + 1.
double autocorrelation(std::span<const double> values, std::size_t lag = 1);

/// The mean of a steady series with an interval by batch means, which stays honest when steps depend on each other.
struct SteadyMean {
  double mean = 0;
  std::optional<Interval> interval;  ///< none with fewer than 20 steps
  std::size_t steps = 0;
  std::size_t batches = 0;
  /// How many independent steps would tell as much: `steps` when they do not depend on each other.
  double effective_steps = 0;
  /// False where even ten batches still lean on each other: the true interval is wider than the one given.
  bool reliable = false;
};
SteadyMean steady_mean(std::span<const double> steady_steps, double confidence = 0.95);

}  // namespace assay
