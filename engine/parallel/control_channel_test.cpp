#include "parallel/control_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "parallel/test_ranks.h"

namespace assay::engine {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using testing::HasSubstr;
using testing::Not;

std::unique_ptr<ControlChannel> join(const TestRank& rank, ControlOptions options = {}) {
  options.listening_fd = rank.listening_fd;
  return ControlChannel::join(rank.place, options);
}

/// Says what the failure was, whether this rank reports it, and its kind.
void expect_loss(const TestRank& rank, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "rank " << rank.place.rank << " noticed nothing";
  } catch (const PeerFailure& failure) {
    rank.say(failure.kind() + ": " + failure.what() + (failure.reports() ? " [reports]" : " [quiet]"));
  }
}

/// Gathers until somebody is lost.
void gather_for_ever(const TestRank& rank, ControlChannel& channel) {
  channel.gather(rank.place.rank);
  rank.say("ready");
  expect_loss(rank, [&] {
    while (true) channel.gather(rank.place.rank);
  });
  expect_loss(rank, [&] { channel.throw_if_lost(); });  // and so does every later call
}

TEST(ControlChannel, GathersInTheOrderOfRanks) {
  TestRanks(4, [](const TestRank& rank) {
    const auto channel = join(rank);
    for (int round = 0; round < 50; ++round) {
      const auto values = channel->gather(object{{"rank", rank.place.rank}, {"round", round}});
      ASSERT_EQ(values.size(), 4U);
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], (boost::json::value(object{{"rank", i}, {"round", round}})));
      }
    }
    EXPECT_EQ(channel->hosts().size(), 4U);
    EXPECT_EQ(channel->address(), "127.0.0.1");
    channel->leave();
  }).expect_success();
}

TEST(ControlChannel, HandsOutValuesToThoseWhoCameBeforeThem) {
  TestRanks(3, [](const TestRank& rank) {
    const auto channel = join(rank);
    if (rank.place.rank == 1) {
      channel->gather(nullptr);
      channel->put("id", "0123");
    } else if (rank.place.rank == 2) {
      // Asks while nobody has put it yet: rank 1 is still waiting for this rank's value.
      std::thread asks([&] { EXPECT_EQ(channel->get("id"), "0123"); });
      channel->gather(nullptr);
      asks.join();
    } else {
      channel->gather(nullptr);
    }
    EXPECT_EQ(channel->get("id"), "0123");
    channel->leave();
  }).expect_success();
}

TEST(ControlChannel, RefusesValuesThatAreTooLarge) {
  TestRanks(2, [](const TestRank& rank) {
    const auto channel = join(rank);
    EXPECT_THROW(channel->gather(boost::json::string(channel->largest_value(), 'x')), std::length_error);
    const auto values = channel->gather(boost::json::string(channel->largest_value() - 2, 'x'));
    EXPECT_EQ(values[1].as_string().size(), channel->largest_value() - 2);
    EXPECT_THROW(channel->put("k", std::string(kLargestMessage, 'x')), std::length_error);
    channel->leave();
  }).expect_success();
}

TEST(ControlChannel, NamesRanksThatNeverJoin) {
  TestRanks ranks(4, 2, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.join = 1s;
    expect_loss(rank, [&] { join(rank, options); });
  });
  EXPECT_THAT(ranks.said(0), HasSubstr("lost_peer: ranks 2 and 3 of 4 did not join within 1 s [reports]"));
  EXPECT_THAT(ranks.said(1), HasSubstr("lost_peer: ranks 2 and 3 of 4 did not join within 1 s [quiet]"));
  ranks.expect_success();
}

TEST(ControlChannel, SaysThatRank0CannotBeReached) {
  TestRanks ranks(2, 2, [](const TestRank& rank) {
    if (rank.place.rank == 0) return;  // ends, and its socket with it
    ControlOptions options;
    options.limits.join = 500ms;
    expect_loss(rank, [&] { join(rank, options); });
  });
  EXPECT_THAT(ranks.said(1), HasSubstr("lost_peer: rank 0 of 2"));
  ranks.expect_success();
}

