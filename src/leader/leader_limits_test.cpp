#include <algorithm>

#include "base/log.h"
#include "leader/alert_desk.h"
#include "leader/leader_fixture.h"
#include "leader/leader_options.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "store/memory/series_memory.h"
#include "store/node_table.h"
#include "store/series_store.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using Outcome = Leader::Receipt::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

/// What one node may cost, and what becomes of the rest.
class LeaderLimits : public LeaderTest {
 protected:
  void open_with(const SeriesLimits& limits) {
    small_ = std::make_unique<SeriesMemory>(clock_, limits);
    series_store_ = small_.get();
    open();
  }
  std::string problems() {
    std::string text;
    for (const auto& problem : leader_->status().problems) text += (text.empty() ? "" : "\n") + problem.text;
    return text;
  }
  Batch reading(TestAgent& agent, double value) {
    clock_.advance(Nanos(1));
    return agent.batch(clock_.wall(), {sample_of("host.load", value)});
  }

  std::unique_ptr<SeriesMemory> small_;
};

TEST(IntakeBudget, FillsUpWithTimeAndGoesIntoDebt) {
  const IntakeLimits limits{.work_per_second = 100, .burst = 1000};
  IntakeBudget budget;
  SteadyTime now{std::chrono::hours(1)};
  EXPECT_EQ(budget.wait(limits, now), Nanos{});
  budget.spend(1500, limits, now);
  EXPECT_NEAR(seconds_of(budget.wait(limits, now)), 5, 0.1);
  now += std::chrono::seconds(4);
  EXPECT_NEAR(seconds_of(budget.wait(limits, now)), 1, 0.1);
  now += std::chrono::seconds(2);
  EXPECT_EQ(budget.wait(limits, now), Nanos{});
  now += std::chrono::hours(1);
  budget.spend(1001, limits, now);
  EXPECT_GT(budget.wait(limits, now), Nanos{}) << "no more than the burst is saved up";
}

TEST(IntakeBudget, ALateSampleCostsWhatItMakesTheStoreDo) {
  const IntakeWork in_order{.samples = 10'000};
  const IntakeWork late{.samples = 10'000, .rewritten = 10'000};
  EXPECT_LT(in_order.units() * 100, late.units());
}

TEST_F(LeaderLimits, ANodeWhoseRequestIsInHandIsNotSilentAndHoldsNoSecondThread) {
  TestAgent agent;
  hello(agent);
  const auto node = leader_->nodes().find("gpu01");
  {
    const Node::Intake intake(*node, clock_);
    ASSERT_TRUE(intake);
    clock_.advance(std::chrono::seconds(30));
    leader_->look_at_states();
    EXPECT_EQ(status_of("gpu01").state, NodeState::online);
    const auto second = take(agent, {reading(agent, 1)});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().kind, ErrorKind::busy);
    EXPECT_TRUE(leader_->take_batches("gpu01", "", std::nullopt).ok()) << "a heartbeat waits for nobody";
  }
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(status_of("gpu01").state, NodeState::online) << "it could not be heard before";
  EXPECT_THAT(event_texts("gpu01"), Not(testing::Contains(HasSubstr("silent"))));
}

TEST_F(LeaderLimits, ANodeThatSendsTooMuchWaitsForItsShareAndLosesNothing) {
  intake_ = {.work_per_second = 10, .burst = 50};
  open();
  TestAgent greedy("greedy", "one");
  TestAgent honest("honest", "two");
  hello(greedy);
  hello(honest);
  clock_.advance(std::chrono::hours(1));  // what their hellos cost is earned again
  std::vector<Batch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(reading(greedy, i));
  auto receipt = taken(greedy, batches);
  EXPECT_EQ(receipt.outcome, Outcome::taken);
  EXPECT_GT(receipt.sequence, 0u) << "some of it was taken,";
  EXPECT_LT(receipt.sequence, 20u) << "the rest was not";
  EXPECT_GT(receipt.pause, Nanos{});
  EXPECT_LE(receipt.pause, std::chrono::seconds(2)) << "or it would be called silent";
  const auto refused = take(greedy, batches);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_THAT(refused.error().message, HasSubstr("node 'greedy' sends more than one node may"));
  EXPECT_EQ(taken(honest, {reading(honest, 1)}).pause, Nanos{}) << "no other node pays for it";
  for (int round = 0; round < 100 && receipt.sequence < 20; ++round) {
    clock_.advance(receipt.pause + std::chrono::milliseconds(1));
    const auto next = take(greedy, {batches.begin() + static_cast<std::ptrdiff_t>(receipt.sequence), batches.end()});
    if (next) receipt = *next;
  }
  EXPECT_THAT(stored("host.load")["node=greedy "], testing::SizeIs(20));
  EXPECT_GT(status_of("greedy").intake.bytes, 100u);
}

