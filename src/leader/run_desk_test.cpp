#include "leader/run_desk.h"

#include "leader/run_desk_fixture.h"
#include "model/run.h"
#include "model/study.h"
#include "store/journal/journal_encoder.h"
#include "store/journal_state.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(RunDeskTest, ARunIsQueuedOfferedTakenAndEnds) {
  const auto run = asked({planned()});
  EXPECT_EQ(state_of(run), RunState::queued);
  EXPECT_EQ(runs_->find_run(run)->placement.node, "gpu01");
  EXPECT_THAT(told(), ElementsAre(run));
  EXPECT_THAT(told("gpu02"), IsEmpty());

  const auto other = desk().take("gpu02", run);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::not_found);
  const auto lease = taken(run);
  EXPECT_EQ(lease.owner, "gpu01");
  EXPECT_EQ(state_of(run), RunState::starting);
  EXPECT_THAT(told(), ElementsAre(run)) << "it goes on being its own";
  end(lease);
  tick();
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
}

TEST_F(RunDeskTest, TheNodeGetsThePlanWithWhatTheRecordMustNotShow) {
  const auto run = asked(
      {planned({{"kind", "command"}, {"env", json::object{{"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz012345"}}}})});
  EXPECT_THAT(json::serialize(runs_->find_run(run)->spec), testing::Not(HasSubstr("hf_abc")));
  const auto taken = desk().take("gpu01", run);
  ASSERT_TRUE(taken.ok());
  EXPECT_THAT(json::serialize(to_json(taken->planned)), HasSubstr("hf_abc"));
}

TEST_F(RunDeskTest, WhatCannotBeDoneIsRefusedAtOnce) {
  const auto kind_of = [](const Result<RunDesk::Accepted>& accepted) {
    return accepted.ok() ? std::optional<ErrorKind>() : accepted.error().kind;
  };
  EXPECT_EQ(kind_of(ask({planned()}, "gpu99")), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ask({planned()}, "idle")), ErrorKind::denied);
  auto wide = planned();
  wide.nodes = 2;
  EXPECT_EQ(kind_of(ask({wide})), ErrorKind::usage) << "one node is named for two";
  EXPECT_EQ(kind_of(ask({wide}, "")), ErrorKind::unsupported) << "no agent here does parts";
  EXPECT_EQ(kind_of(ask(RunRequest{.plan = {planned()}, .node = "gpu01", .gpus = {{"GPU-x"}}})), ErrorKind::usage);
  EXPECT_EQ(kind_of(ask(RunRequest{.plan = {planned()}, .gpus = {{"GPU-a"}}})), ErrorKind::usage) << "of which node?";
  EXPECT_EQ(kind_of(ask(RunRequest{.plan = {planned()}, .retries = -1})), ErrorKind::usage);
  EXPECT_EQ(kind_of(ask(RunRequest{.plan = {planned()}, .after = {"nobody"}})), ErrorKind::not_found);
  EXPECT_EQ(runs_->list_runs({})->total, 0);
}

TEST_F(RunDeskTest, RunsGoSideBySideOnDifferentGpus) {
  const auto first = asked({training(1)});
  const auto second = asked({training(1)});
  const auto third = asked({training(1)});
  EXPECT_THAT(told(), testing::UnorderedElementsAre(first, second));
  EXPECT_THAT(*runs_->find_run(first)->placement.gpus, ElementsAre("GPU-a"));
  EXPECT_THAT(*runs_->find_run(second)->placement.gpus, ElementsAre("GPU-b"));
  end(taken(second));
  tick();
  EXPECT_THAT(told(), testing::UnorderedElementsAre(first, third));
  EXPECT_THAT(*runs_->find_run(third)->placement.gpus, ElementsAre("GPU-b"));
}

