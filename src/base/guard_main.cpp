#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <set>
#include <utility>

#include "base/control_group.h"
#include "base/guard.h"
#include "base/guard_protocol.h"
#include "base/process_tree.h"
#include "base/spawn.h"
#include "base/text.h"

// The child's side: what runs when this program was started as a guard. One thread.

namespace assay {
namespace {

// Helpers of a well-behaved program (Python's resource tracker, the far end of a pipeline) end a moment after it.
// Only what is there after this moment counts as left behind.
constexpr auto kSettlingTime = std::chrono::milliseconds(200);
// A process that was between fork and exec when SIGTERM came may have lost it: its parent's handler took it.
constexpr Nanos kFirstReminder = std::chrono::milliseconds(100);
constexpr Nanos kMaxReminderPeriod = std::chrono::seconds(2);
constexpr std::size_t kMaxNames = 32;

Nanos within_reason(Nanos grace) { return std::clamp<Nanos>(grace, Nanos(0), std::chrono::hours(24)); }

class Guard {
 public:
  Guard(pid_t first, Nanos grace, FileDescriptor signals)
      : first_(first), grace_(within_reason(grace)), signals_(std::move(signals)) {}

  /// Returns when no descendant is left, or when the rest cannot be ended.
  GuardReport watch();

 private:
  bool reap();
  void act();
  void wait();
  void obey();
  void interrupt(Nanos grace);
  void stop(Nanos grace);
  void terminate_all(Nanos grace);
  void remind();
  std::vector<ProcessStat> living() const;
  std::vector<std::string> living_names() const;

  SteadyTime now() const { return clock_.now(); }

  SystemClock clock_;
  pid_t first_;
  Nanos grace_;
  FileDescriptor signals_;
  FileDescriptor control_{kGuardControl};
  GuardReport report_;
  bool first_ended_ = false;
  bool looked_for_left_behind_ = false;
  bool given_up_ = false;
  std::set<std::pair<pid_t, std::uint64_t>> asked_to_end_;  ///< each gets SIGTERM once: many take a second as "now!"
  std::optional<SteadyTime> settled_at_;
  std::optional<SteadyTime> stop_at_;  ///< for one that goes on after SIGINT
  Nanos stop_grace_{};                 ///< to give it then
  std::optional<SteadyTime> remind_at_;
  Nanos reminder_period_ = kFirstReminder;
  std::optional<SteadyTime> kill_at_;
  std::optional<SteadyTime> give_up_at_;
  Nanos kill_period_ = std::chrono::milliseconds(5);
};

GuardReport Guard::watch() {
  while (reap()) {
    act();
    if (given_up_) break;
    wait();
  }
  struct rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto nanos = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  report_.user_time = nanos(usage.ru_utime);
  report_.system_time = nanos(usage.ru_stime);
  report_.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  return report_;
}

/// Collects every child that has ended. False when there is none left at all: then there is no other descendant
/// either, since whoever loses its parent becomes our child.
bool Guard::reap() {
  for (;;) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WNOHANG);
    if (child == 0) return true;
    if (child < 0 && errno == EINTR) continue;
    if (child < 0) return false;
    if (child != first_) continue;
    first_ended_ = true;
    settled_at_ = now() + kSettlingTime;
    if (WIFEXITED(status)) report_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) report_.signal = WTERMSIG(status);
  }
}

void Guard::act() {
  if (settled_at_ && now() >= *settled_at_ && !looked_for_left_behind_) {
    looked_for_left_behind_ = true;
    report_.left_behind = living_names();
    terminate_all(grace_);
  }
  if (stop_at_ && now() >= *stop_at_) stop(stop_grace_);
  if (remind_at_ && now() >= *remind_at_) remind();
  if (!kill_at_ || now() < *kill_at_) return;
  remind_at_.reset();
  for (const auto& process : living()) send_signal(process, SIGKILL);
  if (!give_up_at_) give_up_at_ = now() + kKillTime;
  if (now() >= *give_up_at_) {
    report_.still_running = living_names();
    given_up_ = true;
  }
}

/// Sleeps until a child has ended, a command has come, or the next thing is due.
void Guard::wait() {
  std::optional<SteadyTime> due;
  const auto consider = [&](SteadyTime time) { due = due ? std::min(*due, time) : time; };
  if (settled_at_ && !looked_for_left_behind_) consider(*settled_at_);
  if (stop_at_) consider(*stop_at_);
  if (remind_at_) consider(*remind_at_);
  if (give_up_at_) {
    // Grandchildren end without telling us, and a tree that forks while it is killed needs another round.
    consider(now() + kill_period_);
    kill_period_ = std::min<Nanos>(kill_period_ * 2, std::chrono::milliseconds(500));
  } else if (kill_at_) {
    consider(*kill_at_);
  }
  int timeout = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now());
    timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }
  std::array<struct pollfd, 2> watched{};
  watched[0] = {.fd = signals_.get(), .events = POLLIN, .revents = 0};
  watched[1] = {.fd = control_.get(), .events = POLLIN, .revents = 0};
  if (::poll(watched.data(), watched.size(), timeout) <= 0) return;
  if (watched[0].revents != 0) {
    signalfd_siginfo ignored;
    [[maybe_unused]] const ssize_t got = ::read(signals_.get(), &ignored, sizeof ignored);
  }
  // Its end may have been seen at the same moment as the command that would have ended it.
  if (watched[1].revents != 0 && reap()) obey();
}

