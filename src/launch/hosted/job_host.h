#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/json.h"
#include "launch/hosted/job_folder.h"
#include "launch/hosted/machine_watch.h"
#include "launch/launcher.h"

namespace assay {

struct HostOptions {
  PartOfJob part;
  /// Where the ranks meet, as the place knows it. Absent: the host of the first part picks a free port, publishes it in
  /// its record and is met at the name of its machine; the others wait for that record, so they must see its folder.
  std::optional<Rendezvous> rendezvous;
  /// The provenance of this machine, for its record. May take a second.
  std::function<json::object()> describe_machine = [] { return json::object(); };
  /// Who measures it while the part runs, for jobs that want to know. Empty: nobody can.
  WatchMachine watch = {};
  /// Becomes readable when this process is asked to end: 'i' is Ctrl-C, any other byte stops the job, a second one
  /// kills it. -1: nobody asks.
  int stop_fd = -1;
  /// Called whenever there may be something new in the folder, the ending at last; about ten times a second.
  std::function<void()> on_look = [] {};
  /// How long the job may go on behind its own time limit, which is its owner's to keep.
  Nanos extra_time = std::chrono::seconds(60);
};

/// Hosts one part of a job on this machine: starts its processes through `local`, appends what they write to the
/// folder's files, obeys wishes, ends all of them a grace after one has failed, and writes down how the part ended: as
/// the first process that failed, else as the first process. Blocks until then; one thread.
///
/// If the job wants it, its machine is measured meanwhile, into a stream of its own.
///
/// Output of ranks above 0 is marked line by line (`[rank 3] `), their events are dropped: rank 0 speaks for the job.
///
/// Removing the folder kills the job.
///
/// A part is hosted once and never again, whoever asks twice: `busy`, and nothing is written. Any other failure is in
/// the ending, too. If this process is killed, `local` must see to it that nothing of the job is left.
PartEnding host_job(const JobFolder& folder, const HostOptions& options, Launcher& local, const Clock& clock);

/// What a process that hosted such a part should exit with: the job's own code, 128 + its signal, or 3 for an
/// error.
int exit_code_for(const PartEnding& ending);

}  // namespace assay
