#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class SchedulerTest : public testing::Test {
 protected:
  void up(const NodeOffer& offer) { ASSERT_TRUE(scheduler_.node_up(offer)); }
  void submit(const JobRequest& job) {
    const auto done = scheduler_.submit(job);
    ASSERT_TRUE(done) << done.error().text();
  }
  std::vector<std::string> decide(double now) { return ids_of(scheduler_.decide(at_second(now))); }
  JobAfterlife end(const std::string& id, double now, JobOutcome outcome = JobOutcome::succeeded) {
    auto ended = scheduler_.ended(id, outcome, at_second(now));
    EXPECT_TRUE(ended);
    return ended ? *ended : JobAfterlife{};
  }
  WaitReport why(const std::string& id, double now) {
    auto report = scheduler_.explain(id, at_second(now));
    EXPECT_TRUE(report);
    return report ? *report : WaitReport{};
  }

  Scheduler scheduler_;
};

TEST_F(SchedulerTest, ShortJobsComeFirstButNotForEver) {
  up(node_with("a", 1));
  submit(job_of("running", 0, 100));
  EXPECT_THAT(decide(0), ElementsAre("running"));
  submit(job_of("long", 0, 1000));
  submit(job_of("short", 10, 100));
  EXPECT_THAT(decide(10), IsEmpty());
  end("running", 100);
  EXPECT_THAT(decide(100), ElementsAre("short"));
  end("short", 200);
  // A day later the long one is older than any short one is short.
  submit(job_of("late", 86'400, 100));
  EXPECT_THAT(decide(86'400), ElementsAre("long"));
}

TEST_F(SchedulerTest, APriorityIsWorthItsStepOfAge) {
  up(node_with("a", 1));
  submit(job_of("first", 0, 100));
  JobRequest urgent = job_of("urgent", 1800, 100);
  urgent.priority = 1;
  submit(urgent);
  EXPECT_THAT(decide(1800), ElementsAre("urgent"));
}

TEST_F(SchedulerTest, ADeadlineBringsAJobForward) {
  up(node_with("a", 1));
  submit(job_of("other", 0, 500));
  JobRequest due = job_of("due", 1, 1000);
  due.deadline = at_second(2000);
  submit(due);
  EXPECT_THAT(decide(1), ElementsAre("due"));
}

TEST_F(SchedulerTest, AGpuHasOneJobAndANodeBenchmarkHasNoNeighbour) {
  up(node_with("a", 2));
  JobRequest whole = job_of("node", 0, 100, 0);
  submit(job_of("one", 0, 10));
  submit(whole);
  EXPECT_THAT(decide(0), ElementsAre("one"));
  EXPECT_THAT(decide(1), IsEmpty());
  submit(job_of("two", 2, 5));
  end("one", 10);
  EXPECT_THAT(decide(10), ElementsAre("node"));
  EXPECT_THAT(decide(11), IsEmpty());
  end("node", 100);
  EXPECT_THAT(decide(100), ElementsAre("two"));
}

TEST_F(SchedulerTest, ModelAndMemoryDecideWhereAJobFits) {
  up(node_with("old", 1, "V100"));
  up(node_with("new", 1, "H200"));
  JobRequest job = job_of("h", 0, 10);
  job.needs.gpu_model = "H200";
  submit(job);
  const SchedulerDecision decision = scheduler_.decide(at_second(0));
  ASSERT_THAT(decision.start, SizeIs(1));
  EXPECT_EQ(decision.start[0].shares[0], (NodeShare{"new", {"new-0"}}));
  JobRequest big = job_of("big", 0, 10);
  big.needs.gpu_memory = Bytes{200'000'000'000};
  submit(big);
  EXPECT_THAT(decide(0), IsEmpty());
  EXPECT_EQ(why("big", 0).reason, WaitReason::no_such_node);
}

TEST_F(SchedulerTest, FasterNodesAndNodesWithTheDataAreTaken) {
  NodeOffer fast = node_with("fast", 1, "H200");
  fast.speed = 2;
  up(node_with("slow", 1, "V100"));
  up(fast);
  submit(job_of("any", 0, 10));
  EXPECT_EQ(scheduler_.decide(at_second(0)).start[0].shares[0].node, "fast");
  NodeOffer holder = node_with("holder", 1);
  holder.holds = {"imagenet"};
  up(node_with("other", 1));
  up(holder);
  JobRequest reader = job_of("reader", 0, 10);
  reader.data = "imagenet";
  submit(reader);
  EXPECT_EQ(scheduler_.decide(at_second(0)).start[0].shares[0].node, "holder");
}

TEST_F(SchedulerTest, OfFreeNodesTheOneWhereAJobEndsSoonestIsTaken) {
  up(node_with("a", 1, "T4"));
  up(node_with("b", 1, "V100"));
  up(node_with("c", 1, "H200"));
  const auto next = [&](const std::string& id, std::vector<std::pair<std::string, int>> slower) {
    JobRequest job = job_of(id, 0, 10);
    job.needs.slower = std::move(slower);
    const auto preview = scheduler_.preview(job, at_second(0));
    submit(job);
    const SchedulerDecision decision = scheduler_.decide(at_second(0));
    const std::string node = decision.start.at(0).shares[0].node;
    EXPECT_EQ(preview->forecast->nodes.front(), node) << "as was foretold";
    return node;
  };
  EXPECT_EQ(next("one", {{"T4", 30}, {"V100", 4}}), "c");
  EXPECT_EQ(next("two", {{"T4", 30}, {"V100", 4}}), "b") << "the next best is better than waiting";
  EXPECT_EQ(next("three", {{"T4", 30}}), "a");
}

TEST_F(SchedulerTest, LinkedGpusAreChosen) {
  NodeOffer offer = node_with("a", 4);
  for (int i = 0; i < 4; ++i) offer.gpus[static_cast<std::size_t>(i)].link_group = i % 2;
  up(offer);
  JobRequest pair = job_of("pair", 0, 10, 2);
  pair.needs.linked = true;
  submit(pair);
  EXPECT_THAT(scheduler_.decide(at_second(0)).start[0].shares[0].gpus, ElementsAre("a-0", "a-2"));
  pair.id = "three";
  pair.needs.gpus = 3;
  submit(pair);
  EXPECT_THAT(decide(1), IsEmpty());
}

TEST_F(SchedulerTest, AGangStartsWholeAndInOneRack) {
  for (const char* name : {"a1", "b1", "b2"}) {
    NodeOffer offer = node_with(name, 2);
    offer.rack = std::string(name).substr(0, 1);
    up(offer);
  }
  JobRequest gang = job_of("gang", 0, 10, 2);
  gang.needs.nodes = 2;
  submit(gang);
  const SchedulerDecision decision = scheduler_.decide(at_second(0));
  ASSERT_THAT(decision.start, SizeIs(1));
  ASSERT_THAT(decision.start[0].shares, SizeIs(2));
  EXPECT_EQ(decision.start[0].shares[0].node, "b1");
  EXPECT_EQ(decision.start[0].shares[1].node, "b2");
  gang.id = "too big";
  gang.needs.nodes = 4;
  submit(gang);
  EXPECT_THAT(decide(1), IsEmpty());
  EXPECT_THAT(why("too big", 1).sentence, HasSubstr("4 nodes"));
}

TEST_F(SchedulerTest, SmallJobsDoNotStarveAGang) {
  up(node_with("a", 4));
  for (int i = 0; i < 4; ++i) submit(job_of(fmt::format("s{}", i), 0, 100 + 10 * i));
  EXPECT_THAT(decide(0), SizeIs(4));
  submit(job_of("gang", 1, 50, 4));
  for (int i = 4; i < 400; ++i) submit(job_of(fmt::format("s{}", i), 2 + i * 0.01, 100));
  decide(10);
  EXPECT_EQ(why("gang", 10).reason, WaitReason::set_aside);
  EXPECT_THAT(why("gang", 10).sentence, HasSubstr("a is being emptied"));
  for (int i = 0; i < 3; ++i) {
    end(fmt::format("s{}", i), 100 + 10 * i);
    EXPECT_THAT(decide(100 + 10 * i), IsEmpty());
  }
  end("s3", 130);
  EXPECT_THAT(decide(130), ElementsAre("gang"));
}

TEST_F(SchedulerTest, ShortJobsFillTheGapsBeforeAGang) {
  up(node_with("a", 2));
  submit(job_of("one", 0, 1000));
  submit(job_of("two", 0, 100));
  decide(0);
  submit(job_of("gang", 1, 50, 2));
  decide(1);
  end("two", 100);
  submit(job_of("too long", 100, 2000));
  submit(job_of("fits", 100, 300));
  EXPECT_THAT(decide(100), ElementsAre("fits"));
}

TEST_F(SchedulerTest, WhoeverWaitsForANamedNodeKeepsNobodyElseFromBeingWaitedFor) {
  for (const char* name : {"a", "b", "c"}) up(node_with(name, 2));
  JobRequest days = job_of("days", 0, 3 * 86'400, 2);
  days.needs.on = {"c"};
  submit(days);
  for (int i = 0; i < 4; ++i) submit(job_of(fmt::format("s{}", i), 0, 100 + 10 * i));
  EXPECT_THAT(decide(0), SizeIs(5));
  JobRequest one_gpu = job_of("one of c", 1, 50);
  one_gpu.needs.on = {"c"};
  submit(one_gpu);
  JobRequest whole = job_of("all of c", 2, 50, 2);
  whole.needs.on = {"c"};
  submit(whole);
  submit(job_of("gang", 3, 50, 2));
  for (int i = 4; i < 100; ++i) submit(job_of(fmt::format("s{}", i), 4 + i * 0.01, 100));
  decide(5);
  EXPECT_EQ(why("gang", 5).reason, WaitReason::set_aside);
  EXPECT_EQ(why("all of c", 5).reason, WaitReason::gpus_busy) << "who came first is to have its GPU first";
  end("s0", 100);
  EXPECT_THAT(decide(100), IsEmpty());
  end("s1", 110);
  EXPECT_THAT(decide(110), ElementsAre("gang"));
}

TEST_F(SchedulerTest, ANamedNodeIsEmptiedBesideOthers) {
  for (const char* name : {"a", "b"}) up(node_with(name, 2));
  for (int i = 0; i < 2; ++i) submit(job_of(fmt::format("long{}", i), 0, 86'400, 2));
  EXPECT_THAT(decide(0), SizeIs(2));
  JobRequest pinned = job_of("pinned", 1, 50, 2);
  pinned.needs.on = {"a"};
  submit(pinned);
  submit(job_of("any", 2, 50, 2));
  decide(3);
  EXPECT_EQ(why("pinned", 3).reason, WaitReason::set_aside);
  EXPECT_THAT(why("any", 3).sentence, HasSubstr("b is being emptied"));
}

TEST_F(SchedulerTest, WhatIsKeptFreeForAGangIsUsedWhileAnotherJobIsLate) {
  up(node_with("a", 2));
  submit(job_of("late", 0, 1000));
  submit(job_of("two", 0, 100));
  decide(0);
  submit(job_of("gang", 1, 5000, 2));
  decide(1);
  EXPECT_EQ(scheduler_.next_look(), at_second(1000));
  end("two", 100);
  EXPECT_THAT(decide(100), IsEmpty());
  submit(job_of("short", 1200, 100));
  EXPECT_THAT(decide(1200), ElementsAre("short")) << "what is late by 200 s probably takes 200 s more";
  EXPECT_EQ(scheduler_.next_look(), at_second(1400));
  end("short", 1300);
  submit(job_of("longer", 1300, 300));
  EXPECT_THAT(decide(1300), IsEmpty());
  end("late", 1350);
  EXPECT_THAT(decide(1350), ElementsAre("gang"));
}

TEST_F(SchedulerTest, NamedNodesAreWaitedFor) {
  up(node_with("a", 1));
  up(node_with("b", 1));
  JobRequest pinned = job_of("pinned", 0, 10);
  pinned.needs.on = {"b"};
  submit(pinned);
  pinned.id = "again";
  submit(pinned);
  const SchedulerDecision decision = scheduler_.decide(at_second(0));
  ASSERT_THAT(decision.start, SizeIs(1));
  EXPECT_EQ(decision.start[0].shares[0].node, "b");
  const auto lost = scheduler_.node_down("b");
  EXPECT_THAT(lost, ElementsAre("pinned"));
  EXPECT_EQ(why("again", 1).sentence, "fits nowhere: node 'b' is down");
  end("pinned", 1, JobOutcome::lost);
  EXPECT_THAT(decide(1), IsEmpty());
  up(node_with("b", 1));
  EXPECT_THAT(decide(2), ElementsAre("again"));
}

TEST_F(SchedulerTest, JobsWaitForTheSuccessOfOthers) {
  up(node_with("a", 4));
  JobRequest second = job_of("second", 0, 10);
  second.after = {"first", "other"};
  submit(second);
  submit(job_of("first", 0, 10));
  submit(job_of("other", 0, 10));
  JobRequest third = job_of("third", 0, 10);
  third.after = {"second"};
  submit(third);
  EXPECT_THAT(decide(0), UnorderedElementsAre("first", "other"));
  EXPECT_EQ(why("second", 0).sentence, "waits for the success of first, other");
  end("first", 10);
  EXPECT_THAT(decide(10), IsEmpty());
  end("other", 11);
  EXPECT_THAT(decide(11), ElementsAre("second"));
  EXPECT_THAT(end("second", 20, JobOutcome::hopeless).never_runs, ElementsAre("third"));
  EXPECT_THAT(decide(20), IsEmpty());
  EXPECT_EQ(why("third", 20).reason, WaitReason::never);
}

TEST_F(SchedulerTest, FailuresAreTriedAgainLaterAndLater) {
  up(node_with("a", 1));
  JobRequest job = job_of("flaky", 0, 10);
  job.retry = {.attempts = 3, .first_wait = std::chrono::seconds(60), .longest_wait = std::chrono::seconds(90)};
  submit(job);
  decide(0);
  EXPECT_EQ(end("flaky", 10, JobOutcome::failed).retry, at_second(70));
  EXPECT_THAT(decide(69), IsEmpty());
  EXPECT_EQ(why("flaky", 60).sentence, "waits 10.0 s for attempt 2 of 3");
  EXPECT_EQ(scheduler_.next_look(), at_second(70));
  EXPECT_THAT(decide(70), ElementsAre("flaky"));
  EXPECT_EQ(end("flaky", 80, JobOutcome::failed).retry, at_second(170));
  EXPECT_THAT(decide(170), ElementsAre("flaky"));
  EXPECT_EQ(end("flaky", 180, JobOutcome::failed).retry, std::nullopt);
  EXPECT_EQ(scheduler_.waiting() + scheduler_.running(), 0U);
}

TEST_F(SchedulerTest, QuotasAreKeptAndSaid) {
  up(node_with("a", 4));
  scheduler_.set_user("ann", {.most_gpus = 2});
  for (int i = 0; i < 3; ++i) submit(job_of(fmt::format("j{}", i), i, 10));
  JobRequest other = job_of("bob's", 5, 1000);
  other.user = "bob";
  submit(other);
  EXPECT_THAT(decide(5), UnorderedElementsAre("j0", "j1", "bob's"));
  EXPECT_EQ(why("j2", 5).sentence, "'ann' has 2 of 2 GPUs in use, and it needs 1");
  end("j0", 10);
  EXPECT_THAT(decide(10), ElementsAre("j2"));
  submit(job_of("huge", 11, 10, 4));
  EXPECT_THAT(why("huge", 11).sentence, HasSubstr("it will never start"));
}

TEST_F(SchedulerTest, WhoHasHadMuchStandsBack) {
  up(node_with("a", 1));
  scheduler_.charge_user("ann", 3600, at_second(0));
  submit(job_of("ann's", 0, 100));
  JobRequest other = job_of("bob's", 600, 100);
  other.user = "bob";
  submit(other);
  EXPECT_THAT(decide(600), ElementsAre("bob's"));
  end("bob's", 700);
  EXPECT_THAT(decide(700), ElementsAre("ann's"));
}

TEST_F(SchedulerTest, HeldJobsStayBehind) {
  up(node_with("a", 1));
  submit(job_of("job", 0, 10));
  ASSERT_TRUE(scheduler_.hold("job"));
  EXPECT_THAT(decide(0), IsEmpty());
  EXPECT_EQ(why("job", 0).reason, WaitReason::held);
  ASSERT_TRUE(scheduler_.release("job", at_second(1)));
  EXPECT_THAT(decide(1), ElementsAre("job"));
  EXPECT_FALSE(scheduler_.hold("job"));
  EXPECT_FALSE(scheduler_.hold("nobody"));
}

TEST_F(SchedulerTest, TimeLimitsAreReportedOnce) {
  up(node_with("a", 1));
  JobRequest job = job_of("slow", 0, 10);
  job.time_limit = std::chrono::seconds(20);
  submit(job);
  decide(0);
  EXPECT_EQ(scheduler_.next_look(), at_second(20));
  EXPECT_THAT(scheduler_.decide(at_second(19)).overdue, IsEmpty());
  EXPECT_THAT(scheduler_.decide(at_second(20)).overdue, ElementsAre("slow"));
  EXPECT_THAT(scheduler_.decide(at_second(21)).overdue, IsEmpty());
}

TEST_F(SchedulerTest, NothingRunsIntoAMaintenance) {
  NodeOffer offer = node_with("a", 1);
  offer.maintenance = {at_second(100), at_second(200)};
  up(offer);
  submit(job_of("long", 0, 150));
  submit(job_of("short", 0, 90));
  EXPECT_THAT(decide(0), ElementsAre("short"));
  end("short", 90);
  EXPECT_THAT(decide(150), IsEmpty());
  EXPECT_EQ(scheduler_.next_look(), at_second(200));
  EXPECT_THAT(decide(200), ElementsAre("long"));
}

TEST_F(SchedulerTest, AForecastWorksTheQueueOff) {
  up(node_with("a", 2));
  for (int i = 0; i < 2; ++i) submit(job_of(fmt::format("r{}", i), 0, 100 + 100 * i));
  decide(0);
  submit(job_of("next", 1, 50));
  submit(job_of("last", 2, 500));
  decide(2);
  const auto forecast = scheduler_.forecast(at_second(2));
  ASSERT_THAT(forecast, SizeIs(2));
  EXPECT_EQ(forecast[0].job, "next");
  EXPECT_EQ(forecast[0].expected_start, at_second(100));
  EXPECT_EQ(forecast[1].expected_start, at_second(150));
  EXPECT_GT(forecast[1].late_start, forecast[1].expected_start);
  const WaitReport report = why("last", 2);
  EXPECT_EQ(report.ahead, 1U);
  EXPECT_THAT(report.sentence, HasSubstr("with 1 job before it"));
  EXPECT_THAT(why("next", 2).sentence, HasSubstr("first in line"));
  EXPECT_EQ(report.expected_start, at_second(150));
}

TEST_F(SchedulerTest, SenselessRequestsAreRefusedWithAReason) {
  const auto refused = [&](JobRequest job) {
    const auto done = scheduler_.submit(std::move(job));
    return done ? std::string() : done.error().message;
  };
  submit(job_of("a", 0, 1));
  EXPECT_THAT(refused(job_of("a", 0, 1)), HasSubstr("already"));
  EXPECT_THAT(refused(job_of("b", 0, 0)), HasSubstr("more than 0"));
  EXPECT_THAT(refused(job_of("b", 0, 1, 65)), HasSubstr("at most 64"));
  JobRequest job = job_of("b", 0, 1);
  job.needs.on = {"n", "n"};
  EXPECT_THAT(refused(job), HasSubstr("twice"));
  EXPECT_FALSE(scheduler_.node_up(node_with("big", 65)));
}

}  // namespace
}  // namespace assay
