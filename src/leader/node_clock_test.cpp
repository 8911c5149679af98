#include "leader/node_clock.h"

#include <cmath>

#include "leader/leader_fixture.h"
#include "leader/node.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "store/series_store.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ClockState = NodeClock::State;

class NodeClockTest : public testing::Test {
 protected:
  /// A request each second for a while, from a node whose clock is that far ahead.
  void hear(Nanos ahead, Nanos length = seconds(15)) {
    for (const SteadyTime end = clock_.now() + length; clock_.now() < end;) {
      clock_.advance(seconds(1));
      its_.observe(seconds_of(ahead), {.at = clock_.now(), .wall = clock_.wall()});
    }
  }
  /// How far what the node read `ago` comes from when it was read.
  double off(Nanos ahead, Nanos ago = {}) const {
    const WallTime read = clock_.wall() - ago;
    const std::int64_t corrected = its_.corrected((read + ahead).time_since_epoch().count(), clock_.wall());
    return seconds_of(Nanos(corrected) - read.time_since_epoch());
  }

  ManualClock clock_;
  NodeClock its_;
};

TEST_F(NodeClockTest, ALittleOffIsRightEnough) {
  EXPECT_TRUE(std::isnan(its_.skew_s()));
  EXPECT_EQ(its_.state(), ClockState::right);
  hear(seconds(50));
  EXPECT_EQ(its_.state(), ClockState::right);
  EXPECT_EQ(off(seconds(50)), 50);
  EXPECT_EQ(its_.note(), "");
}

TEST_F(NodeClockTest, OneThatIsSteadilyWrongIsPutRight) {
  for (const Nanos ahead : {Nanos(hours(2)), Nanos(-hours(2)), Nanos(hours(24 * 365 * 50))}) {
    its_ = {};
    hear(ahead, seconds(5));
    EXPECT_EQ(its_.state(), ClockState::settling);
    hear(ahead);
    EXPECT_EQ(its_.state(), ClockState::corrected);
    EXPECT_EQ(off(ahead), 0);
    EXPECT_EQ(off(ahead, minutes(30)), 0) << "it has never been right: so also what waited";
    EXPECT_EQ(its_.shown(clock_.wall()), clock_.wall());
  }
  its_ = {};
  hear(hours(2));
  EXPECT_EQ(its_.note(), "2 h 00 min ahead, times corrected");
}

TEST_F(NodeClockTest, WhatWasReadBeforeItWentWrongStays) {
  hear(Nanos{});
  hear(hours(2));
  ASSERT_EQ(its_.state(), ClockState::corrected);
  EXPECT_EQ(off(hours(2)), 0);
  EXPECT_EQ(off(Nanos{}, minutes(5)), 0) << "read by a clock that was right";
  its_ = {};
  hear(Nanos{});
  hear(-hours(2));
  EXPECT_EQ(off(-hours(2)), 0);
  EXPECT_EQ(off(Nanos{}, minutes(5)), 0);
  hear(Nanos{});
  EXPECT_EQ(its_.state(), ClockState::right) << "it was put right";
  EXPECT_EQ(off(Nanos{}), 0);
}

TEST_F(NodeClockTest, OneThatKeepsChangingIsUnsteady) {
  for (int i = 1; i <= 6; ++i) hear(hours(2 * i), seconds(20));
  EXPECT_EQ(its_.state(), ClockState::unsteady);
  EXPECT_THAT(its_.note(), HasSubstr("unsteady: its samples are refused"));
  hear(hours(12), minutes(4));
  EXPECT_EQ(its_.state(), ClockState::unsteady);
  hear(hours(12), minutes(2));
  EXPECT_EQ(its_.state(), ClockState::corrected) << "it has been steady for long enough";
}

TEST_F(NodeClockTest, OneThatRunsAwayIsUnsteadyAndOneThatDriftsIsNot) {
  for (int i = 0; i < 120; ++i) hear(hours(2) + i * seconds(1), seconds(1));
  EXPECT_EQ(its_.state(), ClockState::unsteady);
  its_ = {};
  for (int i = 0; i < 3600; ++i) hear(hours(2) + i * std::chrono::microseconds(100), seconds(1));
  EXPECT_EQ(its_.state(), ClockState::corrected);
  const double before = off(hours(2));
  hear(hours(2) + seconds(1), minutes(2));
  EXPECT_EQ(off(hours(2)), before) << "what is sent twice comes out the same";
}

TEST_F(NodeClockTest, ARequestThatWaitedChangesNothing) {
  hear(hours(2));
  hear(hours(2) - seconds(20), seconds(1));
  EXPECT_EQ(its_.state(), ClockState::corrected);
  EXPECT_EQ(off(hours(2)), 0);
}

TEST_F(NodeClockTest, NothingIsPutRightByAClockThatIsDoubtful) {
  hear(hours(2));
  its_.doubt_ours(true);
  EXPECT_EQ(its_.state(), ClockState::right);
  EXPECT_EQ(off(hours(2)), 7200);
}

