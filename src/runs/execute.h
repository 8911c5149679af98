#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

class Launcher;
class MetricSource;
class RunObserver;
class RunStore;
struct Ending;
struct JobPlace;
struct Run;
struct Workload;

/// What it takes to do a run: handed in by the program, so that tests can hand in others.
struct RunServices {
  RunStore& store;
  Launcher& launcher;
  const Clock& clock;
  RunObserver& observer;
  /// The metric sources to read during a run on this machine; the argument is the workload's first process, if it is
  /// one of it. Runs at another `place` are measured there.
  std::function<std::vector<std::unique_ptr<MetricSource>>(std::optional<pid_t>)> make_sources;
  int stop_fd = -1;  ///< see FollowOptions
  /// How to make the launcher again, as `--on` says it: "ssh:gpu01"; kept with the run. Empty: its jobs end with this
  /// process, so that nobody need.
  std::string place = {};
  /// Of the first node of a run over several: asked once its own workload has ended. Blocks until the others have as
  /// well or are given up; what went wrong there. Absent: there are none.
  std::function<std::optional<Error>(const Ending&)> await_peers = {};
};

/// Does one run from start to verdict: stores it, starts the workload, follows it, judges it, stores the result. `run`
/// carries name, kind, tags, settings and provenance. An error means that there is no run: nothing could be started. A
/// workload that fails is not an error here but a run whose verdict is `failed`. `interrupted`: the run goes on without
/// an owner, as `FollowOptions::kLeave` has asked, for `resume_run`. Any number of threads, each with a run, an
/// observer and a `stop_fd` of its own.
Result<Run> execute_run(Run run, const Workload& workload, const RunServices& services);

/// Goes on with a run whose owner is gone while its job goes on at `Placement::place`, as if nothing had been: takes
/// the run, attaches to the job, records what comes behind the last mark, judges. `services` are those of that place.
/// Where the job is not there any more the run is closed as `interrupted`. Errors: `not_found`, `usage` (it has ended,
/// or its job ends with its owner), `busy` (it has an owner, or the job has); those of the launcher and `interrupted`
/// (see `execute_run`), which leave the run to whoever tries again.
Result<Run> resume_run(const std::string& id, const RunServices& services);

/// The process of rank > 0 in a job of several (srun, mpirun, torchrun): follows its own workload and adds its system
/// metrics and output to the run that rank 0 records. The result is about this process's workload alone.
Result<Run> join_run(Run run, const JobPlace& place, const Workload& workload, const RunServices& services);

/// The id that all processes of a job agree on without talking: the `attempt`-th run of that job.
std::string job_run_id(const JobPlace& place, int attempt);
/// For rank 0: the id under which to record. The first attempt that no run has yet.
Result<std::string> id_for_job(RunStore& store, const JobPlace& place);

}  // namespace assay
