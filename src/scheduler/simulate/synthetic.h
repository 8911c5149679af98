#pragma once

#include <cstddef>
#include <cstdint>

#include "scheduler/simulate/trace.h"

namespace assay {

/// Jobs that are made up: lengths are lognormal; arrivals are a burst or Poisson.
struct SyntheticTrace {
  std::size_t jobs = 2000;
  double load = 0;  ///< of all GPUs, > 0: Poisson arrivals that bring it about; 0: all come at once
  double mean_seconds = 300;
  double variation = 1;   ///< coefficient of variation of the lengths
  double log_error = 0;   ///< of the estimates
  std::size_t users = 1;  ///< the first has most jobs: user k has 1/k of its number
  double gang_share = 0;  ///< of the jobs that need several GPUs: 2, 4 or 8 as far as nodes have them, or two nodes
};

/// The same seed gives the same jobs, whatever the error of the estimates. `gpus_of_node` bounds the gangs.
Trace make_trace(const SyntheticTrace& rule, std::size_t gpus, int gpus_of_node, std::uint64_t seed);

}  // namespace assay
