#include "parallel/local_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "formats/failure.h"
#include "parallel/control_channel.h"
#include "parallel/sockets.h"

namespace assay::engine {
namespace {

using namespace std::chrono_literals;

TEST(LocalRanks, GivesEveryRankItsPlace) {
  const int code = run_local_ranks(3, [](const RankPlace& place, int listening_fd) {
    EXPECT_EQ(place.size, 3);
    EXPECT_EQ(place.local_size, 3);
    EXPECT_EQ(place.local_rank, place.rank);
    EXPECT_EQ(place.origin, RankPlace::Origin::local);
    EXPECT_EQ(place.token.size(), 32U);
    EXPECT_EQ(listening_fd >= 0, place.rank == 0);
    const auto channel = ControlChannel::join(place, {.listening_fd = listening_fd});
    const auto ranks = channel->gather(place.rank);
    EXPECT_EQ(ranks[2], 2);
    channel->leave();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(LocalRanks, EndWithTheCodeOfTheFirstFailure) {
  const int code = run_local_ranks(3, [](const RankPlace& place, int listening_fd) {
    const auto channel = ControlChannel::join(place, {.listening_fd = listening_fd});
    if (place.rank == 1) return 3;
    try {
      channel->gather(nullptr);
    } catch (const PeerFailure&) {
      std::this_thread::sleep_for(500ms);
      return 7;
    }
    return 0;
  });
  EXPECT_EQ(code, 3);
}

TEST(LocalRanks, TurnFailuresAndSignalsIntoExitCodes) {
  EXPECT_EQ(run_local_ranks(1, [](const RankPlace&, int) -> int { throw Failure("missing_file", "no such file"); }), 2);
  EXPECT_EQ(run_local_ranks(1, [](const RankPlace&, int) -> int { throw std::runtime_error("oops"); }), 1);
  EXPECT_EQ(run_local_ranks(1, [](const RankPlace&, int) { return ::raise(SIGKILL); }), 128 + SIGKILL);
}

TEST(LocalRanks, EndThoseThatDoNotNoticeAFailure) {
  const int code = run_local_ranks(3,
                                   [](const RankPlace& place, int) {
                                     if (place.rank == 0) return 5;
                                     if (place.rank == 1) std::signal(SIGTERM, SIG_IGN);  // only SIGKILL helps
                                     while (true) ::pause();
                                   },
                                   {.patience = 100ms, .before_kill = 300ms});
  EXPECT_EQ(code, 5);
}

/// A supervisor in a process of its own, and the process ids of its ranks.
class Supervised {
 public:
  Supervised(int ranks, bool stubborn) {
    // Orphans come to us, so that it is seen whether they have ended: a zombie nobody collects looks alive.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) ::_exit(supervise(ranks, stubborn, ends[1]));
    ::close(ends[1]);
    const Fd input(ends[0]);
    for (int i = 0; i < ranks; ++i) {
      pid_t rank = 0;
      pollfd ready{.fd = input.get(), .events = POLLIN, .revents = 0};
      EXPECT_EQ(::poll(&ready, 1, 30'000), 1);
      EXPECT_EQ(::read(input.get(), &rank, sizeof(rank)), static_cast<ssize_t>(sizeof(rank)));
      ranks_.push_back(rank);
    }
  }
  ~Supervised() {
    for (const pid_t rank : ranks_) {
      if (alive(rank)) ::kill(rank, SIGKILL);
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  int signal_and_wait(int number) {
    ::kill(pid_, number);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// Waits for orphans to end; false if one does not.
  bool all_gone() {
    for (int i = 0; i < 300; ++i) {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      if (std::none_of(ranks_.begin(), ranks_.end(), &Supervised::alive)) return true;
      std::this_thread::sleep_for(100ms);
    }
    return false;
  }
  static bool alive(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

 private:
  static int supervise(int ranks, bool stubborn, int output) {
    return run_local_ranks(ranks,
                           [=](const RankPlace& place, int listening_fd) {
                             if (stubborn) std::signal(SIGTERM, SIG_IGN);
                             const auto channel = ControlChannel::join(place, {.listening_fd = listening_fd});
                             channel->gather(nullptr);
                             const pid_t self = ::getpid();
                             EXPECT_EQ(::write(output, &self, sizeof(self)), static_cast<ssize_t>(sizeof(self)));
                             while (true) ::pause();
                             return 0;
                           },
                           {.before_kill = 500ms});
  }

  pid_t pid_ = 0;
  std::vector<pid_t> ranks_;
};

TEST(LocalRanks, LeaveNoProcessWhenTheSupervisorIsAskedToEnd) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    Supervised supervised(3, false);
    EXPECT_EQ(supervised.signal_and_wait(number), 128 + SIGTERM);
    EXPECT_TRUE(supervised.all_gone());
  }
}

TEST(LocalRanks, LeaveNoProcessThatIgnoresSigterm) {
  Supervised supervised(2, true);
  EXPECT_EQ(supervised.signal_and_wait(SIGTERM), 128 + SIGKILL);
  EXPECT_TRUE(supervised.all_gone());
}

TEST(LocalRanks, DieWithTheSupervisor) {
  Supervised supervised(3, true);
  EXPECT_EQ(supervised.signal_and_wait(SIGKILL), -SIGKILL);
  EXPECT_TRUE(supervised.all_gone());
}

}  // namespace
}  // namespace assay::engine
