#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/job.h"
#include "runs/text_metrics.h"

namespace assay {

struct PlannedRun;

/// What to start for a run, and how to watch it.
struct Workload {
  Job job;
  std::vector<MetricPattern> patterns;
  std::size_t output_limit = std::size_t{64} << 20;
  Nanos time_limit{0};
  std::filesystem::path artifacts;  ///< files that it leaves there are kept with the run; empty: none
};

/// The workload of a planned run, with the names of places for what only those know (launch/launcher.h). `scratch` is a
/// folder that lives as long as the run. On several nodes training is `ranks` processes that the place starts, any
/// other kind is one per node. Nodes that it is pinned to are the launcher's to find. Errors: `unsupported` (a kind
/// whose part does not exist yet), `bad_spec` (ranks that the nodes cannot share evenly).
/// `secret`: of this run, where several that make its workload must agree on one; empty: it gets one of its own.
Result<Workload> make_workload(const PlannedRun& planned, const std::filesystem::path& scratch,
                               std::string_view secret = {});

}  // namespace assay
