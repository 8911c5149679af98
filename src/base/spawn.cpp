#include "base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace assay {
namespace {

// Source descriptors are moved to this number and above before they are put into place, so that no target overwrites
// a source that is still needed.
constexpr int kFirstSafeDescriptor = 16;

enum class Stage : int { folder, descriptors, exec };

/// What a child that could not become the program sends back.
struct Failure {
  Stage stage = Stage::exec;
  int error = 0;
  std::size_t candidate = 0;  ///< which of the paths
};

/// All that the child needs, prepared before the fork: between fork and exec only async-signal-safe calls are allowed,
/// since another thread may have held the allocator's lock.
struct ChildPlan {
  std::vector<std::string> candidates;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<Inherited> descriptors;
  const char* folder = nullptr;
  bool own_session = false;
  bool dies_with_parent = false;
  pid_t parent = 0;
  rlim_t descriptor_limit = 0;
  int failure_fd = -1;
};

[[noreturn]] void give_up(const ChildPlan& plan, Stage stage, std::size_t candidate = 0) {
  const Failure failure{stage, errno, candidate};
  // Below PIPE_BUF a write is whole; if the parent is gone there is nobody to tell.
  [[maybe_unused]] const ssize_t written = ::write(plan.failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

/// Everything above the standard streams closes at exec, also what a library opened without O_CLOEXEC.
void close_all_on_exec(rlim_t descriptor_limit) {
  constexpr unsigned kCloseRangeCloexec = 1U << 2;
  if (::syscall(SYS_close_range, 3U, ~0U, kCloseRangeCloexec) == 0) return;
  // Before Linux 5.11. Bounded, since the limit may be a billion.
  const int last = static_cast<int>(std::min<rlim_t>(descriptor_limit, 65536));
  for (int fd = 3; fd < last; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
}

void reset_signals() {
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void place_descriptors(ChildPlan& plan) {
  close_all_on_exec(plan.descriptor_limit);
  const int failure_fd = ::fcntl(plan.failure_fd, F_DUPFD_CLOEXEC, kFirstSafeDescriptor);
  if (failure_fd < 0) give_up(plan, Stage::descriptors);
  plan.failure_fd = failure_fd;
  for (auto& [from, to] : plan.descriptors) {
    from = ::fcntl(from, F_DUPFD_CLOEXEC, kFirstSafeDescriptor);
    if (from < 0) give_up(plan, Stage::descriptors);
  }
  for (const auto& [from, to] : plan.descriptors) {
    if (::dup2(from, to) < 0) give_up(plan, Stage::descriptors);
  }
}

/// Tries the paths in turn as shells do: what is not there is passed over, what may not be run is remembered. A folder
/// of the PATH that we may not look into is passed over, too: whoever gives a run to another user hands its own PATH
/// on.
[[noreturn]] void execute_first(const ChildPlan& plan) {
  int remembered = ENOENT;
  std::size_t remembered_at = 0;
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    ::execve(plan.candidates[i].c_str(), plan.arguments.data(), plan.environment.data());
    if (errno == EACCES) {
      struct stat info{};
      if (plan.candidates.size() > 1 && ::stat(plan.candidates[i].c_str(), &info) != 0) continue;
      remembered = EACCES;
      remembered_at = i;
    } else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT) {
      give_up(plan, Stage::exec, i);
    }
  }
  errno = remembered;
  give_up(plan, Stage::exec, remembered_at);
}

[[noreturn]] void become_program(ChildPlan& plan) {
  if (plan.dies_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // it ended before we asked
  }
  if (plan.own_session) ::setsid();
  place_descriptors(plan);
  if (plan.folder != nullptr && ::chdir(plan.folder) != 0) give_up(plan, Stage::folder);
  reset_signals();
  execute_first(plan);
}

std::string_view search_path(const std::vector<std::string>& environment) {
  for (const auto& entry : environment) {
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

std::vector<std::string> candidates_for(const std::string& program, const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> candidates;
  std::string_view rest = search_path(environment);
  for (;;) {
    const auto colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    candidates.push_back(folder.empty() ? "./" + program : fmt::format("{}/{}", folder, program));
    if (colon == std::string_view::npos) return candidates;
    rest.remove_prefix(colon + 1);
  }
}

/// The first 256 bytes, which is as far as the kernel looks for "#!".
std::string beginning_of(const fs::path& path) {
  std::array<char, 256> buffer;
  const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file) return {};
  const ssize_t got = ::read(file->get(), buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

Error bad_interpreter(const fs::path& path) {
  const std::string name = printable(path.string());
  const std::string beginning = beginning_of(path);
  if (!beginning.starts_with("#!")) {
    return Error{
        .kind = ErrorKind::missing_file,
        .message = fmt::format("'{}' cannot run here: the loader it was built for is not on this machine", name),
        .hint = "It was probably built for another system; rebuild it here."};
  }
  const std::string line = beginning.substr(0, beginning.find('\n'));
  const auto first = line.find_first_not_of(" \t", 2);
  const std::string interpreter =
      first == std::string::npos ? "" : line.substr(first, line.find_first_of(" \t\r", first) - first);
  Error error{.kind = ErrorKind::missing_file,
              .message = fmt::format("'{}' is a script for '{}', which does not exist", name, printable(interpreter)),
              .hint = "Correct its first line, or name the interpreter in the command."};
  if (line.ends_with('\r')) {
    error.message = fmt::format("'{}' is a script with Windows line ends", name);
    error.hint = fmt::format("Convert it: sed -i 's/\\r$//' '{}'", name);
  }
  return error;
}

Error not_found(const std::string& program, const fs::path& folder) {
  const std::string name = printable(program);
  if (program.find('/') != std::string::npos) {
    return Error{.kind = ErrorKind::missing_file,
                 .message = fmt::format("there is no program '{}'", name),
                 .hint = "Check the path; a relative one counts from the folder the command runs in."};
  }
  std::error_code ignored;
  const bool is_here = !program.empty() && fs::is_regular_file(folder / program, ignored);
  return Error{.kind = ErrorKind::missing_file,
               .message = fmt::format("there is no program '{}' on the PATH", name),
               .hint = is_here ? fmt::format("There is a file of that name in the folder: write './{}'.", name)
                               : "Check the spelling, install it, or give its full path."};
}

Error not_permitted(const fs::path& path) {
  const std::string name = printable(path.string());
  Error error{.kind = ErrorKind::denied,
              .message = fmt::format("'{}' may not be run: permission denied", name),
              .hint =
                  "Check the permissions of the file and of the folders above it, and that the file system is not "
                  "mounted 'noexec'."};
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return error;
  if (S_ISDIR(info.st_mode)) {
    error.message = fmt::format("'{}' is a folder, not a program", name);
    error.hint = "Name the program inside it.";
  } else if ((info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) {
    error.message = fmt::format("'{}' is not executable", name);
    error.hint = fmt::format("Allow it with: chmod +x '{}', or put its interpreter in front (python3, bash).", name);
  }
  return error;
}

Error explain(const Failure& failure, const SpawnOptions& options, const ChildPlan& plan) {
  const std::string& program = options.arguments.front();
  if (failure.stage == Stage::folder) {
    return system_error(failure.error,
                        fmt::format("cannot enter the folder '{}'", printable(options.folder->string())));
  }
  if (failure.stage == Stage::descriptors) {
    return system_error(failure.error, fmt::format("cannot pass files on to '{}'", printable(program)));
  }
  const fs::path folder = options.folder.value_or(fs::path());
  const fs::path path = folder / plan.candidates[failure.candidate];
  switch (failure.error) {
    case ENOENT:
    case ENOTDIR:
      for (const auto& candidate : plan.candidates) {
        std::error_code ignored;
        if (fs::is_regular_file(folder / candidate, ignored)) return bad_interpreter(folder / candidate);
      }
      return not_found(program, folder);
    case EACCES:
    case EPERM: return not_permitted(path);
    case ENOEXEC:
      return Error{
          .kind = ErrorKind::bad_file,
          .message = fmt::format("'{}' is not a program that this machine can run", printable(path.string())),
          .hint = "A script needs a first line such as '#!/bin/bash'; a binary must be built for this machine."};
    case E2BIG:
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("the arguments and the environment of '{}' are too long", printable(program)),
                   .hint = "Pass long values in a file."};
    default: return system_error(failure.error, fmt::format("cannot run '{}'", printable(program)));
  }
}

/// Blocks every signal of this thread while it lives: a handler of ours must not run in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  // execve takes them as non-const for historical reasons and changes nothing.
  for (const auto& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Whoever started us may have told the kernel to forget ended children; their exit codes would be lost.
void keep_exit_codes() {
  struct sigaction current{};
  if (::sigaction(SIGCHLD, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

Result<pid_t> spawn(const SpawnOptions& options) {
  ASSAY_CHECK(check_arguments(options.arguments));
  ASSAY_TRY(auto failures, make_pipe());
  keep_exit_codes();

  struct rlimit descriptor_limit{};
  ::getrlimit(RLIMIT_NOFILE, &descriptor_limit);
  ChildPlan plan{.candidates = candidates_for(options.arguments.front(), options.environment),
                 .arguments = pointers_to(options.arguments),
                 .environment = pointers_to(options.environment),
                 .descriptors = options.descriptors,
                 .folder = options.folder ? options.folder->c_str() : nullptr,
                 .own_session = options.own_session,
                 .dies_with_parent = options.dies_with_parent,
                 .parent = ::getpid(),
                 .descriptor_limit = descriptor_limit.rlim_cur,
                 .failure_fd = failures.write_end.get()};
  for (const auto& inherited : plan.descriptors) ASSAY_ASSERT(inherited.to < kFirstSafeDescriptor);

  pid_t child = -1;
  int fork_error = 0;
  {
    const SignalsBlocked blocked;
    child = ::fork();
    if (child == 0) become_program(plan);
    fork_error = errno;
  }
  if (child < 0) {
    return system_error(fork_error, fmt::format("cannot start '{}'", printable(options.arguments.front())));
  }

  failures.write_end.reset();
  Failure failure;
  ssize_t got = 0;
  do {
    got = ::read(failures.read_end.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return child;  // exec has closed the pipe

  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return explain(failure, options, plan);
}

Result<void> check_arguments(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().empty()) {
    return Error{.kind = ErrorKind::usage, .message = "there is no program to run", .hint = "Name one."};
  }
  for (const auto& argument : arguments) {
    if (argument.find('\0') != std::string::npos) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("the argument '{}' holds a NUL byte, which no program can be given",
                                          printable(argument))};
    }
  }
  return {};
}

Result<void> check_environment(const std::map<std::string, std::string>& additions) {
  for (const auto& [name, value] : additions) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'{}' cannot be set as an environment variable", printable(name)),
                   .hint = "A name has no '=', and neither name nor value holds a NUL byte."};
    }
  }
  return {};
}

Result<std::vector<std::string>> merged_environment(const std::map<std::string, std::string>& additions) {
  ASSAY_CHECK(check_environment(additions));
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!additions.contains(std::string(text.substr(0, text.find('='))))) merged.emplace_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

Result<std::vector<std::string>> environment_list(const std::map<std::string, std::string>& variables) {
  ASSAY_CHECK(check_environment(variables));
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "cannot make a pipe");
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<void> make_non_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return system_error(errno, "cannot set a pipe up");
  return {};
}

Result<FileDescriptor> memory_file(std::string_view bytes) {
  FileDescriptor file(::memfd_create("assay", MFD_CLOEXEC));
  if (!file) return system_error(errno, "cannot make a file in memory");
  ASSAY_CHECK(write_all(file.get(), bytes));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

bool wait_readable(int fd, SteadyTime deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    struct pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    const auto timeout = std::clamp<std::int64_t>(left.count(), 0, 60'000);
    if (::poll(&watched, 1, static_cast<int>(timeout)) > 0) return true;
    if (left.count() <= 0) return false;
  }
}

}  // namespace assay
