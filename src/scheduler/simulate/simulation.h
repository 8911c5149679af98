#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scheduler/simulate/policy.h"
#include "scheduler/simulate/trace.h"

namespace assay {

/// A job on the nodes for a while, for pictures.
struct TimelineSpan {
  std::uint32_t row = 0;  ///< GPU, counted through all nodes
  double start = 0;
  double end = 0;
  std::uint32_t user = 0;
  std::uint32_t job = 0;  ///< index into the trace
};

/// What became of the jobs of a trace, each at its place in it; NaN where a job fits on no node.
struct SimulatedRun {
  std::vector<double> waits;        ///< seconds from submission to start
  std::vector<double> completions;  ///< seconds from submission to end
  double used = 0;                  ///< GPU seconds
  double available = 0;             ///< GPU seconds from the first submission to the last end
  double makespan = 0;
  std::size_t misfits = 0;  ///< jobs that fit on no node
  std::vector<TimelineSpan> spans;
};

struct SimulationOptions {
  SchedulerOptions scheduler;
  std::size_t timeline_rows = 0;  ///< GPUs whose spans are kept
  /// Asked once in a while with the number of jobs that have ended; false stops the simulation. May be empty.
  std::function<bool(std::size_t)> go_on;
};

/// Runs a trace under a policy on a virtual clock. A function of its inputs. Fails with `interrupted` where it was
/// stopped. A million jobs on ten thousand nodes take minutes.
Result<SimulatedRun> simulate(const Trace& trace, const std::vector<NodeOffer>& nodes, PolicyKind policy,
                              const SimulationOptions& options = {});

}  // namespace assay
