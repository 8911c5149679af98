#pragma once

#include <unistd.h>

#include <cstdlib>

namespace assay::engine {

/// GNU OpenMP's threads spin while they wait for each other. Where a core is shared with anything else, a spinning
/// thread keeps the one it waits for from running, and a step takes fifty times as long. OpenMP reads its environment
/// before `main`, so this starts the program again with OMP_WAIT_POLICY=passive unless the user has chosen a policy.
/// Call first in main.
inline void let_openmp_wait_politely(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ::execv("/proc/self/exe", argv);  // where that fails, training is slower, nothing else
}

}  // namespace assay::engine
