// What a desk does when its leader was killed halfway, when its stores fail, and when nodes fall silent.

#include <utility>

#include "leader/leader_options.h"
#include "leader/run_desk.h"
#include "leader/run_desk_fixture.h"
#include "model/run.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/troubled_store_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RunFaultsTest : public RunDeskTest {
 protected:
  /// A study with a run for each of two nodes.
  static RunRequest side_by_side() {
    RunRequest request{.plan = {planned(), planned()}};
    request.plan[0].node = "gpu01";
    request.plan[1].node = "gpu02";
    request.owner = "user ada";
    request.key = "nightly";
    return request;
  }
  /// As when its leader was killed before it had stored the run of this node.
  void never_began(const std::string& study, const std::string& node) {
    for (const auto& run : desk().jobs_of(study)) {
      if (queued(run).node != node) continue;
      ASSERT_TRUE(cluster_.jobs().remove(run).ok());
      ASSERT_TRUE(runs_->remove_run(run).ok());
    }
  }
  static Error full() { return {.kind = ErrorKind::io, .message = "no space left on device"}; }
};

TEST_F(RunFaultsTest, AStudyOfSeveralNodesOfWhichOneHadBegunIsBegunWhole) {
  auto request = side_by_side();
  request.retries = 2;
  request.priority = -1;
  const auto study = ask(request);
  ASSERT_TRUE(study.ok()) << study.error().text();
  never_began(study->study, "gpu02");
  open();
  tick();
  const auto runs = desk().jobs_of(study->study);
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_THAT(told("gpu01"), SizeIs(1));
  ASSERT_THAT(told("gpu02"), SizeIs(1));
  const auto begun = queued(told("gpu02").front());
  EXPECT_EQ(begun.attempts, 3);
  EXPECT_EQ(begun.priority, -1);
  EXPECT_EQ(begun.owner, "user ada");
  open();
  EXPECT_THAT(desk().jobs_of(study->study), SizeIs(2)) << "once";
}

TEST_F(RunFaultsTest, WhatSomebodyHasStoppedIsNotBegunLater) {
  const auto study = ask(side_by_side());
  ASSERT_TRUE(study.ok());
  const auto lease = taken(study->run, "gpu01");
  never_began(study->study, "gpu02");
  ASSERT_TRUE(desk().stop(study->run, "ada").ok());
  open();
  EXPECT_THAT(desk().jobs_of(study->study), ElementsAre(study->run));
  end(lease, Verdict::interrupted);
}

TEST_F(RunFaultsTest, WhoAsksAgainAfterAFullDiskIsGivenAllOfIt) {
  const auto request = side_by_side();
  // Room for the first run, and for no more.
  const auto inner = std::move(runs_);
  auto troubled = std::make_unique<TroubledStore>(*inner);
  int stored = 0;
  troubled->on_call([&](std::string_view operation) {
    if (operation == "add_run" && ++stored == 2) cluster_.fail_writes(full());
  });
  runs_ = std::move(troubled);
  open();
  heartbeat();
  EXPECT_EQ(ask(request).error().kind, ErrorKind::io);
  cluster_.fail_writes({});
  const auto again = ask(request);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_THAT(desk().jobs_of(again->study), SizeIs(2));
  tick();
  EXPECT_THAT(told("gpu02"), SizeIs(1));
  leader_.reset();
  runs_.reset();
}

TEST_F(RunFaultsTest, ARunWhoseJobFoundNoRoomDoesNotWaitForEver) {
  RunRequest request = anywhere(planned());
  request.owner = "user ada";
  request.key = "nightly";
  cluster_.fail_writes(full());
  EXPECT_EQ(ask(request).error().kind, ErrorKind::io);
  EXPECT_EQ(runs_->list_runs({.conditions = {{"state", Condition::Op::not_equal, "ended"}}})->total, 0);
  EXPECT_FALSE(ask(anywhere(planned())).ok());
  cluster_.fail_writes({});
  const auto run = asked(request);
  EXPECT_EQ(state_of(run), RunState::queued);
  EXPECT_THAT(told(node_of(run)), ElementsAre(run)) << "who asks again is given one that is done";
}

/// A store of runs in which the records of single runs can be damaged.
class DamagedRunTest : public RunFaultsTest {
 protected:
  DamagedRunTest() : inner_(std::move(runs_)) {
    auto store = std::make_unique<TroubledStore>(*inner_);
    store_ = store.get();
    runs_ = std::move(store);
    open();
    heartbeat();
  }
  ~DamagedRunTest() override {
    leader_.reset();
    runs_.reset();
  }

  std::unique_ptr<RunStore> inner_;
  TroubledStore* store_ = nullptr;
};

