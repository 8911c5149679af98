
#include <latch>
#include <limits>
#include <thread>

#include "leader/leader_fixture.h"
#include "leader/leader_options.h"
#include "leader/live_hub.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "net/response_stream.h"
#include "net/sse.h"
#include "store/memory/series_memory.h"
#include "store/series_store.h"
#include "store/timed_value.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using Outcome = Leader::Receipt::Outcome;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const auto kMostSeries = static_cast<std::uint32_t>(LeaderOptions().live_series_per_node);

class LeaderIntake : public LeaderTest {
 protected:
  /// A batch with one value of each of so many series, named anew.
  static Batch many_series(const std::string& stream, std::size_t count, const std::string& prefix) {
    Batch batch{.stream = stream, .sequence = 1};
    for (std::size_t i = 0; i < count; ++i) {
      batch.series.push_back({.key = {.name = "x", .labels = {{"n", prefix + std::to_string(i)}}}, .unit = "count"});
    }
    return batch;
  }
  /// The stored value of the one of them with this label; NaN where there is none.
  double stored_of_many(const std::string& label) {
    const auto found = leader_->series().latest({.name = "x", .labels = {{.label = "n", .value = label}}});
    EXPECT_TRUE(found.ok());
    return found && !found->empty() ? found->front().newest.value : std::numeric_limits<double>::quiet_NaN();
  }
};

TEST_F(LeaderIntake, StoresBatchesInOrder) {
  TestAgent agent;
  hello(agent);
  const auto first = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.5), sample_of("gpu.util", 0.9, "GPU-1")});
  clock_.advance(std::chrono::seconds(1));
  const auto second = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.75)});
  const auto receipt = taken(agent, {first, second});
  EXPECT_EQ(receipt.outcome, Outcome::taken);
  EXPECT_EQ(receipt.sequence, 2u);
  EXPECT_EQ(receipt.pause, Nanos{});
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.5, 0.75))));
  EXPECT_THAT(stored("gpu.util"), ElementsAre(Pair("gpu=GPU-1 node=gpu01 ", ElementsAre(0.9))));
  EXPECT_EQ(leader_->status().samples, 3u);
  EXPECT_EQ(status_of("gpu01").series, 2u);
}

TEST_F(LeaderIntake, AnEmptyBodyIsAHeartbeat) {
  TestAgent agent;
  hello(agent);
  clock_.advance(std::chrono::seconds(10));
  ASSERT_EQ(status_of("gpu01").state, NodeState::offline);
  EXPECT_EQ(taken(agent, {}).outcome, Outcome::taken);
  EXPECT_EQ(status_of("gpu01").state, NodeState::online);
}

TEST_F(LeaderIntake, WhatComesTwiceIsTakenOnce) {
  TestAgent agent;
  hello(agent);
  Batch batch = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.5)});
  taken(agent, {batch});
  // The same number with another value: had it been stored again, the value would show.
  batch.samples[0].value = 0.1;
  EXPECT_EQ(taken(agent, {batch}).sequence, 1u);
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.5))));
  EXPECT_EQ(leader_->status().batches, 1u);
}

TEST_F(LeaderIntake, AnUnknownNodeOrStreamMustSayHello) {
  TestAgent agent;
  const auto batch = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.5)});
  EXPECT_EQ(taken(agent, {batch}).outcome, Outcome::needs_hello);
  EXPECT_EQ(leader_->nodes().find("gpu01"), nullptr);
  hello(TestAgent("gpu01", "another"));
  EXPECT_EQ(taken(agent, {batch}).outcome, Outcome::needs_hello);
  hello(agent);
  EXPECT_EQ(taken(agent, {batch}).outcome, Outcome::taken);
}

