#include "base/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/guard_protocol.h"
#include "base/spawn.h"

namespace assay {
namespace {

constexpr auto kStartTime = std::chrono::seconds(10);

struct ControlEnds {
  FileDescriptor ours;
  FileDescriptor guards;
};

/// A socket and not a pipe: writing to a guard that is gone then gives an error and no SIGPIPE, and a command arrives
/// as a whole.
Result<ControlEnds> make_control() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error(errno, "cannot make a socket");
  }
  return ControlEnds{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// A pipe with a non-blocking end for us and much room, so that a workload that writes in bursts is not slowed down by
/// how often we read. More room than the default may be refused; then the default has to do.
Result<Pipe> make_output_pipe() {
  constexpr int kRoom = 1 << 20;
  ASSAY_TRY(auto pipe, make_pipe());
  ASSAY_CHECK(make_non_blocking(pipe.read_end.get()));
  ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, kRoom);
  return pipe;
}

/// Our standard input, if we have one and the workload is to read it; else an empty one.
Result<FileDescriptor> workload_input(bool inherit) {
  if (inherit) {
    FileDescriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (input) return input;
  }
  return open_file("/dev/null", O_RDONLY);
}

Error guard_died() {
  return Error{.kind = ErrorKind::crash,
               .message = "the guard of the workload died before it could report how the workload ended",
               .hint = "Something killed it: look for the out-of-memory killer in the kernel's log (dmesg)."};
}

/// Throws away what is there. False at end-of-file.
bool discard(int fd) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Result<GuardedProcess> GuardedProcess::start(const GuardedOptions& options) {
  ASSAY_CHECK(check_arguments(options.arguments));
  ASSAY_CHECK(check_environment(options.environment));
  ASSAY_TRY(const auto input, workload_input(options.inherit_input));
  ASSAY_TRY(auto out, make_output_pipe());
  ASSAY_TRY(auto error, make_output_pipe());
  ASSAY_TRY(auto events, make_output_pipe());
  ASSAY_TRY(auto report, make_pipe());
  ASSAY_CHECK(make_non_blocking(report.read_end.get()));
  ASSAY_TRY(auto control, make_control());
  ASSAY_TRY(const auto request, memory_file(encode_request(options)));
  // The guard runs as what the workload runs as, and shows it no more than that may see.
  ASSAY_TRY(auto environment,
            options.confinement ? environment_list(options.confinement->environment) : merged_environment({}));

  GuardedProcess process;
  // /proc/self/exe is this program even after its file was replaced by a newer one.
  auto guard = spawn({.arguments = {"/proc/self/exe", kGuardArgument},
                      .environment = std::move(environment),
                      .folder = {},
                      .descriptors = {{input.get(), STDIN_FILENO},
                                      {out.write_end.get(), STDOUT_FILENO},
                                      {error.write_end.get(), STDERR_FILENO},
                                      {control.guards.get(), kGuardControl},
                                      {report.write_end.get(), kGuardReport},
                                      {events.write_end.get(), kGuardEvents},
                                      {request.get(), kGuardRequest}}});
  if (!guard) return std::move(guard).error().within("starting the guard of a workload");
  process.guard_ = *guard;
  process.grace_ = options.grace;
  process.out_ = std::move(out.read_end);
  process.error_ = std::move(error.read_end);
  process.events_ = std::move(events.read_end);
  process.report_ = std::move(report.read_end);
  process.control_ = std::move(control.ours);
  for (auto* end : {&out.write_end, &error.write_end, &events.write_end, &report.write_end, &control.guards}) {
    end->reset();
  }
  ASSAY_CHECK(process.await_start());
  return process;
}

Result<void> GuardedProcess::await_start() {
  const auto deadline = SystemClock().now() + kStartTime;
  std::string line;
  // Byte by byte: the report may follow already, and has to stay in the pipe for `report_fd` to be readable.
  for (char byte = 0; byte != '\n';) {
    if (!wait_readable(report_.get(), deadline)) {
      ::kill(guard_, SIGKILL);
      return Error{.kind = ErrorKind::timeout,
                   .message = "the program did not start within 10 s",
                   .hint = "The file system that holds it may hang."};
    }
    const ssize_t got = ::read(report_.get(), &byte, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return guard_died();
    line += byte;
  }
  ASSAY_TRY(workload_, parse_start_line(line));
  return {};
}

GuardedProcess::GuardedProcess(GuardedProcess&& other) noexcept
    : out_(std::move(other.out_)),
      error_(std::move(other.error_)),
      events_(std::move(other.events_)),
      report_(std::move(other.report_)),
      control_(std::move(other.control_)),
      guard_(std::exchange(other.guard_, -1)),
      workload_(std::exchange(other.workload_, -1)),
      grace_(other.grace_),
      report_text_(std::move(other.report_text_)),
      report_ended_(other.report_ended_) {}

GuardedProcess::~GuardedProcess() {
  if (guard_ < 0) return;
  control_.reset();
  wait_for_guard();
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Waits for the end of the report pipe, which the guard alone holds open. Meanwhile the output is thrown away: a
/// workload that is blocked on a full pipe could not react to SIGTERM.
void GuardedProcess::wait_for_guard() {
  const auto deadline = SystemClock().now() + std::max(grace_, Nanos(0)) + kKillTime + std::chrono::seconds(5);
  std::array<FileDescriptor*, 4> sources = {&report_, &out_, &error_, &events_};
  while (report_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    if (left.count() <= 0) {
      ::kill(guard_, SIGKILL);
      return;
    }
    std::array<struct pollfd, 4> watched{};
    for (std::size_t i = 0; i < sources.size(); ++i) {
      watched[i] = {.fd = sources[i]->get(), .events = POLLIN, .revents = 0};
    }
    ::poll(watched.data(), watched.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (watched[i].revents != 0 && !discard(watched[i].fd)) sources[i]->reset();
    }
  }
}

void GuardedProcess::command(const GuardCommand& command) {
  // A guard that is gone needs no command, so failure is fine.
  if (control_) ::send(control_.get(), &command, sizeof command, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void GuardedProcess::interrupt(std::optional<Nanos> grace) {
  command({GuardCommand::What::interrupt, grace.has_value(), grace.value_or(Nanos())});
}
void GuardedProcess::stop(std::optional<Nanos> grace) {
  command({GuardCommand::What::terminate, grace.has_value(), grace.value_or(Nanos())});
}
void GuardedProcess::kill_now() { command({GuardCommand::What::kill}); }

void GuardedProcess::read_report() {
  std::array<char, 4096> buffer;
  while (!report_ended_) {
    const ssize_t got = ::read(report_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    report_ended_ = got <= 0;
    if (got > 0) report_text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Result<std::optional<GuardReport>> GuardedProcess::poll_report() {
  const bool had_ended = report_ended_;
  read_report();
  const auto end = report_text_.find('\n');
  if (end != std::string::npos) {
    ASSAY_TRY(auto report, parse_report_line(std::string_view(report_text_).substr(0, end)));
    return std::optional(std::move(report));
  }
  if (!report_ended_) return std::optional<GuardReport>();
  // The kernel ends the first process together with the guard. Its process group is the best we can reach of the rest.
  if (!had_ended && workload_ > 0) ::kill(-workload_, SIGKILL);
  return guard_died();
}

}  // namespace assay
