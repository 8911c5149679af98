#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/run.h"
#include "model/study.h"
#include "runs/execute.h"

namespace assay {

/// How the runs of a study ended.
struct StudyOutcome {
  std::vector<Run> runs;  ///< in the order of the plan; those of earlier attempts included
  int valid = 0;
  int not_valid = 0;         ///< flagged, invalid or failed
  bool interrupted = false;  ///< the user stopped it; the rest can be resumed
};

/// 0 all valid, 4 some failed or are invalid, 1 none is valid (or it was interrupted), 3 this machine can do none of
/// them.
int exit_code_of(const StudyOutcome& outcome);

/// What `run_study` needs beside the services of one run.
struct StudyOptions {
  Provenance provenance;    ///< of this machine, the same for every run
  std::string secret = {};  ///< see make_workload
  /// Told before each run: its place in the plan.
  std::function<void(const PlannedRun&, std::size_t index)> on_next = [](const PlannedRun&, std::size_t) {};
  /// True once the user has asked to stop.
  std::function<bool()> stop_requested = [] { return false; };
};

/// Does every run of the plan that has not been done yet, in order. What was done stays done: an interrupted study goes
/// on where it stopped, first with a run whose job has outlived its owner; a run that was interrupted is done again. A
/// run that cannot be started is stored as failed, and the study goes on.
Result<StudyOutcome> run_study(const std::string& study_id, const StudyOptions& options, const RunServices& services);

/// The record of a run that a plan asks for, before anybody has begun: without secrets.
Run prepare_run(const PlannedRun& planned, std::string name, std::vector<std::string> tags);
/// Does a run that was prepared: makes its workload and executes it in the services' store. `run.placement.gpus` are
/// the GPUs that it sees. An error means that nothing could be started, and that there is no run.
Result<Run> execute_planned(const PlannedRun& planned, Run run, const StudyOptions& options,
                            const RunServices& services);

/// Does a single planned run that belongs to no study.
Result<Run> run_single(const PlannedRun& planned, std::string name, std::vector<std::string> tags,
                       const StudyOptions& options, const RunServices& services);

}  // namespace assay