TEST_F(LeaderIntake, UnknownSeriesMustBeNamedAgain) {
  TestAgent agent;
  hello(agent);
  const auto first = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.5)});
  clock_.advance(std::chrono::seconds(1));
  const auto second = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.6), sample_of("host.load", 3)});
  // The first one is lost: the second counts on a name that the leader has never heard.
  EXPECT_EQ(taken(agent, {second}).outcome, Outcome::needs_names);
  EXPECT_THAT(stored("host.load"), IsEmpty());
  EXPECT_EQ(taken(agent, {agent.with_all_names(first), second}).outcome, Outcome::taken);
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.5, 0.6))));
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(3))));
}

TEST_F(LeaderIntake, AfterARestartTheAgentGoesOn) {
  TestAgent agent;
  hello(agent);
  taken(agent, {agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.5)})});
  open();
  clock_.advance(std::chrono::seconds(1));
  const auto next = agent.batch(clock_.wall(), {sample_of("host.cpu_util", 0.6)});
  EXPECT_EQ(taken(agent, {next}).outcome, Outcome::needs_hello);
  hello(agent);
  EXPECT_EQ(taken(agent, {next}).outcome, Outcome::needs_names);
  EXPECT_EQ(taken(agent, {agent.with_all_names(next)}).outcome, Outcome::taken);
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.5, 0.6))));
}

TEST_F(LeaderIntake, ALiveStreamAndASpooledOneTakeTurns) {
  TestAgent old_life("gpu01", "old");
  TestAgent new_life("gpu01", "new");
  hello(new_life);
  hello(old_life);
  const WallTime past = clock_.wall() - std::chrono::minutes(5);
  // The same numbers mean other series in the other stream.
  taken(new_life, {new_life.batch(clock_.wall(), {sample_of("host.load", 2)})});
  taken(old_life, {old_life.batch(past, {sample_of("host.cpu_util", 0.1), sample_of("host.load", 1)})});
  clock_.advance(std::chrono::seconds(1));
  taken(new_life, {new_life.batch(clock_.wall(), {sample_of("host.load", 3)})});
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(1, 2, 3))));
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.1))));
  // What is filled in later is not what is shown as the newest.
  std::map<std::string, double> newest;
  leader_->nodes().find("gpu01")->for_each_value(
      0, [&](const LiveValue& live) { newest[live.series.key.name] = live.value; });
  EXPECT_EQ(newest["host.load"], 3);
}

TEST_F(LeaderIntake, OfManyStreamsTheLongestUnusedIsForgotten) {
  std::vector<TestAgent> lives;
  for (const char* stream : {"a", "b", "c", "d"}) {
    lives.emplace_back("gpu01", stream);
    hello(lives.back());
    clock_.advance(std::chrono::seconds(1));
    if (lives.size() == 3) taken(lives[0], {lives[0].batch(clock_.wall(), {sample_of("x", 1)})});
  }
  EXPECT_EQ(taken(lives[0], {lives[0].batch(clock_.wall(), {sample_of("x", 1)})}).outcome, Outcome::taken);
  EXPECT_EQ(taken(lives[1], {lives[1].batch(clock_.wall(), {sample_of("x", 1)})}).outcome, Outcome::needs_hello);
  EXPECT_EQ(taken(lives[3], {lives[3].batch(clock_.wall(), {sample_of("x", 1)})}).outcome, Outcome::taken);
}

TEST_F(LeaderIntake, AnAgentCannotWriteAnothersSeries) {
  TestAgent honest("gpu01", "one");
  TestAgent forger("gpu02", "two");
  hello(honest);
  hello(forger);
  taken(honest, {honest.batch(clock_.wall(), {sample_of("host.load", 1)})});
  Sample forged = sample_of("host.load", 99);
  forged.key.labels["node"] = "gpu01";
  taken(forger, {forger.batch(clock_.wall(), {forged})});
  EXPECT_THAT(stored("host.load"),
              UnorderedElementsAre(Pair("node=gpu01 ", ElementsAre(1)), Pair("node=gpu02 ", ElementsAre(99))));
}