TEST_F(LeaderLimits, AFloodOfHellosIsTheNodesOwnTrouble) {
  TestAgent greedy("greedy", "one");
  Result<void> said;
  for (int i = 0; i < 1000 && said; ++i) {
    AgentHello hello = greedy.hello();
    hello.facts["boot"] = std::to_string(i);
    clock_.advance(std::chrono::milliseconds(1));
    said = leader_->hello("greedy", hello);
  }
  ASSERT_FALSE(said.ok()) << "each of them is written to a disk that all share";
  EXPECT_EQ(said.error().kind, ErrorKind::busy);
  EXPECT_THAT(said.error().message, HasSubstr("node 'greedy' sends more than one node may"));
  hello(TestAgent("honest", "two"));
  clock_.advance(std::chrono::milliseconds(2900));
  leader_->note_heard("greedy");
  clock_.advance(std::chrono::milliseconds(200));
  EXPECT_EQ(status_of("greedy").state, NodeState::online) << "whatever becomes of what it sends, it is there";
}

TEST_F(LeaderLimits, WhatIsKnownOfANodeIsWrittenDownOnce) {
  TestAgent agent;
  hello(agent);
  const auto revision = [&] { return cluster_.nodes().find("gpu01").value().revision; };
  const Revision first = revision();
  hello(agent);
  EXPECT_EQ(revision(), first) << "it said nothing new";
  Reading reading;
  reading.devices = std::vector<DeviceFacts>{{.id = "GPU-1", .facts = {{"name", "H200"}}}};
  taken(agent, {agent.batch(clock_.wall(), reading)});
  const Revision second = revision();
  EXPECT_NE(second, first);
  clock_.advance(std::chrono::seconds(1));
  taken(agent, {agent.batch(clock_.wall(), reading)});
  EXPECT_EQ(revision(), second);
  // What could not be written is not forgotten.
  AgentHello changed = agent.hello();
  changed.allow = {"run"};
  cluster_.fail_writes(Error{.kind = ErrorKind::io, .message = "the disk is full"});
  EXPECT_FALSE(leader_->hello("gpu01", changed).ok());
  cluster_.fail_writes(std::nullopt);
  ASSERT_TRUE(leader_->hello("gpu01", changed).ok());
  open();
  EXPECT_THAT(status_of("gpu01").record.allow, ElementsAre("run"));
  const Revision third = revision();
  ASSERT_TRUE(leader_->hello("gpu01", changed).ok());
  EXPECT_EQ(revision(), third) << "also after a restart";
}

TEST_F(LeaderLimits, BytesThatAreNoBatchAreNotFree) {
  intake_ = {.work_per_second = 1, .burst = 1000};
  open();
  hello(TestAgent());
  clock_.advance(std::chrono::hours(24));
  std::string body;
  append_framed(body, std::string(4000, 'x'));
  std::vector<ErrorKind> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(leader_->take_batches("gpu01", body, std::nullopt).error().kind);
  EXPECT_EQ(answers.front(), ErrorKind::usage);
  EXPECT_EQ(answers.back(), ErrorKind::busy);
  EXPECT_EQ(leader_->charge("gpu01", 1).error().kind, ErrorKind::busy) << "nor is anything else";
  EXPECT_TRUE(leader_->take_batches("gpu01", "", std::nullopt).ok());
}

