#include "parallel/local_ranks.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "formats/failure.h"
#include "parallel/message_stream.h"
#include "parallel/sockets.h"

namespace assay::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Body = std::function<int(const RankPlace&, int)>;

constexpr std::array kEnding = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
constexpr int kBySignal = 128;  // exit codes above it, as shells have them

std::string random_token() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Failure("io", std::string("asking for random numbers: ") + std::strerror(errno));
  }
  return hex_of(bytes.data(), bytes.size());
}

/// While it lives, the signals that the supervisor waits for are held back, so that none is lost between two waits.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGCHLD);
    for (const int signal : kEnding) ::sigaddset(&set_, signal);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
    // Somebody may have started us with children ignored; then nobody could be waited for.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &child_before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { release(); }

  void release() const {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  /// The next signal, or 0 after a while without one.
  int next() const {
    const timespec while_waiting{.tv_sec = 0, .tv_nsec = 200'000'000};
    const int signal = ::sigtimedwait(&set_, nullptr, &while_waiting);
    return signal < 0 ? 0 : signal;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  struct sigaction child_before_{};
};

int exit_code_of(const RankPlace& place, const Body& body, int listening_fd) {
  try {
    return body(place, listening_fd);
  } catch (const Failure& failure) {
    std::cerr << "assay-engine: rank " << place.rank << ": " << failure.what() << '\n';
    return exit_code_for(failure.kind());
  } catch (const std::exception& error) {
    std::cerr << "assay-engine: rank " << place.rank << ": " << error.what() << '\n';
    return 1;
  }
}

[[noreturn]] void become_rank(const RankPlace& place, const Body& body, Fd listening, pid_t supervisor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(1);  // it died before we asked to be told
  if (place.rank != 0) listening.close();
  const int code = exit_code_of(place, body, listening.release());
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  // Not exit: static objects of the supervisor's copy, and threads that a lost peer left stuck, are nobody's concern.
  ::_exit(code);
}

/// The processes of the ranks, until the last has ended.
class Ranks {
 public:
  explicit Ranks(const LocalRankOptions& options) : options_(options) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    send(SIGKILL);
    for (const pid_t pid : pids_) {
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    }
  }

  void add(pid_t pid) { pids_.push_back(pid); }

  int supervise(const HeldSignals& signals) {
    while (any_left()) {
      const int signal = signals.next();
      if (std::find(kEnding.begin(), kEnding.end(), signal) != kEnding.end()) end_all();
      collect();
      const auto now = SteadyClock::now();
      if (now >= end_at_ && kill_at_ == kNever) end_all();
      if (now >= kill_at_) send(SIGKILL);
    }
    return first_failure_;
  }

 private:
  static constexpr auto kNever = SteadyClock::time_point::max();

  bool any_left() const {
    return std::any_of(pids_.begin(), pids_.end(), [](pid_t pid) { return pid > 0; });
  }

  void send(int signal) const {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, signal);
    }
  }

  void end_all() {
    send(SIGTERM);
    kill_at_ = std::min(kill_at_, SteadyClock::now() + options_.before_kill);
  }

  void collect() {
    int failed = 0;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      int status = 0;
      if (pids_[rank] <= 0 || ::waitpid(pids_[rank], &status, WNOHANG) != pids_[rank]) continue;
      pids_[rank] = 0;
      if (!WIFSIGNALED(status)) {
        if (failed == 0) failed = WEXITSTATUS(status);
        continue;
      }
      // Of several at the same time the killed one was first: the others ended because of it.
      if (failed <= kBySignal) failed = kBySignal + WTERMSIG(status);
      if (kill_at_ != kNever) continue;  // by ourselves
      std::cerr << "assay-engine: rank " << rank << " of " << pids_.size() << " was ended by signal "
                << WTERMSIG(status) << " (" << ::strsignal(WTERMSIG(status)) << ")\n";
    }
    if (failed == 0 || first_failure_ != 0) return;
    first_failure_ = failed;
    end_at_ = SteadyClock::now() + options_.patience;
  }

  const LocalRankOptions options_;
  std::vector<pid_t> pids_;  ///< by rank; 0 once it has ended
  int first_failure_ = 0;
  SteadyClock::time_point end_at_ = kNever;
  SteadyClock::time_point kill_at_ = kNever;
};

}  // namespace

int run_local_ranks(int count, const Body& body, const LocalRankOptions& options) {
  Fd listening = listen_on("127.0.0.1", 0);
  RankPlace place;
  place.origin = RankPlace::Origin::local;
  place.size = place.local_size = count;
  place.master_port = port_of(listening.get());
  place.token = random_token();
  std::cout.flush();  // or every rank would write it again
  std::cerr.flush();
  std::fflush(nullptr);

  const HeldSignals signals;
  Ranks ranks(options);
  const pid_t supervisor = ::getpid();
  for (int rank = 0; rank < count; ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      throw Failure("io", "rank " + std::to_string(rank) + " of " + std::to_string(count) +
                              " cannot be started: " + std::strerror(errno));
    }
    if (pid == 0) {
      signals.release();
      place.rank = place.local_rank = rank;
      become_rank(place, body, std::move(listening), supervisor);
    }
    ranks.add(pid);
  }
  listening.close();
  return ranks.supervise(signals);
}

}  // namespace assay::engine
