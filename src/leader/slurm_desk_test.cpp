#include "leader/slurm_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "leader/leader_options.h"
#include "leader/run_desk_fixture.h"
#include "protocol/hello.h"
#include "protocol/slurm_report.h"
#include "store/run_store.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

SlurmReport report_of(std::vector<SlurmQueueEntry> jobs) { return {.jobs = {.jobs = std::move(jobs)}, .problem = {}}; }

SlurmQueueEntry running(std::string id, std::string user, std::string nodes) {
  return {.id = std::move(id), .user = std::move(user), .state = "RUNNING", .nodes = std::move(nodes)};
}

class SlurmDeskTest : public testing::Test {
 protected:
  ManualClock clock_;
  SlurmDesk desk_{{.told_by = "login1"}, clock_};
};

TEST_F(SlurmDeskTest, OnlyTheNodeThatWasNamedIsBelieved) {
  const auto other = desk_.take("gpu03", report_of({running("1", "eve", "gpu01")}));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::denied);
  EXPECT_THAT(other.error().hint, HasSubstr("slurm_from"));
  EXPECT_FALSE(desk_.view().as_of);
  const SlurmDesk deaf({}, clock_);
  EXPECT_EQ(deaf.use_of("gpu01"), "") << "where nobody is to tell nothing waits";
}

TEST_F(SlurmDeskTest, SaysWhoUsesANode) {
  ASSERT_TRUE(desk_
                  .take("login1", report_of({running("1", "ada", "gpu[01-02]"),
                                             running("2", "", "gpu02"),
                                             {.id = "3", .user = "bob", .state = "PENDING", .reason = "Resources"}}))
                  .ok());
  EXPECT_EQ(desk_.use_of("gpu01"), "is used by Slurm job 1 (ada)");
  EXPECT_EQ(desk_.use_of("gpu02"), "is used by Slurm jobs 1 (ada), 2");
  EXPECT_EQ(desk_.use_of("gpu03"), "");
  EXPECT_THAT(desk_.view().jobs.jobs, SizeIs(3));
  std::vector<SlurmQueueEntry> many;
  for (int i = 1; i <= 5; ++i) many.push_back(running(std::to_string(i), "ada", "gpu01"));
  ASSERT_TRUE(desk_.take("login1", report_of(std::move(many))).ok());
  EXPECT_EQ(desk_.use_of("gpu01"), "is used by Slurm jobs 1 (ada), 2 (ada), 3 (ada) and 2 more");
  EXPECT_EQ(desk_.use_of("gpu02"), "") << "the newest word counts alone";
}

TEST_F(SlurmDeskTest, WhatWasKnownHoldsForAWhile) {
  ASSERT_TRUE(desk_.take("login1", report_of({running("1", "ada", "gpu01")})).ok());
  const auto as_of = clock_.wall();
  clock_.advance(5min);
  ASSERT_TRUE(desk_.take("login1", {.jobs = {}, .problem = "Slurm does not answer"}).ok());
  EXPECT_EQ(desk_.view().as_of, as_of);
  EXPECT_EQ(desk_.view().problem, "Slurm does not answer");
  EXPECT_THAT(desk_.view().jobs.jobs, SizeIs(1));
  EXPECT_NE(desk_.use_of("gpu01"), "");
  clock_.advance(5min);
  EXPECT_FALSE(desk_.view().as_of);
  EXPECT_EQ(desk_.use_of("gpu01"), "") << "an agent that is gone keeps nobody waiting for ever";
}

TEST_F(SlurmDeskTest, AnAgentThatFellSilentIsSeen) {
  ASSERT_TRUE(desk_.take("login1", report_of({})).ok());
  EXPECT_EQ(desk_.view().problem, "");
  clock_.advance(2min);
  EXPECT_THAT(desk_.view().problem, HasSubstr("says nothing more"));
}

TEST_F(SlurmDeskTest, AfterAStartNothingBeginsBeforeTheFirstWord) {
  EXPECT_THAT(desk_.use_of("gpu01"), HasSubstr("has not told yet"));
  clock_.advance(31s);
  EXPECT_EQ(desk_.use_of("gpu01"), "");
  SlurmDesk told({.told_by = "login1"}, clock_);
  ASSERT_TRUE(told.take("login1", report_of({})).ok());
  EXPECT_EQ(told.use_of("gpu01"), "");
}

/// A leader that hears of Slurm from the node `login1`.
class RunsBesideSlurm : public RunDeskTest {
 protected:
  void SetUp() override {
    LeaderOptions options;
    options.slurm.told_by = "login1";
    open(std::move(options));
    join("gpu01", {"GPU-a", "GPU-b"});
    join("gpu02", {});
    slurm_uses("");
    tick();
  }
  void slurm_uses(const std::string& nodes) {
    EXPECT_TRUE(leader_->slurm().take("login1", report_of({running("7", "ada", nodes)})).ok());
  }
};

TEST_F(RunsBesideSlurm, NothingBeginsOnANodeThatSlurmUses) {
  slurm_uses("gpu01");
  tick();
  const auto run = asked({training(1)});
  tick();
  EXPECT_EQ(state_of(run), RunState::queued);
  EXPECT_THAT(queued(run).why, HasSubstr("is used by Slurm job 7 (ada)"));
  slurm_uses("");
  tick();
  EXPECT_THAT(told(), SizeIs(1)) << "it is over there";
}

TEST_F(RunsBesideSlurm, AnAgentWhoseRunsAreElsewhereOffersWhatTheyMayHaveThere) {
  TestAgent agent("login1", "stream-login1");
  auto said = agent.hello();
  said.allow = {"run"};
  said.facts = {{kPlaceFact, "slurm:partition=gpu"}, {kPlaceGpusFact, "3"}};
  ASSERT_TRUE(leader_->hello("login1", said).ok());
  Reading reading;
  reading.devices = {{.id = "GPU-of-the-login-node"}};
  ASSERT_TRUE(
      leader_->take_batches("login1", body_of({agent.batch(clock_.wall(), std::move(reading))}), std::nullopt).ok());
  slurm_uses("login1");
  const auto first = asked({training(2)}, "login1");
  const auto second = asked({training(2)}, "login1");
  tick();
  EXPECT_THAT(queued(first).gpus, testing::ElementsAre("any-0", "any-1"));
  EXPECT_THAT(queued(second).gpus, testing::IsEmpty()) << "one is left";
  EXPECT_EQ(queued(second).reason, "set_aside") << "as on any node that has not enough";
  for (const auto* const nonsense : {"-1", "many", "", "99999999999999999999"}) {
    said.facts[kPlaceGpusFact] = nonsense;
    ASSERT_TRUE(leader_->hello("login1", said).ok());
    tick();
  }
}

TEST_F(RunsBesideSlurm, WhatWasOfferedAndNotTakenWaitsAgain) {
  const auto run = asked(anywhere(training(1)));
  tick();
  ASSERT_EQ(node_of(run), "gpu01");
  slurm_uses("gpu[01-02]");
  tick();
  EXPECT_EQ(node_of(run), "");
  EXPECT_THAT(told(), testing::IsEmpty());
}

TEST_F(RunsBesideSlurm, WhatGoesOnIsLeftAlone) {
  const auto run = asked({training(1)});
  tick();
  const auto lease = taken(run);
  slurm_uses("gpu01");
  tick();
  EXPECT_THAT(told(), testing::ElementsAre(run)) << "neither ended nor forgotten";
  end(lease);
  tick();
  EXPECT_THAT(told(), testing::IsEmpty());
}

}  // namespace
}  // namespace assay