TEST_F(LeaderLimits, ThatThereIsNoRoomIsAProblemForAWhile) {
  hello(TestAgent());
  leader_->look_at_states();
  EXPECT_THAT(problems(), "");
  leader_->note_no_room("token ci");
  leader_->look_at_states();
  EXPECT_EQ(problems(), "memory for requests: requests are turned away, the last one of token ci");
  clock_.advance(std::chrono::seconds(11));
  leader_->look_at_states();
  EXPECT_THAT(problems(), Not(HasSubstr("memory for requests")));
}

TEST_F(LeaderLimits, FactsThatChangeAllTheTimeDoNotFillTheLog) {
  TestAgent agent;
  hello(agent);
  configure_log(LogLevel::info, LogFormat::text);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 50; ++i) {
    AgentHello hello = agent.hello();
    hello.facts["kernel"] = std::to_string(i);
    ASSERT_TRUE(leader_->hello("gpu01", hello).ok());
  }
  const std::string logged = testing::internal::GetCapturedStderr();
  configure_log(LogLevel::warning, LogFormat::text);
  EXPECT_LE(std::count(logged.begin(), logged.end(), '\n'), 10) << logged;
  EXPECT_THAT(logged, HasSubstr("not logged for an hour"));
  EXPECT_THAT(event_texts("gpu01"), testing::SizeIs(50)) << "events have them all";
}

TEST_F(LeaderLimits, ANodeThatIsRefusedForTheClustersLimitIsAProblemUntilThereIsRoom) {
  SeriesLimits limits;
  limits.max_series = 1;
  open_with(limits);
  TestAgent first("gpu01", "one");
  TestAgent late("gpu02", "two");
  hello(first);
  hello(late);
  taken(first, {reading(first, 1)});
  EXPECT_THAT(problems(), "");
  EXPECT_EQ(taken(late, {reading(late, 2)}).outcome, Outcome::taken);
  EXPECT_THAT(problems(), HasSubstr("node 'gpu02': 1 series were refused"));
  EXPECT_THAT(problems(), HasSubstr("there are 1 series, which is the limit"));
  EXPECT_THAT(problems(), HasSubstr("node 'gpu02': 1 samples were refused"));
  EXPECT_EQ(leader_->status().samples_refused, 1);
  // Room is made, and the node goes on without being started again.
  clock_.advance(std::chrono::seconds(10));
  ASSERT_TRUE(leader_->forget("gpu01", true).ok());
  const Batch next = reading(late, 3);
  EXPECT_EQ(taken(late, {next}).outcome, Outcome::needs_names);
  EXPECT_EQ(taken(late, {late.with_all_names(next)}).outcome, Outcome::taken);
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=gpu02 ", ElementsAre(3))));
  EXPECT_THAT(problems(), HasSubstr("gpu02")) << "what was lost is lost";
  ASSERT_TRUE(leader_->dismiss_refusals("gpu02").ok());
  EXPECT_THAT(problems(), "");
}

TEST_F(LeaderLimits, OneNodeDoesNotFillTheStoreForAll) {
  SeriesLimits limits;
  limits.max_per_owner.series = 3;
  open_with(limits);
  for (const char* life : {"one", "two", "three"}) {
    TestAgent greedy("greedy", life);
    hello(greedy);
    std::vector<Sample> samples;
    for (int i = 0; i < 2; ++i) samples.push_back(sample_of(std::string("x") + life + std::to_string(i), 1));
    clock_.advance(std::chrono::seconds(1));
    taken(greedy, {greedy.batch(clock_.wall(), samples)});
  }
  EXPECT_EQ(leader_->series().holding("greedy").series, 3u);
  EXPECT_THAT(problems(), HasSubstr("node 'greedy' has 3 series, which is the limit for one"));
  TestAgent honest("honest", "four");
  hello(honest);
  taken(honest, {reading(honest, 7)});
  EXPECT_THAT(stored("host.load"), ElementsAre(Pair("node=honest ", ElementsAre(7))));
  clock_.advance(std::chrono::seconds(10));
  ASSERT_TRUE(leader_->forget("greedy", true).ok());
  EXPECT_EQ(leader_->series().holding("greedy").series, 0u);
  EXPECT_THAT(problems(), "");
}

