#pragma once

#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "launch/programs.h"
#include "runs/study_run.h"
#include "spec/spec.h"

namespace assay {

class Launcher;
class MetricSource;
class RunObserver;
class RunStore;
struct Run;

// What `run`, `exec` and `validate` share.

/// Reads and validates specifications. Every mistake of every file is printed (or, with --json, part of the error); the
/// error then says how many there were.
Result<std::vector<Spec>> read_specs(const Context& context, const std::vector<std::string>& files,
                                     const std::vector<std::string>& assignments);

/// What is measured of the machine of a run: the host and, where there are any, its GPUs.
std::vector<std::unique_ptr<MetricSource>> machine_sources(bool with_gpus);
/// The same and the workload's processes.
std::vector<std::unique_ptr<MetricSource>> run_sources(std::optional<pid_t> workload, bool with_gpus);

struct LaunchPlace;

/// Everything that a run at that place needs.
RunServices make_services(const Context& context, RunStore& store, const LaunchPlace& place, RunObserver& observer,
                          int stop_fd);

/// Everything that a run on this machine needs: the store, the launcher, the host's metric sources, the clock.
/// `with_gpus`: false for all but one process of a job on this machine, since one reads them all.
RunServices make_services(const Context& context, RunStore& store, Launcher& launcher, RunObserver& observer,
                          int stop_fd, bool with_gpus = true);

Programs find_programs();

/// Host, GPUs, versions, git state and shareable environment of this process.
Provenance describe_this_machine();

/// What is known of a run elsewhere before its place has described itself: our version and the git state here.
Provenance describe_owner();

/// Prints the finished run, as text or JSON, and returns the exit code. `to_error`: the text goes to standard error.
int report_run(const Context& context, const Run& run, RunStore& store, bool to_error = false);
/// The same for a study.
int report_study(const Context& context, const Study& study, const StudyOutcome& outcome);

}  // namespace assay
