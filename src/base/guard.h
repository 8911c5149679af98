#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/confinement.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

// A workload runs under a *guard*: a small child process (this same binary, started with `kGuardArgument`) that is
// the subreaper of everything the workload forks and holds a pipe to us. When we ask, when the workload's first
// process has ended, or when our end of the pipe closes (even by `kill -9`), it ends every descendant: SIGTERM,
// then after the grace period SIGKILL, until none is left.

/// First argument that makes the program a guard. `main` calls `guard_main` when argv[1] is this.
inline constexpr const char* kGuardArgument = "__guard";
int guard_main(int argc, char** argv);

struct GuardedOptions {
  std::vector<std::string> arguments;               ///< program and its arguments, passed on untouched
  std::map<std::string, std::string> environment;   ///< added to ours, or to that of the confinement
  std::optional<std::filesystem::path> folder;      ///< to run in
  bool inherit_input = false;                       ///< else standard input is empty
  Nanos grace = std::chrono::seconds(5);            ///< between SIGINT, SIGTERM and SIGKILL
  std::optional<Confinement> confinement = {};      ///< of the workload, and of its guard
  std::optional<std::filesystem::path> group = {};  ///< a control group for both
};

/// How a guarded workload ended.
struct GuardReport {
  /// Of the workload's first process. This or `signal` is there, unless that very process is `still_running`.
  std::optional<int> exit_code;
  std::optional<int> signal;
  Nanos user_time{};  ///< CPU time of everything that was waited for
  Nanos system_time{};
  std::int64_t peak_rss_bytes = 0;  ///< of the largest single process that was waited for
  /// Names of processes that were still there a moment after the first one had ended; at most 32.
  std::vector<std::string> left_behind;
  /// Names of processes that even SIGKILL did not end: hanging in a driver, or root's. At most 32; nearly always empty.
  std::vector<std::string> still_running;
  bool stopped = false;  ///< it ended after `interrupt()`, `stop()` or `kill_now()`
};

struct GuardCommand;

/// A workload under its guard. Destroying it ends the workload and waits for that: the grace period and at worst
/// half a minute more; output that nobody read is thrown away meanwhile. One thread at a time.
class GuardedProcess {
 public:
  /// Returns once the workload's program runs; blocks for at most 10 s.
  /// Errors: `usage` (no program, NUL bytes in arguments), `missing_file` (no such program, interpreter or folder),
  /// `denied` (not executable, a folder), `bad_file` (not a program), `timeout`, `io`; those of `check_confinement`.
  /// The workload sees its event pipe as ASSAY_EVENTS=fd:N.
  static Result<GuardedProcess> start(const GuardedOptions& options);

  GuardedProcess(GuardedProcess&& other) noexcept;
  GuardedProcess& operator=(GuardedProcess&&) = delete;
  ~GuardedProcess();

  // Non-blocking read ends, for poll(2). Output and events reach end-of-file when the last descendant has closed them.
  int out_fd() const { return out_.get(); }
  int error_fd() const { return error_.get(); }
  int events_fd() const { return events_.get(); }
  /// Readable when the report is there or the guard is gone.
  int report_fd() const { return report_.get(); }

  pid_t workload_pid() const { return workload_; }

  // With a grace period of their own, if they are given one. None of them waits.
  /// Does what Ctrl-C does in a terminal: SIGINT now, then as `stop()` after the grace period.
  void interrupt(std::optional<Nanos> grace = std::nullopt);
  /// Asks the guard to end the workload: SIGTERM now, SIGKILL after the grace period.
  void stop(std::optional<Nanos> grace = std::nullopt);
  /// SIGKILL for all descendants at once.
  void kill_now();

  /// The report once it is there; nothing while the workload goes on; an error of kind `crash` if the guard itself
  /// died. Does not block. Once there, every further call gives the same.
  Result<std::optional<GuardReport>> poll_report();

 private:
  GuardedProcess() = default;
  Result<void> await_start();
  void read_report();
  void wait_for_guard();
  void command(const GuardCommand& command);

  FileDescriptor out_, error_, events_, report_, control_;
  pid_t guard_ = -1;  ///< until it was waited for
  pid_t workload_ = -1;
  Nanos grace_{};
  std::string report_text_;
  bool report_ended_ = false;
};

}  // namespace assay