/// Sends bytes to rank 0 as somebody else and returns the answer, once rank 0 has closed the connection.
std::string answer_to(const TestRank& rank, const std::string& bytes) {
  std::string problem;
  const Fd fd = connect_to("127.0.0.1", rank.place.master_port, std::chrono::steady_clock::now() + 10s, problem);
  EXPECT_TRUE(fd.valid()) << problem;
  EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  std::string answer;
  while (true) {
    pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 30'000) <= 0) {
      ADD_FAILURE() << "rank 0 keeps a stranger's connection open";
      return answer;
    }
    char buffer[4096];
    const ssize_t count = ::recv(fd.get(), buffer, sizeof(buffer), 0);
    if (count <= 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string framed(const object& message) {
  const std::string text = boost::json::serialize(message);
  std::string frame(4, '\0');
  frame[2] = static_cast<char>(text.size() >> 8);
  frame[3] = static_cast<char>(text.size() & 255);
  return frame + text;
}

TEST(ControlChannel, RefusesStrangersAndIsNotHarmedByThem) {
  TestRanks(2, [](const TestRank& rank) {
    if (rank.place.rank == 1) {
      object stranger{{"type", "join"}, {"token", "test"}, {"version", ASSAY_ENGINE_VERSION},
                      {"rank", 1},      {"size", 2},       {"host", "h"}};
      const auto with = [&](const char* key, const boost::json::value& value) {
        object changed = stranger;
        changed[key] = value;
        return framed(changed);
      };
      EXPECT_EQ(answer_to(rank, "GET / HTTP/1.1\r\n\r\n"), "");
      EXPECT_EQ(answer_to(rank, std::string("\0\0\0\4oops", 8)), "");
      EXPECT_EQ(answer_to(rank, std::string("\0\0\0\2[]", 6)), "");
      EXPECT_EQ(answer_to(rank, std::string("\0\1\0\0", 4)), "");  // longer than a join may be
      EXPECT_EQ(answer_to(rank, framed({{"type", "leave"}})), "");
      EXPECT_EQ(answer_to(rank, framed({{"type", "join"}})), "");
      EXPECT_EQ(answer_to(rank, with("rank", "one")), "");
      EXPECT_THAT(answer_to(rank, with("token", "guess")), HasSubstr("another run"));
      EXPECT_THAT(answer_to(rank, with("version", "0.0.0")), HasSubstr("assay-engine 0.0.0"));
      EXPECT_THAT(answer_to(rank, with("size", 3)), HasSubstr("knows of 2 ranks"));
      EXPECT_THAT(answer_to(rank, with("rank", 2)), HasSubstr("knows of 2 ranks"));
      EXPECT_THAT(answer_to(rank, with("rank", 0)), HasSubstr("joined as that rank already"));
    }
    const auto channel = join(rank);
    EXPECT_EQ(channel->gather(rank.place.rank).size(), 2U);
    if (rank.place.rank == 1) {
      // Nobody listens any more once all are there (and the test process has closed its copy of the socket).
      const auto limit = std::chrono::steady_clock::now() + 30s;
      std::string problem;
      while (connect_to("127.0.0.1", rank.place.master_port, std::chrono::steady_clock::now(), problem).valid()) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
        std::this_thread::sleep_for(10ms);
      }
    }
    channel->leave();
  }).expect_success();
}

TEST(ControlChannel, TellsAProcessThatItWasRefused) {
  TestRanks ranks(2, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.join = 1s;
    if (rank.place.rank == 0) {
      expect_loss(rank, [&] { join(rank, options); });
      return;
    }
    TestRank other = rank;
    other.place.token = "other";
    try {
      join(other, options);
    } catch (const Failure& failure) {
      rank.say(failure.kind() + ": " + failure.what());
    }
  });
  EXPECT_THAT(ranks.said(1), HasSubstr("bad_spec: rank 0 at 127.0.0.1 refused rank 1 of 2: it belongs to another run"));
  EXPECT_THAT(ranks.said(0), HasSubstr("rank 1 of 2 did not join"));
  ranks.expect_success();
}

TEST(ControlChannel, NamesARankThatWasKilled) {
  TestRanks ranks(4, [](const TestRank& rank) { gather_for_ever(rank, *join(rank)); });
  ranks.wait_for(2, "ready");
  ranks.signal(2, SIGKILL);
  const std::string host = this_host();
  EXPECT_THAT(ranks.said(0), HasSubstr("lost_peer: rank 2 of 4 on " + host + " died [reports]"));
  EXPECT_THAT(ranks.said(1), HasSubstr("lost_peer: rank 2 of 4 on " + host + " died [quiet]"));
  EXPECT_THAT(ranks.said(3), HasSubstr("lost_peer: rank 2 of 4 on " + host + " died [quiet]"));
  EXPECT_EQ(ranks.exit_code(2), -SIGKILL);
}

TEST(ControlChannel, LetsTheLowestRankReportTheDeathOfRank0) {
  TestRanks ranks(3, [](const TestRank& rank) { gather_for_ever(rank, *join(rank)); });
  ranks.wait_for(0, "ready");
  ranks.signal(0, SIGKILL);
  EXPECT_THAT(ranks.said(1), HasSubstr("lost_peer: rank 0 of 3 on " + this_host() + " died [reports]"));
  EXPECT_THAT(ranks.said(2), HasSubstr("lost_peer: rank 0 of 3 on " + this_host() + " died [quiet]"));
}