TEST_F(LeaderIntake, ASeriesWithAnotherUnitIsSkippedAlone) {
  TestAgent before("gpu01", "before");
  hello(before);
  taken(before, {before.batch(clock_.wall(), {sample_of("host.load", 1)})});
  TestAgent after("gpu01", "after");
  hello(after);
  clock_.advance(std::chrono::seconds(1));
  const auto receipt = taken(
      after, {after.batch(clock_.wall(), {sample_of("host.load", 2, "", "percent"), sample_of("host.cpu_util", 0.5)})});
  EXPECT_EQ(receipt.outcome, Outcome::taken);
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(1))));
  EXPECT_THAT(stored("host.cpu_util"), ElementsAre(Pair("node=gpu01 ", ElementsAre(0.5))));
  EXPECT_EQ(leader_->status().samples_refused, 1u);
}

TEST_F(LeaderIntake, ANodeHasAMostOfSeries) {
  TestAgent agent;
  hello(agent);
  ASSERT_EQ(taken(agent, {many_series("stream-1", kMostSeries, "a")}).outcome, Outcome::taken);
  Batch more = many_series("stream-1", 1, "b");
  more.sequence = 2;
  more.first_series = kMostSeries;
  const std::int64_t now = clock_.wall().time_since_epoch().count();
  more.samples = {{.series = 0, .time_ns = now, .value = 1}, {.series = kMostSeries, .time_ns = now, .value = 2}};
  EXPECT_EQ(taken(agent, {more}).sequence, 2u) << "the others go on";
  EXPECT_EQ(stored_of_many("a0"), 1);
  EXPECT_EQ(leader_->series().stats().series, kMostSeries) << "nor is it made in the store";
  EXPECT_THAT(leader_->status().problems, testing::Contains(problem_that_says("more than 16384")));
}

TEST_F(LeaderIntake, SeriesThatNoStreamNamesAnyMoreMakeRoom) {
  ASSERT_NO_FATAL_FAILURE(hello(TestAgent("gpu01", "life-0")));
  taken(TestAgent(), {many_series("life-0", kMostSeries, "a")});
  for (const char* life : {"life-1", "life-2", "life-3"}) {
    clock_.advance(std::chrono::seconds(1));
    hello(TestAgent("gpu01", life));
    taken(TestAgent(), {many_series(life, 10, "b")});
  }
  EXPECT_EQ(status_of("gpu01").series, 10u);
  EXPECT_THAT(leader_->status().problems, SizeIs(1)) << "that some were refused for a while stays";
  ASSERT_TRUE(leader_->dismiss_refusals("gpu01").ok());
  Batch batch = many_series("life-3", 10, "b");
  batch.sequence = 2;
  batch.samples = {{.series = 9, .time_ns = clock_.wall().time_since_epoch().count(), .value = 7}};
  taken(TestAgent(), {batch});
  EXPECT_EQ(stored_of_many("b9"), 7);
  EXPECT_THAT(leader_->status().problems, IsEmpty());
}

TEST_F(LeaderIntake, ARestartedAgentMayNameAllItsSeriesAgain) {
  const std::size_t most_of_them = kMostSeries - 1;
  hello(TestAgent("gpu01", "before"));
  ASSERT_EQ(taken(TestAgent(), {many_series("before", most_of_them, "a")}).outcome, Outcome::taken);
  hello(TestAgent("gpu01", "after"));
  const auto receipt = take(TestAgent(), {many_series("after", most_of_them, "a")});
  ASSERT_TRUE(receipt.ok()) << receipt.error().text();
  EXPECT_EQ(status_of("gpu01").series, most_of_them);
}

