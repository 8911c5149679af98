// Which run starts where and when, and what a restart must not change of that.

#include "accounts/accounts.h"
#include "leader/run_desk.h"
#include "leader/run_desk_fixture.h"
#include "model/maintenance.h"
#include "model/run.h"
#include "store/account_tables.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RunQueueTest : public RunDeskTest {};

TEST_F(RunQueueTest, ARunThatNamesNoNodeGoesWhereItFits) {
  const auto cpu = asked(anywhere(planned()));
  EXPECT_EQ(node_of(cpu), "gpu02") << "nodes without GPUs are for those that need none";
  const auto second = asked(anywhere(planned()));
  EXPECT_EQ(node_of(second), "gpu01");
  const auto third = asked(anywhere(planned()));
  EXPECT_EQ(queued(third).reason, "gpus_busy");
  EXPECT_THAT(queued(third).why, HasSubstr("CPUs"));
  EXPECT_EQ(queued(third).needs, "the CPUs of a node");
  const auto gpu = asked(anywhere(training(2)));
  EXPECT_EQ(node_of(gpu), "gpu01");
  EXPECT_THAT(queued(gpu).gpus, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(runs_->find_run(gpu)->placement.node, "gpu01") << "it is stored before anybody hears of it";
  EXPECT_THAT(told("gpu02"), ElementsAre(cpu));
  end(taken(cpu, "gpu02"));
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(third));
}

TEST_F(RunQueueTest, GpusThatWereAskedForByNameAreWaitedFor) {
  const auto first = asked(RunRequest{.plan = {training(1)}, .node = "gpu01", .gpus = {{"GPU-b"}}});
  EXPECT_THAT(queued(first).gpus, ElementsAre("GPU-b"));
  const auto second = asked(RunRequest{.plan = {training(1)}, .node = "gpu01", .gpus = {{"GPU-b"}}});
  const auto third = asked(anywhere(training(1)));
  EXPECT_THAT(queued(third).gpus, ElementsAre("GPU-a")) << "the other one is free for others";
  EXPECT_EQ(queued(second).reason, "gpus_busy");
  end(taken(first));
  tick();
  EXPECT_THAT(queued(second).gpus, ElementsAre("GPU-b"));
  const auto none = asked(RunRequest{.plan = {training(1)}, .node = "gpu01", .gpus = std::vector<std::string>{}});
  EXPECT_THAT(queued(none).gpus, IsEmpty()) << "none of them is the CPUs";
  EXPECT_EQ(queued(none).node, "gpu01");
}