/// A node whose clock is wrong beside two whose clocks are right.
class LeaderClock : public LeaderTest {
 protected:
  LeaderClock() {
    for (const TestAgent* agent : {&wrong_, &first_, &second_}) hello(*agent);
  }
  /// Everybody sends a value now.
  Result<Leader::Receipt> tick(Nanos ahead, double value) {
    clock_.advance(seconds(1));
    for (TestAgent* agent : {&first_, &second_}) {
      EXPECT_TRUE(send(*agent, Nanos{}, value).ok());
    }
    leader_->look_at_states();
    return send(wrong_, ahead, value);
  }
  Result<Leader::Receipt> send(TestAgent& agent, Nanos ahead, double value) {
    const WallTime shown = clock_.wall() + ahead;
    Reading reading;
    reading.samples = {sample_of("host.load", value)};
    if (&agent == &wrong_) waiting_.push_back(agent.batch(shown, std::move(reading)));
    const auto batches = &agent == &wrong_ ? waiting_ : std::vector{agent.batch(shown, std::move(reading))};
    auto receipt = leader_->take_batches(agent.node(), body_of(batches), shown.time_since_epoch().count());
    if (receipt && &agent == &wrong_) waiting_.clear();
    return receipt;
  }
  std::vector<double> offsets_s(const std::string& node) {
    std::vector<double> offsets;
    const auto series = leader_->series().list({.name = "host.load", .labels = {{.label = "node", .value = node}}});
    for (const auto& one : *series) {
      const auto read = leader_->series().points(one.id, {}, 1000);
      for (const auto& point : read->points) {
        // The value is how many seconds after the start it was read.
        offsets.push_back(seconds_of(Nanos(point.time_ns) - start_.time_since_epoch()) - point.value);
      }
    }
    return offsets;
  }

  const WallTime start_ = clock_.wall();
  TestAgent wrong_{"gpu01", "one"};
  TestAgent first_{"gpu02", "two"};
  TestAgent second_{"gpu03", "three"};
  std::vector<Batch> waiting_;  ///< that its leader did not take yet
};

TEST_F(LeaderClock, ANodeThatIsSteadilyAheadLosesNothingAndIsMarked) {
  const auto first = tick(hours(2), 1);
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().kind, ErrorKind::busy) << "it keeps what it has";
  for (int i = 2; i <= 20; ++i) (void)tick(hours(2), i);
  EXPECT_THAT(waiting_, IsEmpty());
  EXPECT_THAT(offsets_s("gpu01"), testing::AllOf(testing::SizeIs(20), testing::Each(0))) << "by time of arrival";
  EXPECT_THAT(offsets_s("gpu02"), testing::Each(0));
  EXPECT_EQ(status_of("gpu01").clock_note, "2 h 00 min ahead, times corrected");
  EXPECT_EQ(status_of("gpu01").own_time(clock_.wall()), clock_.wall());
  EXPECT_EQ(leader_->status().samples_refused, 0u);
  EXPECT_THAT(leader_->status().problems, IsEmpty());
}

TEST_F(LeaderClock, ANodeWhoseClockKeepsChangingIsRefusedByName) {
  for (int i = 1; i <= 60; ++i) (void)tick(hours(2 + i / 10), i);
  EXPECT_THAT(waiting_, IsEmpty()) << "it does not keep its samples for ever";
  EXPECT_THAT(leader_->status().problems,
              ElementsAre(testing::AllOf(problem_that_says("node 'gpu01'"), problem_that_says("samples were refused"),
                                         problem_that_says("its clock keeps changing"))));
  EXPECT_THAT(status_of("gpu01").clock_note, HasSubstr("refused"));
  EXPECT_THAT(offsets_s("gpu01"), testing::Each(testing::Lt(1)));
}

TEST_F(LeaderClock, WhenMostAreAheadOursIsWrongAndNothingIsPutRight) {
  const auto ahead = [&](TestAgent& agent) {
    const WallTime shown = clock_.wall() + minutes(10);
    return leader_->take_batches(agent.node(), body_of({agent.batch(shown, {sample_of("host.load", 1)})}),
                                 shown.time_since_epoch().count());
  };
  for (int i = 0; i < 20; ++i) {
    clock_.advance(seconds(1));
    for (TestAgent* agent : {&wrong_, &first_, &second_}) (void)ahead(*agent);
    leader_->look_at_states();
  }
  EXPECT_THAT(leader_->status().problems, ElementsAre(problem_that_says("behind those of most nodes")));
  EXPECT_EQ(leader_->status().problems[0].kind, ProblemKind::clock);
  EXPECT_EQ(status_of("gpu01").clock_note, "");
}

TEST_F(LeaderClock, NodesThatSomebodyMadeUpJustNowDoNotDecideWhatTimeItIs) {
  clock_.advance(hours(25));
  std::vector<TestAgent> made_up;
  for (int i = 0; i < 10; ++i) made_up.emplace_back("made-up" + std::to_string(i), "stream-" + std::to_string(i));
  for (const auto& agent : made_up) hello(agent);
  for (int i = 0; i < 20; ++i) {
    (void)tick(Nanos{}, i);
    const WallTime shown = clock_.wall() + hours(2);
    for (TestAgent& agent : made_up) {
      (void)leader_->take_batches(agent.node(), body_of({agent.batch(shown, {sample_of("host.load", 1)})}),
                                  shown.time_since_epoch().count());
    }
  }
  leader_->look_at_states();
  EXPECT_THAT(leader_->status().problems, IsEmpty()) << "it is their clock that is wrong, not the leader's";
  EXPECT_EQ(status_of("made-up0").clock_note, "2 h 00 min ahead, times corrected");
  EXPECT_EQ(status_of("gpu02").clock_note, "");
}

}  // namespace
}  // namespace assay