TEST_F(LeaderIntake, GarbageAndCutBodiesAreRefused) {
  TestAgent agent;
  hello(agent);
  const auto first = agent.batch(clock_.wall(), {sample_of("host.load", 1)});
  clock_.advance(std::chrono::seconds(1));
  const auto second = agent.batch(clock_.wall(), {sample_of("host.load", 2)});
  const std::string body = body_of({first, second});
  const auto refused = leader_->take_batches("gpu01", body.substr(0, body.size() - 3), std::nullopt);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  // What came whole is kept: it was taken before the cut was found.
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(1))));
  for (const std::string_view garbage :
       {"\x05hello", "\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "GET / HTTP"}) {
    EXPECT_FALSE(leader_->take_batches("gpu01", garbage, std::nullopt).ok()) << garbage;
  }
  const auto no_batch = leader_->take_batches("gpu01", "\x05hello", std::nullopt);
  ASSERT_FALSE(no_batch.ok());
  EXPECT_EQ(no_batch.error().kind, ErrorKind::usage) << "only this is worth giving up";
  EXPECT_EQ(taken(agent, {second}).outcome, Outcome::taken);
}

TEST_F(LeaderIntake, SamplesOfAWrongClockAreCountedNotStored) {
  TestAgent agent;
  hello(agent);
  const WallTime tomorrow = clock_.wall() + std::chrono::hours(24);
  taken(agent, {agent.batch(tomorrow, {sample_of("host.load", 7)})});
  EXPECT_EQ(leader_->status().samples_refused, 1u);
  // The clock was put right: the newest value is that of today.
  taken(agent, {agent.batch(clock_.wall(), {sample_of("host.load", 1)})});
  double newest = 0;
  leader_->nodes().find("gpu01")->for_each_value(0, [&](const LiveValue& live) { newest = live.value; });
  EXPECT_EQ(newest, 1);
}

TEST_F(LeaderIntake, ALeaderWhoseClockIsBehindLetsAgentsKeepWhatTheyHave) {
  const WallTime right = clock_.wall() + std::chrono::hours(2);
  const auto send = [&](const TestAgent& agent, const Batch& batch, WallTime by_its_clock) {
    return leader_->take_batches(agent.node(), body_of({batch}), by_its_clock.time_since_epoch().count());
  };
  TestAgent agent;
  hello(agent);
  const Batch batch = agent.batch(right, {sample_of("host.load", 7)});
  const auto kept = send(agent, batch, right);
  ASSERT_FALSE(kept.ok());
  EXPECT_NE(kept.error().kind, ErrorKind::usage) << "the agent would give it up";
  EXPECT_THAT(leader_->status().problems, testing::Contains(problem_that_says("clock")));
  clock_.advance(std::chrono::hours(2));
  EXPECT_TRUE(send(agent, batch, right).ok());
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(7))));
  leader_->look_at_states();
  EXPECT_THAT(leader_->status().problems, IsEmpty());
}

TEST_F(LeaderIntake, TheNewestValueFollowsAClockThatWasSetBack) {
  TestAgent agent;
  hello(agent);
  const auto read = [&](WallTime by_its_clock, double value) {
    const auto batch = agent.batch(by_its_clock, {sample_of("host.load", value)});
    const auto sent = by_its_clock.time_since_epoch().count();
    EXPECT_TRUE(leader_->take_batches("gpu01", body_of({batch}), sent).ok());
  };
  const auto newest = [&] {
    double value = 0;
    leader_->nodes().find("gpu01")->for_each_value(0, [&](const LiveValue& live) { value = live.value; });
    return value;
  };
  read(clock_.wall(), 1);
  clock_.advance(std::chrono::seconds(1));
  read(clock_.wall() - std::chrono::minutes(30), 2);
  EXPECT_EQ(newest(), 2);
  clock_.advance(std::chrono::seconds(1));
  read(clock_.wall() - std::chrono::minutes(30), 3);
  EXPECT_EQ(newest(), 3);
}

TEST_F(LeaderIntake, EventsThatComeLateCountForTheirOwnMinute) {
  TestAgent agent;
  hello(agent);
  const WallTime away_since = clock_.wall();
  clock_.advance(std::chrono::minutes(10));
  for (int minute = 0; minute < 10; ++minute) {
    Reading reading;
    for (int i = 0; i < 100; ++i) {
      reading.events.push_back({.time = away_since + std::chrono::minutes(minute) + Nanos(i), .kind = "throttle"});
    }
    const Batch batch = agent.batch(away_since + std::chrono::minutes(minute), reading);
    taken(agent, {batch});
    for (int again = 0; again < 10; ++again) taken(agent, {batch});  // what is known already does not count
  }
  EXPECT_THAT(event_texts("gpu01"), SizeIs(1000));
}

