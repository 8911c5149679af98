#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "launch/job_stream.h"

namespace assay {

struct Job;
struct JobEnding;

/// What there is to do about a job.
struct JobReady {
  PerStream<bool> streams;  ///< `read` has bytes, or that the stream has ended
  bool ended = false;       ///< `ending` has an answer that was not asked for yet
  bool woken = false;       ///< the caller's own descriptor is readable
};

/// A job that was started. Destroying it lets go of it: the job ends, and that is waited for (its grace and at worst
/// half a minute more), unless it is one of a launcher whose jobs outlive whoever asked. One thread at a time.
class RunningJob {
 public:
  virtual ~RunningJob() = default;

  /// Waits until there is something to read, the job has ended, `wake_fd` (-1: none) is readable or `deadline` has
  /// come. May return early with nothing. Streams and an ending that were seen to their end do not count any more.
  virtual JobReady wait(SteadyTime deadline, int wake_fd) = 0;
  /// Bytes that are there, never waiting for more: how many, 0 for none at the moment, nothing once the stream has
  /// ended. Streams end when the last process that holds them has closed them, which may be long before or after the
  /// job's end.
  virtual std::optional<std::size_t> read(JobStream stream, std::span<char> into) = 0;

  /// Does what Ctrl-C does in a terminal: SIGINT to every process now, then as `stop` after the grace. Does not wait.
  virtual void interrupt(Nanos grace) = 0;
  /// SIGTERM to every process now, SIGKILL after the grace. A later call may cut the grace short. Does not wait.
  virtual void stop(Nanos grace) = 0;
  /// SIGKILL to every process at once. Does not wait.
  virtual void kill() = 0;

  /// How it ended, once it has; an error of kind `crash` if whoever watched it died, so that nobody knows. Does not
  /// block. Once there, every further call gives the same.
  virtual Result<std::optional<JobEnding>> ending() = 0;

  /// Why it does not run yet, for people: "Slurm job 4711 waits: Resources". Empty once it runs, and always where there
  /// is no queue. Changes within `wait` only; does not block.
  virtual std::string waiting() const { return {}; }

  /// What to store in order to `attach` to it later.
  virtual std::string handle() const = 0;
  /// Its first process, where that is one of this machine.
  virtual std::optional<pid_t> first_process() const = 0;
  /// What the place says of the machine of its first process, where that is another one: its provenance as JSON. Empty
  /// where it is this machine, or not known yet.
  virtual json::object machine() const { return {}; }
};

/// A place where jobs can be started. Any number of threads and of jobs at once; must outlive the jobs that it hands
/// out.
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual std::string_view name() const = 0;

  /// Starts a job, which finds where to write its events as ASSAY_EVENTS. Returns once its program runs, or the place
  /// has taken it on. Never starts a second one with the token of one that it still has: `busy`.
  /// Errors besides: `usage` (no program, NUL bytes in arguments), `missing_file` (no such program, interpreter or
  /// folder), `denied` (not executable, a folder), `bad_file` (not a program), `no_engine` (it is needed, and not
  /// there), `unsupported` (more nodes or ranks than the place has), `timeout`, `io`.
  virtual Result<std::unique_ptr<RunningJob>> start(const Job& job) = 0;

  /// Takes a job up again after whoever asked for it was restarted. `handle`: what `RunningJob::handle` gave, or the
  /// job's token if there was no time to store that. Each stream goes on behind the bytes that `taken` counts.
  /// Errors: `not_found` with the reason (it is not known here, or it ended with whoever had asked), `busy` (somebody
  /// has it).
  virtual Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) = 0;
};

}  // namespace assay