TEST_F(RunQueueTest, RunsFindTheGpusThatTheyAskFor) {
  const auto gpu = [](const std::string& id, const char* model, const char* memory, const char* group = nullptr) {
    DeviceFacts device{.id = id, .facts = {{"name", model}, {"memory_bytes", memory}}};
    if (group != nullptr) device.facts["link_group"] = group;
    return device;
  };
  join_with("big", {gpu("GPU-h1", "NVIDIA H200", "150754820096"), gpu("GPU-h2", "NVIDIA H200", "150754820096")}, {});
  join_with("small",
            {gpu("GPU-v1", "Tesla V100", "34359738368"), gpu("GPU-v2", "Tesla V100", "34359738368", "1"),
             gpu("GPU-v3", "Tesla V100", "34359738368", "1")},
            {});
  const auto asking = [&](json::object wish, int ranks) {
    auto one = training(ranks);
    one.spec["gpu"] = std::move(wish);
    return asked(anywhere(std::move(one)));
  };
  const auto h200 = asking({{"model", "H200"}}, 1);
  EXPECT_EQ(node_of(h200), "big");
  EXPECT_EQ(node_of(asking({{"model", "v100"}}, 1)), "small");
  EXPECT_EQ(node_of(asking({{"memory", 100'000'000'000}}, 1)), "big");
  const auto third = asking({{"memory", 100'000'000'000}}, 1);
  EXPECT_EQ(queued(third).reason, "gpus_busy") << "the others have too little";
  EXPECT_THAT(queued(asking({{"linked", true}}, 2)).gpus, ElementsAre("GPU-v2", "GPU-v3"));
  const auto never = asking({{"model", "B200"}, {"memory", 10'000'000'000}}, 1);
  EXPECT_EQ(node_of(never), "") << "it waits for such a GPU, and does not run on a CPU instead";
  EXPECT_THAT(queued(never).why, HasSubstr("1 × B200 with 9.31 GiB"));
}

TEST_F(RunQueueTest, RunsGoToTheirDataAndGangsToOneRack) {
  join_with("holder", {{.id = "GPU-d", .facts = {}}}, {{"holds", "/data/other,/data/cifar10"}});
  auto reads = training(1);
  reads.spec["dataset"] = json::object{{"name", "cifar10:/data/cifar10"}};
  EXPECT_EQ(node_of(asked(anywhere(reads))), "holder");
  addresses_ = "10.0.0.1";
  for (const auto& [name, rack] :
       {std::pair{"east1", "east"}, {"west1", "west"}, {"west2", "west"}, {"north1", "north"}}) {
    join_with(name, {{.id = std::string("GPU-") + name, .facts = {}}}, {{"rack", rack}});
  }
  auto gang = training(2);
  gang.nodes = 2;
  EXPECT_EQ(node_of(asked(anywhere(gang))), "west1") << "with west2";
}

TEST_F(RunQueueTest, ACommandGetsAllGpusOfANode) {
  const auto command = asked(anywhere(planned({{"kind", "command"}, {"command", "true"}})));
  EXPECT_THAT(queued(command).gpus, ElementsAre("GPU-a", "GPU-b"));
  const auto beside = asked(anywhere(training(1)));
  EXPECT_EQ(queued(beside).reason, "gpus_busy");
}

TEST_F(RunQueueTest, WhatANodeHasNotTakenGoesElsewhereWhenItIsSilent) {
  const auto run = asked(anywhere(planned()));
  ASSERT_EQ(node_of(run), "gpu02");
  silent_ = {"gpu02"};
  pass(std::chrono::minutes(1));
  EXPECT_EQ(node_of(run), "gpu01");
  EXPECT_THAT(told("gpu02"), IsEmpty());
  EXPECT_EQ(desk().take("gpu02", run).error().kind, ErrorKind::not_found) << "it comes too late";
  const auto pinned = asked({planned()}, "gpu02");
  EXPECT_EQ(queued(pinned).reason, "no_such_node");
  EXPECT_THAT(queued(pinned).why, HasSubstr("'gpu02' is not heard of"));
  silent_.clear();
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(pinned));
}

TEST_F(RunQueueTest, ANodeThatIsDrainedKeepsWhatItDoesAndGetsNothing) {
  const auto run = asked({planned()}, "gpu02");
  const auto lease = taken(run, "gpu02");
  ASSERT_TRUE(leader_->set_draining("gpu02", true, "new fans", "ada").ok());
  const auto next = asked({planned()}, "gpu02");
  EXPECT_THAT(told("gpu02"), ElementsAre(run));
  EXPECT_THAT(queued(next).why, HasSubstr("new fans"));
  end(lease);
  tick();
  EXPECT_THAT(told("gpu02"), IsEmpty());
  ASSERT_TRUE(leader_->set_draining("gpu02", false, "", "ada").ok());
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(next));
}

TEST_F(RunQueueTest, ARunThatMightNotEndBeforeAMaintenanceWaitsForItsEnd) {
  const auto now = clock_.wall();
  const Maintenance maintenance{.from = now + std::chrono::hours(1), .until = now + std::chrono::hours(3)};
  ASSERT_TRUE(leader_->set_draining("gpu02", true, "new fans", "ada", maintenance).ok());
  const auto longer = asked({lasting(7200)}, "gpu02");
  EXPECT_EQ(queued(longer).reason, "maintenance");
  EXPECT_THAT(queued(longer).why, HasSubstr("gpu02"));
  EXPECT_EQ(queued(longer).expected_start, maintenance.until);
  const auto shorter = asked({lasting(60)}, "gpu02");
  EXPECT_THAT(told("gpu02"), ElementsAre(shorter));
  const auto lease = taken(shorter, "gpu02");
  end(lease);
  pass(std::chrono::hours(1));
  leader_->look_at_states();
  tick();
  EXPECT_EQ(queued(longer).reason, "no_such_node");
  EXPECT_THAT(queued(longer).why, HasSubstr("'gpu02' is in maintenance until "));
  pass(std::chrono::hours(2));
  leader_->look_at_states();
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(longer));
}

TEST_F(RunQueueTest, MoreUrgentRunsComeFirst) {
  const auto first = asked({planned()}, "gpu02");
  const auto usual = asked({planned()}, "gpu02");
  const auto urgent = asked(RunRequest{.plan = {planned()}, .node = "gpu02", .priority = 1});
  const auto later = asked({planned()}, "gpu02");
  ASSERT_TRUE(desk().set_priority(later, 2).ok());
  std::vector<std::string> order;
  const auto queue = **desk().queue();
  for (const auto& run : queue) order.push_back(run.run);
  EXPECT_THAT(order, ElementsAre(first, later, urgent, usual));
  end(taken(first, "gpu02"));
  open();
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(later)) << "also after a restart";
  taken(later, "gpu02");
  EXPECT_EQ(desk().set_priority(later, 1).error().kind, ErrorKind::busy) << "it has begun";
  EXPECT_EQ(desk().set_priority("nobody", 1).error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk().set_priority(usual, 2'000'000).error().kind, ErrorKind::usage);
}

TEST_F(RunQueueTest, ARunThatIsToHaveEndedSoonComesInTime) {
  const auto busy = asked({lasting(60)}, "gpu02");
  const auto lease = taken(busy, "gpu02");
  const auto shorter = asked({lasting(60)}, "gpu02");
  RunRequest request{.plan = {lasting(600)}, .node = "gpu02"};
  request.deadline = clock_.wall() + std::chrono::minutes(20);
  const auto due = asked(request);
  EXPECT_EQ(queued(due).deadline, request.deadline);
  open();
  EXPECT_EQ(queued(due).deadline, request.deadline) << "also for the next leader";
  end(lease);
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(due)) << "though it is longer";
  EXPECT_EQ(queued(shorter).reason, "gpus_busy");
}

TEST_F(RunQueueTest, ATimeLimitCountsFromTheStart) {
  const auto run = asked({planned({{"kind", "null"}, {"device", "cpu"}, {"time_limit", 1800}})}, "gpu02");
  const auto lease = taken(run, "gpu02");
  ASSERT_TRUE(runs_->renew_lease(lease, std::chrono::hours(10)).ok());
  pass(std::chrono::minutes(40));
  EXPECT_THAT(told("gpu02"), ElementsAre(run)) << "it may wait in a queue of its node's";
  const auto now = clock_.wall();
  ASSERT_TRUE(runs_
                  ->change_owned(lease,
                                 [&](Run& running) -> Result<void> {
                                   running.state = RunState::running;
                                   running.started = now;
                                   return {};
                                 })
                  .ok());
  tick();
  pass(std::chrono::minutes(31));
  EXPECT_THAT(told("gpu02"), ElementsAre(run)) << "its node ends it by itself";
  pass(std::chrono::minutes(2));
  EXPECT_THAT(told("gpu02"), ElementsAre(run + "!"));
}

/// Agents that report wait for whoever makes a picture of the queue: many viewers are no reason to make many.
TEST_F(RunQueueTest, ALongQueueIsDrawnOnceForAllWhoLookWithinAMoment) {
  asked({planned()}, "gpu02");
  const auto waiting = asked({planned()}, "gpu02");
  const auto short_queue = *desk().queue();
  ASSERT_TRUE(desk().set_priority(waiting, -1).ok());
  EXPECT_EQ((*desk().queue())->back().priority, -1) << "of a short one everybody sees the newest";
  EXPECT_EQ(short_queue->back().priority, 0) << "whoever looks keeps what they see";
  for (int i = 0; i < 500; ++i) asked({planned()}, "gpu02");
  const auto picture = *desk().queue();
  EXPECT_EQ(*desk().queue(), picture);
  clock_.advance(std::chrono::seconds(5));
  EXPECT_NE(*desk().queue(), picture);
}

TEST_F(RunQueueTest, ShortRunsOvertakeLongOnesOnceLengthsAreKnown) {
  // Ended runs teach what a run takes; without them the specification does.
  const auto busy = asked({lasting(60)}, "gpu02");
  const auto lease = taken(busy, "gpu02");
  for (int i = 0; i < 20; ++i) asked({lasting(i % 2 == 0 ? 7200 : 60)}, "gpu02");
  const auto queue = **desk().queue();
  ASSERT_EQ(queue.size(), 21U);
  EXPECT_EQ(queue[1].length.seconds, 60);
  EXPECT_EQ(queue.back().length.seconds, 7200);
  EXPECT_EQ(queue[1].length.from_runs, 0U) << "a guess";
  EXPECT_TRUE(queue[1].expected_start.has_value());
  EXPECT_LE(*queue[1].expected_start, *queue[2].expected_start);
  end(lease);
}

TEST_F(RunQueueTest, LengthsAreLearntFromRunsThatEnded) {
  const auto take_a_while = [&] {
    const auto run = asked({planned({{"kind", "null"}, {"seed", 1}})}, "gpu02");
    const auto lease = taken(run, "gpu02");
    const WallTime began = clock_.wall();
    clock_.advance(std::chrono::seconds(50));
    EXPECT_TRUE(runs_
                    ->change_owned(lease,
                                   [&](Run& ended) -> Result<void> {
                                     ended.state = RunState::ended;
                                     ended.verdict = Verdict::valid;
                                     ended.started = began;
                                     ended.ended = clock_.wall();
                                     return {};
                                   })
                    .ok());
    tick();
  };
  take_a_while();
  take_a_while();
  const auto next = asked({planned({{"kind", "null"}, {"seed", 2}})}, "gpu02");
  EXPECT_NEAR(queued(next).length.seconds, 50, 1) << "another seed takes as long";
  EXPECT_EQ(queued(next).length.from_runs, 2U);
  open();
  EXPECT_EQ(queued(next).length.from_runs, 2U) << "learnt again from what is stored";
}

TEST_F(RunQueueTest, OfFreeGpusARunGetsThoseOnWhichItEndsSoonest) {
  const auto of_model = [](const std::string& id, const char* model) {
    return DeviceFacts{.id = id, .facts = {{"name", model}}};
  };
  join_with("a-old", {of_model("GPU-v", "Tesla V100")}, {});
  join_with("new", {of_model("GPU-h", "NVIDIA H200")}, {});
  const auto take = [&](const std::string& node, const std::string& model, int seconds) {
    const auto run = asked({training(1)}, node);
    const auto lease = taken(run, node);
    const WallTime began = clock_.wall();
    clock_.advance(std::chrono::seconds(seconds));
    ASSERT_TRUE(runs_
                    ->change_owned(lease,
                                   [&](Run& ended) -> Result<void> {
                                     ended.state = RunState::ended;
                                     ended.verdict = Verdict::valid;
                                     ended.provenance.gpus.emplace_back().name = model;
                                     ended.started = began;
                                     ended.ended = clock_.wall();
                                     return {};
                                   })
                    .ok());
    tick();
  };
  asked({planned({{"kind", "command"}, {"command", "true"}})}, "gpu01");  // GPUs of which nothing is known
  take("a-old", "Tesla V100", 50);
  const auto first = asked(anywhere(training(1)));
  EXPECT_EQ(node_of(first), "a-old") << "nothing is known of the other";
  end(taken(first, "a-old"));
  tick();
  take("new", "NVIDIA H200", 20);
  EXPECT_EQ(desk().preview(anywhere(training(1)))->at(0).node, "new");
  EXPECT_EQ(node_of(asked(anywhere(training(1)))), "new");
  EXPECT_EQ(node_of(asked(anywhere(training(1)))), "a-old") << "rather than wait";
}

/// Users' runs of one GPU each: whoever is first gets the next one.
class FairShareTest : public RunQueueTest {
 protected:
  RunRequest of(const std::string& user, PlannedRun planned = training(1)) {
    RunRequest request = anywhere(std::move(planned));
    request.by = user;
    request.owner = "user " + user;
    return request;
  }
  /// It has run for so long; its agent renewed its lease all the time.
  void end_after(const std::string& run, Nanos time) {
    const WallTime began = clock_.wall();
    taken(run);
    clock_.advance(time);
    const auto lease = runs_->take_run(run, {.owner = "gpu01", .length = std::chrono::minutes(1)});
    ASSERT_TRUE(lease.ok());
    ASSERT_TRUE(runs_
                    ->change_owned(*lease,
                                   [&](Run& ended) -> Result<void> {
                                     ended.state = RunState::ended;
                                     ended.verdict = Verdict::failed;
                                     ended.started = began;
                                     ended.ended = clock_.wall();
                                     return {};
                                   })
                    .ok());
    tick();
  }
  /// Two others have the GPUs, then bob asks, then ada: whose run is next?
  std::string next_of_bob_and_ada() {
    const auto one = asked(of("cleo"));
    const auto other = asked(of("dora"));
    asked(of("bob"));
    asked(of("ada"));
    end(taken(one));
    tick();
    const auto queue = **desk().queue();
    for (const auto& run : queue) {
      if (run.run != other && run.reason.empty()) return run.by;
    }
    return "nobody";
  }
};

TEST_F(FairShareTest, WhoCameFirstIsFirst) { EXPECT_EQ(next_of_bob_and_ada(), "bob"); }

TEST_F(FairShareTest, WhoHasUsedMuchStandsBack) {
  end_after(asked(of("bob", training(2))), std::chrono::hours(8));
  EXPECT_EQ(next_of_bob_and_ada(), "ada") << "bob had the whole cluster just now";
}

TEST_F(FairShareTest, UseFromBeforeARestartCounts) {
  const auto run = asked(of("bob", training(2)));
  const OwnerTable::Owned owned{.kind = OwnerTable::Owned::Kind::run, .id = run};
  ASSERT_TRUE(cluster_.accounts().owners().note(owned, "user bob", clock_.wall()).ok());
  end_after(run, std::chrono::hours(8));
  open();
  EXPECT_EQ(next_of_bob_and_ada(), "ada");
}

TEST_F(RunQueueTest, AQuotaOfGpusIsKept) {
  ASSERT_TRUE(leader_->accounts().quotas().put({.user = "", .gpus_at_once = 1}).ok());
  const auto owned = [&](PlannedRun planned) {
    return RunRequest{.plan = {std::move(planned)}, .node = "gpu01", .by = "bob", .owner = "user bob"};
  };
  tick();
  const auto first = asked(owned(training(1)));
  tick();
  const auto second = asked(owned(training(1)));
  tick();
  EXPECT_THAT(told(), ElementsAre(first));
  EXPECT_EQ(queued(second).reason, "quota");
  EXPECT_THAT(queued(second).why, HasSubstr("1 of 1 GPUs"));
  const auto too_many = asked(owned(training(2)));
  EXPECT_THAT(queued(too_many).why, HasSubstr("will never start"));
  ASSERT_TRUE(leader_->accounts().quotas().put({.user = "", .gpus_at_once = 2}).ok());
  tick();
  EXPECT_THAT(told(), UnorderedElementsAre(first, second));
}

TEST_F(RunQueueTest, WhatARunNeedsFollowsWhatThereIs) {
  silent_ = {"gpu01", "gpu02"};
  clock_.advance(std::chrono::minutes(1));
  const auto run = asked({training(4)}, "gpu02");
  EXPECT_EQ(queued(run).needs, "the CPUs of gpu02");
  silent_.clear();
  join("gpu02", {"GPU-x"});
  tick();
  EXPECT_THAT(queued(run).gpus, ElementsAre("GPU-x")) << "it has got a GPU meanwhile";
}

TEST_F(RunQueueTest, AnOrderIsPreviewedAndNothingIsStored) {
  const auto busy = asked({lasting(60)}, "gpu02");
  const auto runs = desk().preview({.plan = {lasting(100), lasting(100)}, .name = "x", .node = "gpu02", .by = "ada"});
  ASSERT_TRUE(runs.ok()) << runs.error().text();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].node, "gpu02");
  EXPECT_EQ((*runs)[0].length.seconds, 100);
  EXPECT_NEAR(seconds_of(*(*runs)[0].expected_start - clock_.wall()), 60, 1);
  EXPECT_NEAR(seconds_of(*(*runs)[1].expected_start - clock_.wall()), 160, 1) << "one after the other";
  EXPECT_GT(*(*runs)[0].late_start, *(*runs)[0].expected_start);
  auto cuda = planned({{"kind", "train"}, {"device", "cuda"}});
  cuda.ranks = 1;
  const auto nowhere = desk().preview({.plan = {cuda}, .name = "x", .node = "gpu02", .by = "ada"});
  EXPECT_EQ(nowhere->at(0).node, "");
  EXPECT_THAT(nowhere->at(0).why, HasSubstr("1 × GPU"));
  EXPECT_EQ(desk().preview({.plan = {planned()}, .node = "nobody"}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(runs_->list_runs({})->total, 1);
  EXPECT_THAT(**desk().queue(), testing::SizeIs(1));
}

TEST_F(RunQueueTest, ANodeThatKeepsNoTimeLimitIsToldToStop) {
  const auto run = asked({planned({{"kind", "null"}, {"time_limit", 60}})}, "gpu02");
  const auto lease = taken(run, "gpu02");
  ASSERT_TRUE(runs_
                  ->change_owned(lease,
                                 [&](Run& begun) -> Result<void> {
                                   begun.state = RunState::running;
                                   begun.started = clock_.wall();
                                   return {};
                                 })
                  .ok());
  tick();
  pass(std::chrono::seconds(90));
  EXPECT_THAT(told("gpu02"), ElementsAre(run)) << "it ends by itself, as a rule";
  pass(std::chrono::seconds(120));
  EXPECT_THAT(told("gpu02"), ElementsAre(run + "!"));
  open();
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(run + "!"));
}

TEST_F(RunQueueTest, ARunWhoseGpuIsGoneIsNotBegunTwice) {
  const auto run = asked({training(2)});
  const auto lease = taken(run);
  leader_.reset();
  open();
  join("gpu01", {"GPU-a"});
  tick();
  EXPECT_THAT(told(), ElementsAre(run));
  EXPECT_EQ(queued(run).state, RunState::starting);
  end(lease);
  tick();
  EXPECT_THAT(**desk().queue(), IsEmpty());
}

}  // namespace
}  // namespace assay
