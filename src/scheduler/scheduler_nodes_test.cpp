// What the scheduler does with nodes that differ, close and come back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "scheduler/scheduler_fixture.h"

namespace assay {
namespace {

TEST(SchedulerOfNodes, CpusOfANodeAreOneJobsAtATimeBesideGpus) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.node_up(node_with("gpus", 2)));
  ASSERT_TRUE(scheduler.node_up(node_with("plain", 0)));
  const auto cpu_job = [](const std::string& id) {
    JobRequest job = job_of(id, 0, 100, 0);
    job.needs.cpus = true;
    return job;
  };
  for (const char* id : {"c1", "c2", "c3"}) ASSERT_TRUE(scheduler.submit(cpu_job(id)));
  ASSERT_TRUE(scheduler.submit(job_of("g", 0, 100, 2)));
  const auto decision = scheduler.decide(at_second(1));
  ASSERT_EQ(decision.start.size(), 3U);
  EXPECT_EQ(decision.start[0].shares.front(), (NodeShare{.node = "plain", .gpus = {}})) << "GPUs are left alone";
  EXPECT_THAT(ids_of(decision), testing::UnorderedElementsAre("c1", "c2", "g"));
  EXPECT_THAT(scheduler.explain("c3", at_second(1))->sentence, testing::HasSubstr("CPUs"));
  ASSERT_TRUE(scheduler.submit(job_of("alone", 1, 100, 0)));
  ASSERT_TRUE(scheduler.ended("g", JobOutcome::succeeded, at_second(2)));
  EXPECT_THAT(ids_of(scheduler.decide(at_second(2))), testing::IsEmpty()) << "beside a job on the CPUs nobody is alone";
  JobRequest both = job_of("both", 0, 1);
  both.needs.cpus = true;
  EXPECT_FALSE(scheduler.submit(both)) << "GPUs or CPUs";
}

TEST(SchedulerOfNodes, NamedGpusAreWaitedForAndNoOthersTaken) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.node_up(node_with("n", 4)));
  JobRequest first = job_of("first", 0, 100, 2);
  first.needs.on = {"n"};
  first.needs.these = {"n-1", "n-3"};
  JobRequest second = first;
  second.id = "second";
  ASSERT_TRUE(scheduler.submit(first));
  ASSERT_TRUE(scheduler.submit(second));
  const auto decision = scheduler.decide(at_second(1));
  ASSERT_EQ(decision.start.size(), 1U);
  EXPECT_THAT(decision.start[0].shares[0].gpus, testing::ElementsAre("n-1", "n-3"));
  ASSERT_TRUE(scheduler.ended("first", JobOutcome::succeeded, at_second(2)));
  EXPECT_THAT(ids_of(scheduler.decide(at_second(2))), testing::ElementsAre("second"));
  JobRequest anywhere = first;
  anywhere.id = "anywhere";
  anywhere.needs.on.clear();
  EXPECT_FALSE(scheduler.submit(anywhere)) << "of which node?";
  JobRequest gone = first;
  gone.id = "gone";
  gone.needs.these = {"n-1", "n-9"};
  ASSERT_TRUE(scheduler.submit(gone));
  EXPECT_EQ(scheduler.explain("gone", at_second(2))->reason, WaitReason::no_such_node);
}

TEST(SchedulerOfNodes, AClosedNodeKeepsWhatItDoesAndTakesNothing) {
  Scheduler scheduler;
  NodeOffer offer = node_with("n", 2);
  ASSERT_TRUE(scheduler.node_up(offer));
  ASSERT_TRUE(scheduler.submit(job_of("a", 0, 100)));
  ASSERT_EQ(scheduler.decide(at_second(1)).start.size(), 1U);
  offer.closed = "is draining";
  ASSERT_TRUE(scheduler.node_up(offer));
  JobRequest pinned = job_of("b", 1, 100);
  pinned.needs.on = {"n"};
  ASSERT_TRUE(scheduler.submit(pinned));
  ASSERT_TRUE(scheduler.submit(job_of("c", 1, 100)));
  EXPECT_THAT(ids_of(scheduler.decide(at_second(2))), testing::IsEmpty());
  EXPECT_EQ(scheduler.running(), 1U);
  EXPECT_THAT(scheduler.explain("b", at_second(2))->sentence, testing::HasSubstr("node 'n' is draining"));
  EXPECT_EQ(scheduler.explain("c", at_second(2))->reason, WaitReason::no_such_node);
  offer.closed.clear();
  ASSERT_TRUE(scheduler.node_up(offer));
  EXPECT_EQ(scheduler.decide(at_second(3)).start.size(), 1U) << "one GPU is still in use";
}