TEST_F(DamagedRunTest, ARunThatCannotBeReadKeepsNobodyWaiting) {
  const auto damaged = asked({planned()}, "gpu02");
  const auto lease = taken(damaged, "gpu02");
  store_->damage(damaged);
  ASSERT_TRUE(inner_
                  ->change_run(damaged,
                               [](Run& run) -> Result<void> {
                                 run.tags = {"changed"};
                                 return {};
                               })
                  .ok());
  const auto other = asked({planned()}, "gpu01");
  EXPECT_THAT(told("gpu01"), ElementsAre(other));
  const auto ticked = desk().tick();
  ASSERT_FALSE(ticked.ok());
  EXPECT_THAT(ticked.error().text(), HasSubstr(damaged)) << "for those who look after the leader";
  end(taken(other, "gpu01"));
  ASSERT_FALSE(desk().tick().ok());
  EXPECT_EQ(desk().find(other).error().kind, ErrorKind::not_found) << "it is done";
  store_->damage({});
  end(lease);
  tick();
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty()) << "what could not be read then is not forgotten";
}

TEST_F(DamagedRunTest, ALeaderStartsBesideARunThatCannotBeRead) {
  const auto damaged = asked({planned()}, "gpu02");
  const auto behind = asked({planned()}, "gpu02");
  store_->damage(damaged);
  open();
  heartbeat();
  ASSERT_FALSE(desk().tick().ok());
  EXPECT_THAT(told("gpu02"), ElementsAre(behind)) << "nobody knows whether it was begun: it is not begun now";
  end(taken(behind, "gpu02"));
  ASSERT_FALSE(desk().tick().ok());
  store_->damage({});
  tick();
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(damaged)) << "it can be read again";
}

TEST_F(DamagedRunTest, ARunThatCannotBePlacedKeepsNobodyWaiting) {
  const auto first = asked({planned()}, "gpu02");
  const auto damaged = asked({planned()}, "gpu02");
  const auto behind = asked({planned()}, "gpu02");
  store_->damage(damaged);
  end(taken(first, "gpu02"));
  for (int i = 0; i < 3; ++i) {
    heartbeat();
    ASSERT_FALSE(desk().tick().ok());
  }
  EXPECT_THAT(told("gpu02"), ElementsAre(behind));
}

class LostNodeTest : public RunFaultsTest {
 protected:
  LostNodeTest() {
    LeaderOptions options;
    options.runs.patience = std::chrono::minutes(2);
    open(std::move(options));
    heartbeat();
  }
};

TEST_F(LostNodeTest, ANodeThatIsNotHeardOfGivesItsRunBackWhenTheLeaderWasTold) {
  const auto run = asked(RunRequest{.plan = {planned()}, .node = "gpu02", .retries = 1});
  taken(run, "gpu02");
  silent_ = {"gpu02"};
  const auto last_heard = iso8601(leader_->nodes().find("gpu02")->record().last_seen);
  EXPECT_EQ(queued(run).why, "");
  pass(std::chrono::seconds(59));
  EXPECT_EQ(queued(run).why, "node 'gpu02' is silent: last heard of at " + last_heard);
  pass(std::chrono::seconds(2));
  EXPECT_THAT(queued(run).why, HasSubstr("node 'gpu02' is lost: not heard of since " + last_heard));
  pass(std::chrono::seconds(117));
  EXPECT_EQ(state_of(run), RunState::starting);
  pass(std::chrono::seconds(3));
  EXPECT_EQ(state_of(run), RunState::ended);
  EXPECT_EQ(queued(run).attempt, 2) << "the next attempt begins now";
}

TEST_F(LostNodeTest, ANodeThatComesBackInTimeGoesOn) {
  const auto run = asked({planned()}, "gpu02");
  taken(run, "gpu02");
  pass(std::chrono::seconds(61));
  EXPECT_NE(queued(run).why, "");
  taken(run, "gpu02");
  tick();
  EXPECT_EQ(queued(run).why, "");
}

TEST_F(LostNodeTest, RunsThatAreDoneElsewhereOutliveTheirAgentForLonger) {
  TestAgent agent("login1", "stream-login1");
  auto said = agent.hello();
  said.allow = {"run"};
  said.facts["place"] = "slurm";
  said.facts["place_gpus"] = "2";
  ASSERT_TRUE(leader_->hello("login1", said).ok());
  const auto run = asked({planned()}, "login1");
  taken(run, "login1");
  pass(std::chrono::minutes(30));
  EXPECT_EQ(state_of(run), RunState::starting);
  pass(std::chrono::minutes(32));
  EXPECT_EQ(state_of(run), RunState::ended);
}

}  // namespace
}  // namespace assay