TEST_F(RunDeskTest, NobodyOvertakesWhoWaitsForTheSame) {
  const auto one = asked({training(1)});
  const auto both = asked({training(2)});
  const auto late = asked({training(1)});
  const auto cpu = asked({planned()});
  EXPECT_THAT(told(), testing::UnorderedElementsAre(one, cpu)) << "a run without GPUs needs none of them";
  end(taken(one));
  tick();
  EXPECT_THAT(told(), testing::UnorderedElementsAre(both, cpu));
  end(taken(both));
  tick();
  EXPECT_THAT(told(), testing::UnorderedElementsAre(late, cpu));
}

TEST_F(RunDeskTest, OneRunAtATimeUsesTheCpus) {
  const auto first = asked({planned()}, "gpu02");
  const auto second = asked({training(4)}, "gpu02");
  EXPECT_THAT(told("gpu02"), ElementsAre(first));
  end(taken(first, "gpu02"));
  tick();
  EXPECT_THAT(told("gpu02"), ElementsAre(second));
  EXPECT_THAT(*runs_->find_run(second)->placement.gpus, IsEmpty());
}

TEST_F(RunDeskTest, ARunThatWaitsIsStoppedAtOnceAndOneThatGoesOnIsTold) {
  const auto first = asked({planned()});
  const auto second = asked({planned()});
  ASSERT_TRUE(desk().stop(second, "ada").ok());
  EXPECT_EQ(state_of(second), RunState::ended);
  EXPECT_EQ(runs_->find_run(second)->verdict, Verdict::interrupted);
  EXPECT_THAT(runs_->find_run(second)->error->message, HasSubstr("ada"));

  const auto lease = taken(first);
  ASSERT_TRUE(desk().stop(first, "ada").ok());
  EXPECT_THAT(told(), ElementsAre(first + "!"));
  end(lease, Verdict::interrupted);
  tick();
  EXPECT_EQ(desk().stop(first, "ada").error().kind, ErrorKind::not_found);
}

TEST_F(RunDeskTest, ANewLeaderGoesOnWhereTheOldOneWas) {
  const auto queued = asked({training(2)});
  const auto waiting = asked({training(1)});
  const auto lease = taken(queued);
  open();
  tick();
  EXPECT_THAT(told(), ElementsAre(queued)) << "its GPUs are still its own";
  ASSERT_TRUE(runs_->renew_lease(lease, std::chrono::minutes(1)).ok()) << "and so is its lease";
  end(lease);
  open();
  tick();
  EXPECT_THAT(told(), ElementsAre(waiting));
}

TEST_F(RunDeskTest, ARunOfWhichNobodyKnowsIsClosed) {
  Run orphan;
  orphan.kind = "null";
  ASSERT_TRUE(runs_->add_run(orphan).ok());
  open();
  EXPECT_EQ(runs_->find_run(orphan.id)->verdict, Verdict::interrupted);
}

TEST_F(RunDeskTest, WhatTheLeaderWasClosingWhenItWasKilledIsClosed) {
  const LeaseTerms leaders{.owner = "the leader", .length = std::chrono::seconds(30)};
  // Two that were stopped before they began, one whose owner was lost.
  const auto noted = asked({planned()}, "gpu02");
  const auto stopped = asked({planned()}, "gpu02");
  const auto lost = asked({training(1)});
  const auto lease = taken(lost);
  ASSERT_TRUE(runs_
                  ->change_owned(lease,
                                 [](Run& run) -> Result<void> {
                                   run.state = RunState::running;
                                   return {};
                                 })
                  .ok());
  runs_->give_up(lease);
  ASSERT_TRUE(runs_->take_run(lost, leaders).ok());
  auto jobs = *cluster_.jobs().list();
  for (auto& job : jobs) {
    job.row.stop = job.row.run != lost;
    ASSERT_TRUE(cluster_.jobs().put(job).ok());
  }
  ASSERT_TRUE(runs_->take_run(stopped, leaders).ok());

  open();
  tick();
  EXPECT_EQ(runs_->find_run(stopped)->verdict, Verdict::interrupted);
  EXPECT_THAT(runs_->find_run(stopped)->error->message, HasSubstr("stopped"));
  EXPECT_EQ(runs_->find_run(noted)->verdict, Verdict::interrupted);
  EXPECT_EQ(runs_->find_run(lost)->verdict, Verdict::interrupted);
  EXPECT_THAT(runs_->find_run(lost)->error->message, HasSubstr("gpu01"));
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
}

