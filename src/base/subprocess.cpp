#include "base/subprocess.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "base/spawn.h"
#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

// How often we look where the kernel has no pidfd (before Linux 5.3, some sandboxes).
constexpr auto kLookPeriod = std::chrono::milliseconds(20);
// A killed process is gone within this, unless it hangs in a driver: then nothing ends it.
constexpr auto kDyingTime = std::chrono::seconds(2);

/// Children that hang in the kernel after SIGKILL (nvidia-smi with a dead GPU). Nobody waits for them; they are reaped
/// when a later command finds them ended.
class Abandoned {
 public:
  void add(pid_t child) {
    const std::lock_guard lock(mutex_);
    children_.push_back(child);
  }
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(children_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> children_;
};

Abandoned& abandoned() {
  static Abandoned instance;
  return instance;
}

/// One of the child's output streams, kept up to a limit and drained beyond it.
struct Stream {
  FileDescriptor fd;
  std::string kept;
  std::size_t limit = 0;
  bool truncated = false;

  /// Reads what is there now; closes at end-of-file.
  void drain() {
    std::array<char, 65536> buffer;
    // Bounded, so that an endless writer cannot keep us from looking at the deadline.
    for (int round = 0; fd && round < 64; ++round) {
      const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return fd.reset();
      const auto room = std::min(limit - kept.size(), static_cast<std::size_t>(got));
      kept.append(buffer.data(), room);
      truncated = truncated || room < static_cast<std::size_t>(got);
    }
  }
};

/// A started command. However it is left, its process group is killed and it is reaped.
class Running {
 public:
  explicit Running(pid_t pid) : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  ~Running() {
    if (pid_ < 0) return;
    // Still unreaped, so the number of the group cannot have been given to somebody else.
    ::kill(-pid_, SIGKILL);
    const auto deadline = SystemClock().now() + kDyingTime;
    while (!ended() && SystemClock().now() < deadline) wait(deadline, nullptr, nullptr);
    if (::waitpid(pid_, nullptr, WNOHANG) == 0) abandoned().add(pid_);
  }

  /// Does not reap.
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
  }

  /// Sleeps until the command ends, writes something, or the deadline has come.
  void wait(SteadyTime deadline, const Stream* out, const Stream* error) const {
    std::array<struct pollfd, 3> watched{};
    watched[0] = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    watched[1] = {.fd = out != nullptr ? out->fd.get() : -1, .events = POLLIN, .revents = 0};
    watched[2] = {.fd = error != nullptr ? error->fd.get() : -1, .events = POLLIN, .revents = 0};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    if (!pidfd_) left = std::min(left, kLookPeriod);
    ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
  }

  /// Kills what is left of the group and gives the wait status. Once, after `ended()`.
  int finish() {
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
  FileDescriptor pidfd_;
};

}  // namespace

Result<CommandOutput> run_command(const std::vector<std::string>& arguments, const CommandOptions& options) {
  abandoned().reap();
  ASSAY_TRY(auto environment, merged_environment(options.environment));
  ASSAY_TRY(auto out_pipe, make_pipe());
  ASSAY_TRY(auto error_pipe, make_pipe());
  ASSAY_CHECK(make_non_blocking(out_pipe.read_end.get()));
  ASSAY_CHECK(make_non_blocking(error_pipe.read_end.get()));
  ASSAY_TRY(const auto input, memory_file(options.input));

  // Bounded, so that "no deadline" does not overflow.
  const auto deadline = SystemClock().now() + std::min<Nanos>(options.deadline, std::chrono::hours(24 * 365));
  ASSAY_TRY(const pid_t pid, spawn({.arguments = arguments,
                                    .environment = std::move(environment),
                                    .folder = options.folder,
                                    .descriptors = {{input.get(), STDIN_FILENO},
                                                    {out_pipe.write_end.get(), STDOUT_FILENO},
                                                    {error_pipe.write_end.get(), STDERR_FILENO}},
                                    .own_session = true}));
  Running command(pid);
  out_pipe.write_end.reset();
  error_pipe.write_end.reset();

  Stream out{.fd = std::move(out_pipe.read_end), .kept = {}, .limit = options.output_limit};
  Stream error{.fd = std::move(error_pipe.read_end), .kept = {}, .limit = options.output_limit};
  while (!command.ended()) {
    if (SystemClock().now() >= deadline) {
      return Error{.kind = ErrorKind::timeout,
                   .message = fmt::format("'{}' did not end within {}", printable(arguments.front()),
                                          format_duration(options.deadline))};
    }
    command.wait(deadline, &out, &error);
    out.drain();
    error.drain();
  }
  const int status = command.finish();
  // All that the command itself wrote is in the pipes by now; whatever else holds them is not waited for.
  out.drain();
  error.drain();

  CommandOutput output{.exit_code = {},
                       .signal = {},
                       .out = std::move(out.kept),
                       .error = std::move(error.kept),
                       .truncated = out.truncated || error.truncated};
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
  return output;
}

}  // namespace assay