TEST_F(LeaderLimits, ANodeHasAMostOfBytes) {
  SeriesLimits limits;
  limits.max_per_owner.bytes = 64;
  open_with(limits);
  TestAgent greedy("greedy", "one");
  hello(greedy);
  for (int i = 0; i < 10; ++i) {
    clock_.advance(std::chrono::seconds(1));
    taken(greedy, {reading(greedy, i)});
  }
  EXPECT_GE(leader_->series().holding("greedy").bytes, 64U);
  EXPECT_LE(leader_->series().holding("greedy").bytes, 128U);
  EXPECT_THAT(problems(), HasSubstr("samples were refused"));
  EXPECT_THAT(problems(), HasSubstr("its history takes 64 B, which is the most for one node ('bytes_per_node')"));
  EXPECT_THAT(problems(), HasSubstr("`assay nodes forget greedy --erase` makes room"));
  TestAgent honest("honest", "two");
  hello(honest);
  taken(honest, {reading(honest, 7)});
  EXPECT_THAT(stored("host.load")["node=honest "], ElementsAre(7));
  clock_.advance(std::chrono::seconds(10));
  ASSERT_TRUE(leader_->forget("greedy", true).ok());
  EXPECT_EQ(leader_->series().holding("greedy").bytes, 0U);
  EXPECT_THAT(problems(), "");
  hello(greedy);
  taken(greedy, {greedy.with_all_names(reading(greedy, 8))});
  EXPECT_THAT(stored("host.load")["node=greedy "], ElementsAre(8)) << "there is room again";
}

TEST_F(LeaderLimits, SamplesOfAWrongTimeAreRefusedByName) {
  TestAgent agent;
  hello(agent);
  TestAgent other("gpu02", "two");
  hello(other);
  taken(other, {reading(other, 1)});
  const auto sent = [&](WallTime time) { taken(agent, {agent.batch(time, {sample_of("host.load", 7)})}); };
  sent(clock_.wall() + std::chrono::hours(2));
  EXPECT_THAT(problems(), HasSubstr("node 'gpu01': 1 samples were refused"));
  EXPECT_THAT(problems(), HasSubstr("ahead of this machine's clock"));
  sent(clock_.wall() - std::chrono::hours(24 * 30));
  EXPECT_THAT(problems(), HasSubstr("older than the 14"));
  sent(clock_.wall());
  EXPECT_THAT(stored("host.load")["node=gpu01 "], ElementsAre(7));
  EXPECT_THAT(problems(), HasSubstr("refused")) << "it stays until somebody looked";
  leader_->look_at_states();
  open();
  EXPECT_THAT(problems(), HasSubstr("older than the 14")) << "also when the leader was started anew";
  TestAgent again("gpu01", "after");
  hello(again);
  taken(again, {again.batch(clock_.wall() - std::chrono::hours(24 * 30), {sample_of("host.load", 7)})});
  EXPECT_THAT(problems(), HasSubstr("node 'gpu01': 2 samples were refused")) << "counted on";
  ASSERT_TRUE(leader_->dismiss_refusals("gpu01").ok());
  leader_->look_at_states();
  open();
  EXPECT_THAT(problems(), "");
}

TEST_F(LeaderLimits, EventsAreLimitedByWhenTheyArriveWhateverTimeTheyClaim) {
  LeaderOptions options;
  options.events_per_hour = 1000;
  open(std::move(options));
  TestAgent liar;
  hello(liar);
  const auto flood = [&](int first) {
    Reading reading;
    for (int i = first; i < first + 3000; ++i) {
      reading.events.push_back({.time = clock_.wall() - std::chrono::minutes(i), .kind = "xid", .message = "made up"});
    }
    taken(liar, {liar.batch(clock_.wall(), reading)});
  };
  flood(0);
  EXPECT_THAT(event_texts("gpu01"), testing::SizeIs(1000));
  EXPECT_THAT(problems(), HasSubstr("node 'gpu01': 2000 events were refused"));
  EXPECT_THAT(problems(), HasSubstr("events_per_hour"));
  clock_.advance(std::chrono::minutes(30));
  flood(5000);
  EXPECT_THAT(event_texts("gpu01"), testing::SizeIs(1500)) << "half an hour has made room for half as many";
}