void Guard::obey() {
  GuardCommand command;
  const ssize_t got = ::read(control_.get(), &command, sizeof command);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) control_.reset();  // the parent is gone, even if by SIGKILL
  const Nanos grace = command.has_grace ? within_reason(command.grace) : grace_;
  if (command.what == GuardCommand::What::interrupt) return interrupt(grace);
  stop(grace);
  if (command.what == GuardCommand::What::kill) kill_at_ = now();
}

/// As a terminal does it: every process gets it. What handles it may save its work; it has the grace period for that.
void Guard::interrupt(Nanos grace) {
  report_.stopped = report_.stopped || !first_ended_;
  for (const auto& process : living()) {
    send_signal(process, SIGINT);
    send_signal(process, SIGCONT);  // one that is stopped would not see it
  }
  if (!kill_at_) stop_at_ = now() + grace;
  stop_grace_ = grace;
}

void Guard::stop(Nanos grace) {
  stop_at_.reset();
  report_.stopped = report_.stopped || !first_ended_;
  terminate_all(grace);
}

void Guard::terminate_all(Nanos grace) {
  for (const auto& process : living()) {
    if (!asked_to_end_.emplace(process.pid, process.start_ticks).second) continue;
    send_signal(process, SIGTERM);
    send_signal(process, SIGCONT);  // one that is stopped would not see it
  }
  kill_at_ = std::min(kill_at_.value_or(SteadyTime::max()), now() + grace);
  reminder_period_ = kFirstReminder;
  remind_at_ = now() + reminder_period_;
}

/// Whoever was asked, would end at once of SIGTERM and is still there has not got it. One that handles it is left in
/// peace to clean up, and so is what it has started for that.
void Guard::remind() {
  for (const auto& process : living()) {
    if (!asked_to_end_.contains({process.pid, process.start_ticks})) continue;
    if (has_default_action(process.pid, SIGTERM)) send_signal(process, SIGTERM);
  }
  reminder_period_ = std::min(reminder_period_ * 2, kMaxReminderPeriod);
  remind_at_ = now() + reminder_period_;
}

std::vector<ProcessStat> Guard::living() const {
  auto processes = descendants_of(::getpid());
  std::erase_if(processes, [](const ProcessStat& process) { return !process.alive(); });
  return processes;
}

std::vector<std::string> Guard::living_names() const {
  std::vector<std::string> names;
  for (const auto& process : living()) {
    if (names.size() < kMaxNames) names.push_back(printable(process.name));
  }
  return names;
}

/// The guard outlives whatever a terminal or a job script sends to everybody; only its pipe and SIGKILL end it.
void ignore_signals() {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN,
                           SIGTTOU, SIGXCPU, SIGXFSZ}) {
    ::signal(signal, SIG_IGN);
  }
}

Result<FileDescriptor> watch_children() {
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &children, nullptr);
  FileDescriptor signals(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return system_error(errno, "cannot watch for the end of children");
  return signals;
}

Result<GuardedOptions> read_request() {
  ASSAY_TRY(const std::string bytes, read_file(fmt::format("/proc/self/fd/{}", kGuardRequest)));
  return decode_request(bytes);
}

Result<pid_t> start_workload(GuardedOptions options) {
  options.environment["ASSAY_EVENTS"] = fmt::format("fd:{}", kWorkloadEvents);
  ASSAY_TRY(auto environment, merged_environment(options.environment));
  return spawn({.arguments = std::move(options.arguments),
                .environment = std::move(environment),
                .folder = std::move(options.folder),
                .descriptors = {{STDIN_FILENO, STDIN_FILENO},
                                {STDOUT_FILENO, STDOUT_FILENO},
                                {STDERR_FILENO, STDERR_FILENO},
                                {kGuardEvents, kWorkloadEvents}},
                // `kill 0` in the workload must not reach the guard.
                .own_session = true,
                .dies_with_parent = true});
}

/// The workload's streams must end with the workload, and its folder must not be kept busy.
void let_go_of_workload() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null < 0 || ::dup2(null, fd) < 0) ::close(fd);
  }
  if (null > STDERR_FILENO) ::close(null);
  ::close(kGuardEvents);
  ::close(kGuardRequest);
  [[maybe_unused]] const int ignored = ::chdir("/");
}

bool has_descriptors() {
  return std::ranges::all_of(std::array{kGuardControl, kGuardReport, kGuardEvents, kGuardRequest},
                             [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; });
}

}  // namespace

int guard_main(int, char**) {
  if (!has_descriptors()) {
    std::fputs("assay: '__guard' is how assay starts its own helper process; it is not for users\n", stderr);
    return 2;
  }
  ::prctl(PR_SET_NAME, "assay-guard");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::setsid();
  ignore_signals();

  const auto start = [](FileDescriptor& signals, Nanos& grace) -> Result<pid_t> {
    ASSAY_TRY(signals, watch_children());
    ASSAY_TRY(auto options, read_request());
    grace = options.grace;
    // While the groups are still in reach.
    if (options.group) ASSAY_CHECK(join_control_group(*options.group));
    if (options.confinement) ASSAY_CHECK(confine_self(*options.confinement));
    return start_workload(std::move(options));
  };
  FileDescriptor signals;
  Nanos grace{};
  const auto first = start(signals, grace);
  let_go_of_workload();
  // A parent that is gone reads nothing; the guard then goes on to end the workload all the same.
  const auto told = write_all(kGuardReport, start_line(first));
  if (!first) return 1;

  const GuardReport report = Guard(*first, grace, std::move(signals)).watch();
  return write_all(kGuardReport, report_line(report)).ok() && told.ok() ? 0 : 1;
}

}  // namespace assay
