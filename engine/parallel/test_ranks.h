#pragma once

// For tests: the ranks of a run as real processes, which the test may kill, stop and read from.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "parallel/rank_place.h"
#include "parallel/sockets.h"

namespace assay::engine {

/// What the body of a rank is given.
struct TestRank {
  RankPlace place;
  int listening_fd = -1;
  int output = -1;

  /// For TestRanks::said and wait_for.
  void say(const std::string& text) const {
    const std::string line = text + '\n';
    EXPECT_EQ(::write(output, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
};

/// Forks `started` ranks of a run of `size`. The test process itself must never use torch: what is forked has no
/// threads but the one that forks. An EXPECT that fails in a rank makes its exit code 1.
class TestRanks {
 public:
  using Body = std::function<void(const TestRank&)>;

  TestRanks(int size, const Body& body) : TestRanks(size, size, body) {}
  TestRanks(int size, int started, const Body& body) {
    Fd listening = listen_on("127.0.0.1", 0);
    TestRank rank;
    rank.place.size = rank.place.local_size = size;
    rank.place.master_port = port_of(listening.get());
    rank.place.token = "test";
    for (int i = 0; i < started; ++i) {
      int ends[2];
      EXPECT_EQ(::pipe(ends), 0);
      std::cout.flush();
      std::fflush(nullptr);
      const pid_t pid = ::fork();
      if (pid == 0) {
        rank.place.rank = rank.place.local_rank = i;
        rank.output = ends[1];
        if (i != 0) listening.close();
        rank.listening_fd = listening.release();
        run(rank, body);
      }
      ::close(ends[1]);
      ranks_.push_back({pid, Fd(ends[0]), {}});
    }
  }
  ~TestRanks() {
    for (auto& rank : ranks_) {
      if (rank.pid <= 0) continue;
      ::kill(rank.pid, SIGKILL);
      ::waitpid(rank.pid, nullptr, 0);
    }
  }
  TestRanks(const TestRanks&) = delete;
  TestRanks& operator=(const TestRanks&) = delete;

  void signal(int rank, int number) { ::kill(ranks_[static_cast<std::size_t>(rank)].pid, number); }

  /// Until the rank has said so.
  void wait_for(int rank, const std::string& text) {
    auto& of = ranks_[static_cast<std::size_t>(rank)];
    while (of.said.find(text) == std::string::npos) {
      if (!read_more(of)) {
        ADD_FAILURE() << "rank " << rank << " never said '" << text << "', but: " << of.said;
        return;
      }
    }
  }

  /// All it said, once it has ended.
  std::string said(int rank) {
    auto& of = ranks_[static_cast<std::size_t>(rank)];
    while (read_more(of)) {
    }
    return of.said;
  }

  /// Of one rank: its exit code, or minus the signal that ended it.
  int exit_code(int rank) {
    said(rank);
    auto& of = ranks_[static_cast<std::size_t>(rank)];
    int status = 0;
    EXPECT_EQ(::waitpid(of.pid, &status, 0), of.pid);
    of.pid = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  void expect_success() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      EXPECT_EQ(exit_code(static_cast<int>(rank)), 0) << "rank " << rank;
    }
  }

 private:
  struct Rank {
    pid_t pid;
    Fd output;
    std::string said;
  };

  [[noreturn]] static void run(const TestRank& rank, const Body& body) {
    try {
      body(rank);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank.place.rank << ": " << error.what();
    }
    std::cout.flush();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }

  /// False at the end, or if nothing comes for a minute: then a rank hangs, and the test must not.
  static bool read_more(Rank& rank) {
    pollfd ready{.fd = rank.output.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 60'000) <= 0) {
      ADD_FAILURE() << "a rank hangs; it said: " << rank.said;
      return false;
    }
    char buffer[4096];
    const ssize_t count = ::read(rank.output.get(), buffer, sizeof(buffer));
    if (count > 0) rank.said.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  std::vector<Rank> ranks_;
};

}  // namespace assay::engine