TEST_F(LeaderLimits, ProblemsOfTheLeaderAreAlertsWithALevel) {
  TestAgent agent;
  hello(agent);
  leader_->note_problem("writing down events", Error{.kind = ErrorKind::io, .message = "the disk is full"});
  taken(agent, {reading(agent, 1)});
  taken(agent, {agent.batch(clock_.wall() - std::chrono::hours(24 * 30), {sample_of("host.load", 1)})});
  const auto problems = leader_->status().problems;
  ASSERT_THAT(problems, testing::SizeIs(2));
  EXPECT_EQ(problems[0].kind, ProblemKind::storage) << "the worst first";
  EXPECT_EQ(problems[0].level, AlertSeverity::critical);
  EXPECT_EQ(problems[0].text, "writing down events: the disk is full");
  EXPECT_EQ(problems[1].kind, ProblemKind::refused);
  EXPECT_EQ(problems[1].level, AlertSeverity::warning);
  EXPECT_EQ(problems[1].about, "gpu01");
  leader_->look_for_alerts();
  std::vector<std::string> alerts;
  for (const auto& record : leader_->alerts().open_alerts())
    alerts.push_back(record.alert.rule + " " + record.alert.about);
  EXPECT_THAT(alerts, testing::UnorderedElementsAre("leader_problem storage: writing down events",
                                                    "leader_problem refused: gpu01"));
}

TEST_F(LeaderLimits, NobodyIsSilentWhileTheLeaderCannotHear) {
  std::vector<TestAgent> agents;
  for (int i = 0; i < 6; ++i) agents.emplace_back("gpu0" + std::to_string(i), "stream-" + std::to_string(i));
  for (const auto& agent : agents) hello(agent);
  leader_->look_at_states();
  {
    // Every thread that could take in something waits for the disk.
    std::vector<std::unique_ptr<Node::Intake>> stuck;
    for (int i = 0; i < 4; ++i) {
      stuck.push_back(
          std::make_unique<Node::Intake>(*leader_->nodes().find(agents[static_cast<std::size_t>(i)].node()), clock_));
    }
    for (int i = 0; i < 60; ++i) {
      clock_.advance(std::chrono::milliseconds(500));
      leader_->look_at_states();
    }
    EXPECT_NE(status_of("gpu05").state, NodeState::offline);
    EXPECT_THAT(problems(), HasSubstr("nodes cannot be heard in time"));
  }
  EXPECT_THAT(event_texts(), Not(testing::Contains(HasSubstr("silent"))));
  for (int i = 0; i < 16; ++i) {
    clock_.advance(std::chrono::milliseconds(500));
    leader_->look_at_states();
  }
  EXPECT_EQ(status_of("gpu05").state, NodeState::offline) << "now it could be heard, and was not";
  EXPECT_THAT(problems(), "");
}

TEST_F(LeaderLimits, NobodyIsSilentBecauseTheLeaderWasAway) {
  hello(TestAgent("gpu01", "one"));
  hello(TestAgent("gpu02", "two"));
  leader_->look_at_states();
  clock_.advance(std::chrono::minutes(5));
  leader_->excuse_nodes();
  leader_->look_at_states();
  EXPECT_THAT(event_texts(), Not(testing::Contains(HasSubstr("silent"))));
  clock_.advance(std::chrono::seconds(4));
  leader_->look_at_states();
  EXPECT_THAT(event_texts(), testing::Contains(HasSubstr("silent"))) << "it had time to be heard";
}

TEST_F(LeaderLimits, NobodyIsSilentBecauseTheLeaderEnds) {
  hello(TestAgent("gpu01", "one"));
  leader_->look_at_states();
  leader_->finish_streams();
  clock_.advance(std::chrono::seconds(10));
  leader_->look_at_states();
  EXPECT_THAT(event_texts(), Not(testing::Contains(HasSubstr("silent"))));
}

}  // namespace
}  // namespace assay