TEST_F(RunDeskTest, AStudyIsDoneRunByRun) {
  const auto accepted =
      ask({planned({{"kind", "null"}}, "a"), planned({{"kind", "null"}}, "b"), planned({{"kind", "null"}}, "c")});
  ASSERT_TRUE(accepted.ok());
  ASSERT_FALSE(accepted->study.empty());
  std::vector<std::string> variants;
  for (int i = 0; i < 3; ++i) {
    const auto jobs = told();
    ASSERT_EQ(jobs.size(), 1U);
    const auto run = runs_->find_run(jobs[0]);
    variants.push_back(run->variant);
    EXPECT_EQ(run->study, accepted->study);
    EXPECT_EQ(runs_->find_study(accepted->study)->plan[static_cast<std::size_t>(i)].run, jobs[0]);
    end(taken(jobs[0]));
    if (i == 1) open();
    tick();
  }
  EXPECT_THAT(variants, ElementsAre("a", "b", "c"));
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(runs_->list_runs({})->total, 3);
}

TEST_F(RunDeskTest, AStudyThatIsStoppedBeginsNothingMore) {
  const auto accepted = ask({planned(), planned(), planned()});
  ASSERT_TRUE(accepted.ok());
  const auto lease = taken(accepted->run);
  ASSERT_TRUE(desk().stop_study(accepted->study, "ada").ok());
  end(lease, Verdict::interrupted);
  tick();
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(runs_->list_runs({})->total, 1);
  EXPECT_EQ(desk().stop_study(accepted->study, "ada").error().kind, ErrorKind::not_found);
}

TEST_F(RunDeskTest, AStudyIsStoppedAlsoInTheMomentBetweenTwoRuns) {
  const auto accepted = ask({planned(), planned(), planned()});
  ASSERT_TRUE(accepted.ok());
  end(taken(accepted->run));  // and nobody has looked since
  ASSERT_TRUE(desk().stop_study(accepted->study, "ada").ok());
  tick();
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(desk().jobs_of(accepted->study), IsEmpty());
}

TEST_F(RunDeskTest, AStudyIsResumedWithWhatWasInterruptedAndWhatNeverBegan) {
  const auto accepted = ask({planned({{"kind", "null"}}, "a"), planned({{"kind", "null"}}, "b"),
                             planned({{"kind", "null"}}, "c"), planned({{"kind", "null"}}, "d")});
  ASSERT_TRUE(accepted.ok());
  const auto& study = accepted->study;
  end(taken(told().at(0)), Verdict::interrupted);  // its agent was killed, say
  tick();
  end(taken(told().at(0)));
  tick();
  const auto lease = taken(told().at(0));
  EXPECT_THAT(*desk().resume_study(study, {.plan = {}, .by = "ada"}), ElementsAre(0, 2, 3)) << "it goes on: no harm";
  EXPECT_EQ(told().size(), 1U);
  ASSERT_TRUE(desk().stop_study(study, "ada").ok());
  EXPECT_EQ(desk().resume_study(study, {.plan = {}, .by = "ada"}).error().kind, ErrorKind::busy);
  end(lease, Verdict::interrupted);
  tick();
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(desk().jobs_of(study), IsEmpty());

  const auto before = *runs_->find_study(study);
  EXPECT_EQ(desk().resume_study(study, {.plan = {}, .node = "gpu02", .by = "ada"}).error().kind, ErrorKind::usage);
  EXPECT_EQ(desk().resume_study("nobody", {.plan = {}, .by = "ada"}).error().kind, ErrorKind::not_found);
  EXPECT_THAT(*desk().resume_study(study, {.plan = {}, .by = "ada"}), ElementsAre(0, 2, 3));
  std::vector<std::string> variants;
  while (variants.size() < 4) {
    const auto jobs = told();
    if (jobs.empty()) break;
    EXPECT_THAT(desk().jobs_of(study), ElementsAre(jobs[0]));
    variants.push_back(runs_->find_run(jobs[0])->variant);
    end(taken(jobs[0]));
    tick();
  }
  EXPECT_THAT(variants, ElementsAre("a", "c", "d"));
  const auto after = *runs_->find_study(study);
  EXPECT_NE(after.plan[0].run, before.plan[0].run) << "a run that has ended is never begun again";
  EXPECT_EQ(after.plan[1].run, before.plan[1].run);
  EXPECT_EQ(runs_->list_runs({})->total, 6);
  EXPECT_THAT(*desk().resume_study(study, {.plan = {}, .by = "ada"}), IsEmpty()) << "nothing is left";
}

