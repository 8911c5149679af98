#pragma once

#include <cstddef>

#include "scheduler/simulate/simulation.h"

namespace assay {

/// What a simulated run was like, in seconds. NaN where no job ran.
struct RunFigures {
  std::size_t jobs = 0;     ///< that ran
  std::size_t misfits = 0;  ///< that fit on no node
  double mean_completion = 0;
  double p50_completion = 0;
  double p99_completion = 0;
  double mean_wait = 0;
  double p99_wait = 0;
  double longest_wait = 0;
  double utilisation = 0;  ///< 0 … 1: GPU time that was used
  /// Jain's index, 1/n … 1, of how quickly users (of a single user: jobs) were served: the mean of length over
  /// completion time.
  double fairness = 0;
  double makespan = 0;
};

RunFigures figures_of(const Trace& trace, const SimulatedRun& run);

}  // namespace assay