TEST_F(LeaderIntake, EventsAreKeptOnceAndAFloodIsLimited) {
  TestAgent agent;
  hello(agent);
  Reading reading;
  for (int i = 0; i < 1000; ++i) {
    reading.events.push_back({.time = clock_.wall() + Nanos(i),
                              .kind = "xid",
                              .about = "GPU-1",
                              .message = "a fault",
                              .values = {{"xid", 79}}});
  }
  const Batch flood = agent.batch(clock_.wall(), reading);
  taken(agent, {flood});
  EXPECT_THAT(event_texts("gpu01"), SizeIs(600));
  EXPECT_EQ((status_of("gpu01").xids[{"GPU-1", 79}]), 600u);
  clock_.advance(std::chrono::minutes(1));
  taken(agent, {flood});  // the answer was lost: those that are known are not counted again
  EXPECT_THAT(event_texts("gpu01"), SizeIs(600));
  EXPECT_EQ((status_of("gpu01").xids[{"GPU-1", 79}]), 600u);
}

TEST_F(LeaderIntake, AFloodOfInventoryChangesIsLimitedToo) {
  TestAgent agent;
  hello(agent);
  for (int round = 0; round < 100; ++round) {
    Reading reading;
    reading.devices.emplace();
    for (int gpu = 0; gpu < 16; ++gpu) {
      reading.devices->push_back({.id = "GPU-" + std::to_string(gpu), .facts = {{"driver", std::to_string(round)}}});
    }
    clock_.advance(std::chrono::milliseconds(10));
    taken(agent, {agent.batch(clock_.wall(), reading)});
  }
  EXPECT_LE(event_texts("gpu01").size(), 600u);
}

TEST_F(LeaderIntake, AFaultWithoutANumberIsNoFault) {
  TestAgent agent;
  hello(agent);
  Reading reading;
  for (const double number : {std::numeric_limits<double>::quiet_NaN(), 1e300, -1.0}) {
    reading.events.push_back({.time = clock_.wall() + Nanos(reading.events.size()),
                              .kind = "xid",
                              .about = "GPU-1",
                              .message = "a fault",
                              .values = {{"xid", number}}});
  }
  taken(agent, {agent.batch(clock_.wall(), reading)});
  EXPECT_THAT(event_texts("gpu01"), SizeIs(3));
  EXPECT_THAT(status_of("gpu01").xids, IsEmpty());
}

TEST_F(LeaderIntake, WhatTheStoreCannotTakeIsNotAcknowledged) {
  TestAgent agent;
  hello(agent);
  taken(agent, {agent.batch(clock_.wall(), {sample_of("host.load", 1)})});
  clock_.advance(std::chrono::seconds(1));
  Reading reading;
  reading.samples = {sample_of("host.load", 2)};
  reading.events = {{.time = clock_.wall(), .kind = "throttle", .message = "too hot"}};
  const auto batch = agent.batch(clock_.wall(), std::move(reading));
  series_->fail_writes(Error{.kind = ErrorKind::io, .message = "no space left"});
  const auto receipt = take(agent, {batch});
  ASSERT_FALSE(receipt.ok());
  EXPECT_NE(receipt.error().kind, ErrorKind::usage) << "the agent would give it up";
  EXPECT_NE(receipt.error().kind, ErrorKind::bad_file);
  series_->fail_writes(std::nullopt);
  EXPECT_FALSE(leader_->status().problems.empty());
  EXPECT_EQ(taken(agent, {batch}).sequence, 2u);
  EXPECT_THAT(leader_->status().problems, IsEmpty()) << "what was taken in is no problem of upkeep";
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu01 ", ElementsAre(1, 2))));
  EXPECT_THAT(event_texts("gpu01"), ElementsAre("throttle: too hot"));
}