TEST(SchedulerOfNodes, WhatWasTakenBackWaitsAgain) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.node_up(node_with("n", 1)));
  ASSERT_TRUE(scheduler.submit(job_of("a", 0, 100)));
  ASSERT_EQ(scheduler.decide(at_second(1)).start.size(), 1U);
  ASSERT_TRUE(scheduler.take_back("a", at_second(2)));
  EXPECT_EQ(scheduler.waiting(), 1U);
  EXPECT_EQ(scheduler.running(), 0U);
  EXPECT_EQ(scheduler.decide(at_second(2)).start.size(), 1U);
  EXPECT_FALSE(scheduler.take_back("nobody", at_second(2)));
}

TEST(SchedulerOfNodes, AJobThatWaitsCanBeChanged) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.node_up(node_with("n", 1)));
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(scheduler.submit(job_of(id, 0, 100)));
  ASSERT_THAT(ids_of(scheduler.decide(at_second(1))), testing::ElementsAre("a"));
  JobRequest urgent = job_of("c", 0, 100);
  urgent.priority = 5;
  ASSERT_TRUE(scheduler.change(urgent, at_second(1)));
  ASSERT_TRUE(scheduler.ended("a", JobOutcome::succeeded, at_second(2)));
  EXPECT_THAT(ids_of(scheduler.decide(at_second(2))), testing::ElementsAre("c"));
  JobRequest later = job_of("b", 0, 100);
  later.not_before = at_second(50);
  later.attempt = 2;
  ASSERT_TRUE(scheduler.change(later, at_second(2)));
  ASSERT_TRUE(scheduler.ended("c", JobOutcome::succeeded, at_second(3)));
  EXPECT_THAT(ids_of(scheduler.decide(at_second(3))), testing::IsEmpty());
  EXPECT_EQ(scheduler.explain("b", at_second(3))->reason, WaitReason::retry_delay);
  EXPECT_THAT(ids_of(scheduler.decide(at_second(60))), testing::ElementsAre("b"));
}

TEST(SchedulerOfNodes, APreviewSaysWhereAndWhenAndChangesNothing) {
  Scheduler scheduler;
  ASSERT_TRUE(scheduler.node_up(node_with("n", 1)));
  ASSERT_TRUE(scheduler.submit(job_of("a", 0, 100)));
  scheduler.decide(at_second(0));
  ASSERT_TRUE(scheduler.submit(job_of("b", 1, 50)));
  const auto preview = scheduler.preview(job_of("x", 2, 10), at_second(2));
  ASSERT_TRUE(preview.ok());
  ASSERT_TRUE(preview->forecast.has_value());
  EXPECT_THAT(preview->forecast->nodes, testing::ElementsAre("n"));
  EXPECT_GE(preview->forecast->expected_start, at_second(100)) << "after the one that runs";
  EXPECT_LE(preview->forecast->expected_start, at_second(150));
  JobRequest large = job_of("y", 2, 10, 8);
  EXPECT_THAT(scheduler.preview(large, at_second(2))->never, testing::HasSubstr("8 × GPU"));
  EXPECT_EQ(scheduler.waiting(), 1U);
  const auto all = scheduler.explain_all(at_second(2));
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.at("b").sentence, scheduler.explain("b", at_second(2))->sentence);
  EXPECT_EQ(all.at("b").expected_start, scheduler.explain("b", at_second(2))->expected_start);
}

/// Nodes with two GPUs of which the last has a maintenance from 1000 to 2000.
class SchedulerMaintenance : public testing::Test {
 protected:
  void up(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      NodeOffer offer = node_with(fmt::format("n{}", i), 2);
      if (i + 1 == nodes) offer.maintenance = {at_second(1000), at_second(2000)};
      ASSERT_TRUE(scheduler_.node_up(offer));
    }
  }
  void submit(const JobRequest& job) { ASSERT_TRUE(scheduler_.submit(job)); }
  std::vector<std::string> decide(double now) { return ids_of(scheduler_.decide(at_second(now))); }

  Scheduler scheduler_;
};