TEST_F(RunDeskTest, AStudyThatHadNotBegunWhenItsLeaderWasKilledIsResumed) {
  Study study{.name = "bench", .source = {}, .spec_hash = {}, .plan = {planned(), planned()}};
  for (auto& one : study.plan) one.node = "gpu01";
  ASSERT_TRUE(runs_->create_study(study).ok());
  ASSERT_TRUE(runs_->note_planned_run(study.id, 0, "noted-only").ok());
  open();
  tick();
  EXPECT_THAT(told(), IsEmpty()) << "whoever asked was given no answer";
  EXPECT_THAT(*desk().resume_study(study.id, {.plan = {}, .by = "ada"}), ElementsAre(0, 1));
  EXPECT_THAT(told(), ElementsAre("noted-only"));
}

TEST_F(RunDeskTest, AnOwnerThatIsLostForLongLosesItsRun) {
  const auto run = asked({planned()});
  const auto lease = taken(run);
  JournalEncoder encoder;
  ASSERT_TRUE(encoder.add_event(clock_.wall(), "{}").ok());
  ASSERT_TRUE(runs_->append_frames(lease, 0, encoder.frames()).ok());
  clock_.advance(std::chrono::minutes(5));
  tick();
  EXPECT_EQ(state_of(run), RunState::starting) << "it may come back";
  clock_.advance(std::chrono::minutes(2));
  tick();
  EXPECT_EQ(runs_->find_run(run)->verdict, Verdict::interrupted);
  EXPECT_THAT(runs_->find_run(run)->error->message, HasSubstr("gpu01"));
  EXPECT_EQ(runs_->journals(run)->at(0).size, encoder.frames().size()) << "what it had sent is kept";
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_FALSE(desk().take("gpu01", run).ok());
}

TEST_F(RunDeskTest, NobodyIsLostWhileTheLeaderWasAway) {
  const auto run = asked({planned()});
  taken(run);
  leader_.reset();
  clock_.advance(std::chrono::hours(5));
  open();
  tick();
  EXPECT_EQ(state_of(run), RunState::starting);
  EXPECT_TRUE(desk().take("gpu01", run).ok()) << "its owner comes back";
}

TEST_F(RunDeskTest, ANodeThatIsSilentGetsNothing) {
  heartbeat();
  clock_.advance(std::chrono::minutes(5));
  const auto accepted = desk().ask({.plan = {planned()}, .name = "x", .node = "gpu01", .by = "ada"});
  ASSERT_TRUE(accepted.ok());
  EXPECT_THAT(told(), IsEmpty());
  tick();
  EXPECT_THAT(told(), ElementsAre(accepted->run)) << "now it is heard of";
}

}  // namespace
}  // namespace assay