TEST(ControlChannel, TakesAStoppedRankForLost) {
  for (const int stopped : {0, 2}) {
    TestRanks ranks(3, [](const TestRank& rank) {
      ControlOptions options;
      options.limits.heartbeat = 300ms;
      options.limits.silence = 2s;
      gather_for_ever(rank, *join(rank, options));
    });
    ranks.wait_for(stopped, "ready");
    ranks.signal(stopped, SIGSTOP);
    const std::string expected =
        "lost_peer: rank " + std::to_string(stopped) + " of 3 on " + this_host() + " has given no sign of life for 2 s";
    EXPECT_THAT(ranks.said(1), HasSubstr(expected));
    ranks.signal(stopped, SIGKILL);
  }
}

TEST(ControlChannel, SurvivesThatAllRanksAreStoppedTogether) {
  TestRanks ranks(3, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.heartbeat = 300ms;
    options.limits.silence = 2s;
    const auto channel = join(rank, options);
    rank.say("ready");
    const auto begin = std::chrono::steady_clock::now();
    do {
      channel->gather(nullptr);
      std::this_thread::sleep_for(20ms);
    } while (channel->gather(std::chrono::steady_clock::now() - begin < 4s)[0] == true);
    channel->leave();
  });
  for (const int rank : {0, 1, 2}) ranks.wait_for(rank, "ready");
  for (const int rank : {0, 1, 2}) ranks.signal(rank, SIGSTOP);
  std::this_thread::sleep_for(2500ms);  // longer than the silence that makes a rank lost
  for (const int rank : {2, 1, 0}) ranks.signal(rank, SIGCONT);
  ranks.expect_success();
}

TEST(ControlChannel, PassesOnWhyARankFailed) {
  TestRanks ranks(3, [](const TestRank& rank) {
    const auto channel = join(rank);
    if (rank.place.rank == 1) {
      channel->gather(nullptr);
      // Whatever bytes a message has, it must arrive.
      channel->fail(Failure("oom", "out of \xFF memory" + std::string(1 << 21, '.'), "Use a smaller batch."));
      return;
    }
    gather_for_ever(rank, *channel);
  });
  EXPECT_THAT(ranks.said(0), HasSubstr("oom: rank 1 of 3 on " + this_host() + ": out of \xFF memory..."));
  EXPECT_THAT(ranks.said(0), HasSubstr("[reports]"));
  EXPECT_THAT(ranks.said(2), HasSubstr("[quiet]"));
  EXPECT_THAT(ranks.said(2), Not(HasSubstr("died")));
  ranks.expect_success();
}

TEST(ControlChannel, LeavesTheReportToRank0ThatToldWhyItFailed) {
  TestRanks ranks(2, [](const TestRank& rank) {
    const auto channel = join(rank);
    if (rank.place.rank == 0) return channel->fail(Failure("nan", "the loss is not finite"));
    expect_loss(rank, [&] { channel->gather(nullptr); });
  });
  EXPECT_THAT(ranks.said(1), HasSubstr("nan: rank 0 of 2 on " + this_host() + ": the loss is not finite [quiet]"));
  ranks.expect_success();
}

TEST(ControlChannel, EndsAProcessWhoseMainThreadIsStuck) {
  TestRanks ranks(2, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.grace = 200ms;
    options.when_stuck = [&](const PeerFailure& failure) {
      rank.say(failure.what());
      ::_exit(42);
    };
    const auto channel = join(rank, options);
    rank.say("ready");
    while (true) ::pause();
  });
  ranks.wait_for(1, "ready");
  ranks.signal(1, SIGKILL);
  EXPECT_THAT(ranks.said(0), HasSubstr("rank 1 of 2"));
  EXPECT_EQ(ranks.exit_code(0), 42);
}

TEST(ControlChannel, LetsRanksEndWhenTheyLikeOnceAllHaveLeft) {
  TestRanks ranks(3, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.grace = 0ms;
    options.when_stuck = [](const PeerFailure&) { ::_exit(42); };
    auto channel = join(rank, options);
    channel->leave();
    if (rank.place.rank == 0) channel.reset();
    std::this_thread::sleep_for(rank.place.rank * 300ms);
    EXPECT_TRUE(!channel || !channel->is_lost());
  });
  ranks.expect_success();
}

TEST(ControlChannel, DoesNotMissADeathWhileOthersAreLeaving) {
  TestRanks ranks(3, [](const TestRank& rank) {
    const auto channel = join(rank);
    rank.say("ready");
    if (rank.place.rank != 2) return expect_loss(rank, [&] { channel->leave(); });
    while (true) ::pause();
  });
  ranks.wait_for(2, "ready");
  ranks.signal(2, SIGKILL);
  EXPECT_THAT(ranks.said(0), HasSubstr("rank 2 of 3"));
  EXPECT_THAT(ranks.said(1), HasSubstr("rank 2 of 3"));
}

}  // namespace
}  // namespace assay::engine