TEST_F(SchedulerMaintenance, SaysThatAJobMightRunIntoItAndWhenItStarts) {
  up(1);
  submit(job_of("long", 0, 1500));
  EXPECT_THAT(decide(0), testing::IsEmpty());
  const auto report = *scheduler_.explain("long", at_second(0));
  EXPECT_EQ(report.reason, WaitReason::maintenance);
  EXPECT_THAT(report.sentence, testing::HasSubstr("the maintenance of n0, from 1970-01-01T00:16:40"));
  EXPECT_EQ(report.expected_start, at_second(2000));
  EXPECT_EQ(scheduler_.preview(job_of("other", 0, 900), at_second(0))->forecast->expected_start, at_second(0));
  JobRequest limited = job_of("limited", 0, 1500);
  limited.time_limit = std::chrono::seconds(900);
  submit(limited);
  EXPECT_THAT(decide(1), testing::ElementsAre("limited")) << "it is ended in time, whatever it does";
  ASSERT_TRUE(scheduler_.ended("limited", JobOutcome::succeeded, at_second(901)));
  EXPECT_THAT(decide(2000), testing::ElementsAre("long"));
}

/// Small jobs would keep it waiting until then otherwise: where the whole cluster has a maintenance next week, too.
TEST_F(SchedulerMaintenance, NodesAreEmptiedForAGangThatEndsBeforeIt) {
  up(1);
  submit(job_of("one", 0, 50));
  submit(job_of("two", 0, 60));
  EXPECT_THAT(decide(0), testing::SizeIs(2));
  submit(job_of("gang", 1, 30, 2));
  for (int i = 0; i < 20; ++i) submit(job_of(fmt::format("s{}", i), 2, 70));
  EXPECT_THAT(decide(2), testing::IsEmpty());
  ASSERT_TRUE(scheduler_.ended("one", JobOutcome::succeeded, at_second(50)));
  EXPECT_THAT(decide(50), testing::IsEmpty()) << "its node is being emptied";
  EXPECT_EQ(scheduler_.explain("gang", at_second(50))->reason, WaitReason::set_aside);
  ASSERT_TRUE(scheduler_.ended("two", JobOutcome::succeeded, at_second(60)));
  EXPECT_THAT(decide(60), testing::ElementsAre("gang"));
}

TEST_F(SchedulerMaintenance, AGangThatHasBecomeTooLateForItKeepsNobodyWaiting) {
  up(1);
  submit(job_of("late", 0, 500));
  EXPECT_THAT(decide(0), testing::SizeIs(1));
  submit(job_of("gang", 1, 400, 2));
  EXPECT_THAT(decide(1), testing::IsEmpty());
  EXPECT_EQ(scheduler_.explain("gang", at_second(1))->reason, WaitReason::set_aside);
  // The other job takes longer than was thought, and now the gang would not have ended in time.
  submit(job_of("short", 2, 200));
  EXPECT_THAT(decide(700), testing::ElementsAre("short"));
  for (const char* id : {"short", "late"}) ASSERT_TRUE(scheduler_.ended(id, JobOutcome::succeeded, at_second(900)));
  EXPECT_THAT(decide(900), testing::IsEmpty());
  EXPECT_EQ(scheduler_.explain("gang", at_second(900))->reason, WaitReason::maintenance);
  EXPECT_THAT(decide(2000), testing::ElementsAre("gang"));
}

TEST_F(SchedulerMaintenance, WhoComesBehindALongJobFillsTheTimeBeforeIt) {
  up(1);
  submit(job_of("long", 0, 1500));
  EXPECT_THAT(decide(0), testing::IsEmpty());
  submit(job_of("longer", 1, 2500));
  submit(job_of("short", 1, 100));
  EXPECT_THAT(decide(1), testing::ElementsAre("short"));
  EXPECT_THAT(decide(2000), testing::ElementsAre("long"));
}

TEST_F(SchedulerMaintenance, WhoHasTheChoiceGoesElsewhere) {
  up(2);
  submit(job_of("long", 0, 1500, 2));
  EXPECT_EQ(scheduler_.decide(at_second(0)).start.at(0).shares[0].node, "n0");
  NodeOffer called_off = node_with("n1", 2);
  submit(job_of("next", 0, 1500, 2));
  EXPECT_THAT(decide(1), testing::IsEmpty());
  ASSERT_TRUE(scheduler_.node_up(called_off));
  EXPECT_THAT(decide(2), testing::ElementsAre("next")) << "the maintenance was called off";
}

}  // namespace
}  // namespace assay