TEST_F(LeaderIntake, EventsThatCannotBeKeptAreNotAcknowledgedEither) {
  TestAgent agent;
  hello(agent);
  Reading reading;
  reading.events = {{.time = clock_.wall(), .kind = "throttle", .message = "too hot"}};
  const auto batch = agent.batch(clock_.wall(), std::move(reading));
  cluster_.fail_writes(Error{.kind = ErrorKind::io, .message = "no space left"});
  EXPECT_FALSE(take(agent, {batch}).ok());
  cluster_.fail_writes(std::nullopt);
  EXPECT_TRUE(take(agent, {batch}).ok());
  EXPECT_THAT(event_texts("gpu01"), ElementsAre("throttle: too hot"));
}

TEST_F(LeaderIntake, RequestsOfOneNodeAtTheSameTimeDoNotMixUpItsSeries) {
  // An agent that gave up waiting sends again while the leader is still at the first request.
  for (int round = 0; round < 10; ++round) {
    TestAgent agent("gpu01", "stream-" + std::to_string(round));
    hello(agent);
    std::vector<Sample> samples;
    samples.reserve(400);
    for (int i = 0; i < 400; ++i) samples.push_back(sample_of("x" + std::to_string(i), i));
    const auto first = agent.batch(clock_.wall() + Nanos(2 * round), samples);
    const std::string body = body_of({first});
    {
      std::latch start(4);
      std::vector<std::jthread> threads;
      threads.reserve(4);
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          start.arrive_and_wait();
          const auto receipt = leader_->take_batches("gpu01", body, std::nullopt);
          EXPECT_TRUE(receipt.ok() || receipt.error().kind == ErrorKind::busy);
        });
      }
    }
    // A number that was given twice shows in what is named next.
    samples.push_back(sample_of("named_later", 1000));
    taken(agent, {agent.batch(clock_.wall() + Nanos(2 * round + 1), samples)});
  }
  EXPECT_THAT(stored("named_later"), ElementsAre(Pair("node=gpu01 ", testing::Each(1000))));
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(stored("x" + std::to_string(i)), ElementsAre(Pair("node=gpu01 ", testing::Each(i)))) << i;
  }
}

TEST_F(LeaderIntake, TextThatIsNoTextIsMadeReadable) {
  TestAgent agent;
  hello(agent);
  Reading reading;
  reading.samples.push_back(sample_of("host.load", 1));
  reading.samples[0].key.labels["device"] = "nvme\xff";
  reading.devices = {{.id = "GPU-\xfe", .facts = {{"name", "H\xc3\x28"}}}};
  reading.processes = {{.gpu = "GPU-\xfe", .pid = 1}};
  reading.events.push_back({.time = clock_.wall(), .kind = "xid", .about = "GPU-\xfe", .message = "\xf0\x28"});
  auto watching = leader_->live().subscribe({}, {});
  ASSERT_TRUE(watching.ok());
  taken(agent, {agent.batch(clock_.wall(), reading)});
  leader_->live().tick();
  for (const auto& event : events_of(*watching)) parsed(event.data);
  parsed(json::serialize(json::object{{"events", json::value_from(event_texts("gpu01"))}}));
  // Above all, the node must be known after a restart.
  open();
  ASSERT_NE(leader_->nodes().find("gpu01"), nullptr);
  EXPECT_THAT(status_of("gpu01").record.devices, SizeIs(1));
}

TEST_F(LeaderIntake, DamageThatIsFoundAtTheStartIsLogged) {
  series_->find_damage("head-00000007.log is missing");
  testing::internal::CaptureStderr();
  open();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("head-00000007.log is missing"));
  EXPECT_THAT(leader_->status().problems, testing::Contains(problem_that_says("head-00000007.log is missing")));
}

}  // namespace
}  // namespace assay
