#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/launcher.h"
#include "runs/text_metrics.h"

namespace assay {

struct PlannedRun;

/// The programs that workloads are made of.
struct Programs {
  std::filesystem::path self;    ///< this binary, for the built-in null workload
  std::filesystem::path engine;  ///< assay-engine; empty: not found
};

/// Looks for assay-engine: beside `self`, then ASSAY_ENGINE, then on the PATH. Empty if there is none.
std::filesystem::path find_engine(const std::filesystem::path& self);

/// What to start for a run, and how to watch it.
struct Workload {
  Job job;
  std::vector<MetricPattern> patterns;
  std::size_t output_limit = std::size_t{64} << 20;
  Nanos time_limit{0};
  std::filesystem::path artifacts;  ///< files that it leaves there are kept with the run; empty: none
};

/// The workload of a planned run. `scratch` is a folder that lives as long as the run.
/// Errors: `unsupported` (a kind whose part does not exist yet, several nodes, another node), `no_engine`.
Result<Workload> make_workload(const PlannedRun& planned, const Programs& programs,
                               const std::filesystem::path& scratch);

}  // namespace assay
