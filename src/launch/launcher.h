#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

/// How many processes a job is and over how many nodes. With more than one process in all, each finds its place in
/// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
struct JobRanks {
  std::int64_t nodes = 1;
  std::int64_t per_node = 1;
};

/// Stand at the beginning of arguments and of values of the environment for paths that only the place knows.
inline constexpr std::string_view kAssayOfPlace = "{assay}";  ///< this program
inline constexpr std::string_view kEngineOfPlace = "{assay-engine}";
inline constexpr std::string_view kScratchOfPlace = "{scratch}";  ///< where the contents of `Job::scratch` are

/// Everything it takes to start a program somewhere.
struct Job {
  /// Program and its arguments, passed on untouched but for the paths of the place.
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< added to that of the place where it runs
  std::optional<std::filesystem::path> folder;     ///< to run in
  /// A folder that was made for it, with what it needs: belongs to whoever the job runs as.
  /// Another machine gets a copy of it, and what the job leaves in its `artifacts` is here again before it has ended.
  std::optional<std::filesystem::path> scratch = {};
  /// UUIDs of the GPUs that are its own: it sees these and no other. An empty list: it sees none. Absent: whatever the
  /// place shows it.
  std::optional<std::vector<std::string>> devices;
  /// Else its standard input is empty. Only where the job runs beside whoever asks; elsewhere `unsupported`.
  bool inherit_input = false;
  JobRanks ranks = {};
  /// How many GPUs it needs on each node, for places that hand them out by number. Absent: it uses those that it sees.
  std::optional<std::int64_t> gpus_per_node = {};
  /// Names of the nodes that it has to run on, as the place knows them, one for each of `ranks.nodes`. Empty: any.
  std::vector<std::string> nodes = {};
  /// Between the signals that end it when nobody is there to say: the one who asked died, or its first process has
  /// ended and left others.
  Nanos grace = std::chrono::seconds(5);
  /// After which whoever asks ends it. Places where it outlives that one end it by themselves a while later; 0: none.
  Nanos time_limit{};
  std::string name;  ///< for people, where a place lists its jobs
  /// Known before the start and unique to it (a run and the epoch of its lease), so that one that is asked for twice is
  /// not done twice: see `Launcher::start`. Empty: nobody will ask.
  std::string token;
  /// How often its place is to measure its machines while it runs there, for the stream `readings`; 0: not at all. This
  /// machine is measured by whoever asks.
  Nanos reading_period{};
};

/// What a job writes: standard output, standard error, and the events of the workload protocol; and what its place has
/// measured of its machines meanwhile, as lines that mean something to whoever asked for them.
enum class JobStream : std::uint8_t { out, error, events, readings };
inline constexpr std::array kJobStreams = {JobStream::out, JobStream::error, JobStream::events, JobStream::readings};

/// One of something for each stream.
template <typename T>
struct PerStream {
  std::array<T, kJobStreams.size()> values{};
  T& operator[](JobStream stream) { return values[static_cast<std::size_t>(stream)]; }
  const T& operator[](JobStream stream) const { return values[static_cast<std::size_t>(stream)]; }
};

inline bool all_of(const PerStream<bool>& streams) {
  return std::find(streams.values.begin(), streams.values.end(), false) == streams.values.end();
}
inline bool any_of(const PerStream<bool>& streams) {
  return std::find(streams.values.begin(), streams.values.end(), true) != streams.values.end();
}

/// CPU time and memory, as far as the place can tell.
struct JobUsage {
  Nanos user_time{};  ///< of everything that was waited for
  Nanos system_time{};
  std::int64_t peak_rss_bytes = 0;  ///< of the largest single process
};

/// How a job ended.
struct JobEnding {
  /// Of its first process. This or `signal` is there, unless that very process is `still_running`.
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<JobUsage> usage;
  /// From its start to its end, where somebody at the place has watched both: whoever attached has not.
  std::optional<Nanos> ran_for = {};
  /// Names of processes that were still there a moment after the first one had ended, and were ended; at most 32.
  std::vector<std::string> left_behind;
  /// Names of processes that even SIGKILL did not end: hanging in a driver, or not ours. At most 32; nearly always
  /// empty.
  std::vector<std::string> still_running;
  bool stopped = false;  ///< it ended after `interrupt`, `stop` or `kill`
  /// A process of it was ended for more memory than its place gives a job.
  bool out_of_memory = false;
};

/// Adds what another process of the same job used and left behind.
void add_to(JobEnding& ending, const JobEnding& other);

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

/// The job's environment, with what shows it its devices and no other (CUDA_VISIBLE_DEVICES; this wins over what
/// `environment` says about it). For launchers.
std::map<std::string, std::string> environment_with_devices(const Job& job);

/// What the place-holders stand for. An empty one is left as it is written.
struct PlacePaths {
  std::string assay, engine, scratch;
};
Job with_paths_of_place(Job job, const PlacePaths& paths);

/// Whether it cannot be started where there is no assay-engine: its program is `kEngineOfPlace`.
bool needs_engine(const Job& job);

}  // namespace assay
