// What comes after what, what is kept back, tried again or asked for twice, and what a restart must not change of that.

#include "leader/run_desk.h"
#include "leader/run_desk_fixture.h"
#include "model/run.h"
#include "store/account_tables.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/study_list.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RunEndingsTest : public RunDeskTest {};

TEST_F(RunEndingsTest, RunsComeAfterOthers) {
  const auto first = asked({planned()}, "gpu02");
  const auto second = asked(RunRequest{.plan = {planned()}, .after = {first}});
  const auto third = asked(RunRequest{.plan = {planned()}, .after = {second, first}});
  EXPECT_EQ(queued(second).reason, "dependency");
  EXPECT_THAT(queued(third).after, UnorderedElementsAre(first, second));
  EXPECT_THAT(told("gpu01"), IsEmpty()) << "there is room, but it is not its turn";
  open();
  tick();
  end(taken(first, "gpu02"));
  tick();
  EXPECT_EQ(queued(third).reason, "dependency");
  EXPECT_THAT(queued(third).after, ElementsAre(second));
  open();
  tick();
  end(taken(second, node_of(second)));
  tick();
  EXPECT_EQ(queued(third).reason, "");
  const auto late = asked(RunRequest{.plan = {planned()}, .after = {first}});
  EXPECT_NE(queued(late).reason, "dependency") << "what has succeeded is not waited for";
}

TEST_F(RunEndingsTest, WhatWaitsForAFailureIsEnded) {
  const auto first = asked({planned()}, "gpu02");
  const auto second = asked(RunRequest{.plan = {planned()}, .after = {first}});
  const auto third = asked(RunRequest{.plan = {planned()}, .after = {second}});
  end(taken(first, "gpu02"), Verdict::failed);
  tick();
  for (const auto& run : {second, third}) {
    EXPECT_EQ(runs_->find_run(run)->verdict, Verdict::interrupted);
    EXPECT_THAT(runs_->find_run(run)->error->message, HasSubstr("did not succeed"));
  }
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
  EXPECT_EQ(ask(RunRequest{.plan = {planned()}, .after = {first}}).error().kind, ErrorKind::usage);
}

TEST_F(RunEndingsTest, WhatWaitsForAFailureIsEndedAlsoByTheNextLeader) {
  const auto first = asked({planned()}, "gpu02");
  const auto second = asked(RunRequest{.plan = {planned()}, .after = {first}});
  end(taken(first, "gpu02"), Verdict::failed);
  ASSERT_TRUE(cluster_.jobs().remove(first).ok());  // killed just then
  open();
  EXPECT_EQ(runs_->find_run(second)->verdict, Verdict::interrupted);
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
}

TEST_F(RunEndingsTest, AStudyThatWaitsForAFailureIsEndedWhole) {
  const auto first = asked({planned()}, "gpu02");
  const auto study = ask(RunRequest{.plan = {planned(), planned(), planned()}, .after = {first}});
  ASSERT_TRUE(study.ok()) << study.error().text();
  end(taken(first, "gpu02"), Verdict::failed);
  tick();
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty()) << "the rest of it was to come after that, too";
  EXPECT_THAT(runs_->find_run(study->run)->error->message, HasSubstr("did not succeed"));
  EXPECT_EQ(runs_->list_runs({})->total, 2);
}

TEST_F(RunEndingsTest, AStudyThatWaitsForAFailureIsEndedWholeAlsoByTheNextLeader) {
  const auto first = asked({planned()}, "gpu02");
  ASSERT_TRUE(ask(RunRequest{.plan = {planned(), planned()}, .after = {first}}).ok());
  end(taken(first, "gpu02"), Verdict::failed);
  ASSERT_TRUE(cluster_.jobs().remove(first).ok());  // killed just then
  open();
  tick();
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
  EXPECT_EQ(runs_->list_runs({})->total, 2);
}

TEST_F(RunEndingsTest, HeldRunsStayUntilTheyAreReleased) {
  const auto held = asked(RunRequest{.plan = {planned()}, .node = "gpu02", .held = true});
  EXPECT_THAT(told("gpu02"), IsEmpty());
  EXPECT_EQ(queued(held).reason, "held");
  const auto offered = asked({planned()}, "gpu02");
  EXPECT_THAT(told("gpu02"), ElementsAre(offered));
  ASSERT_TRUE(desk().hold(offered).ok()) << "its node was offered it, and has not taken it";
  EXPECT_THAT(told("gpu02"), IsEmpty());
  EXPECT_EQ(desk().take("gpu02", offered).error().kind, ErrorKind::not_found);
  open();
  tick();
  EXPECT_THAT(told("gpu02"), IsEmpty());
  ASSERT_TRUE(desk().release(held).ok());
  EXPECT_THAT(told("gpu02"), ElementsAre(held));
  taken(held, "gpu02");
  EXPECT_EQ(desk().hold(held).error().kind, ErrorKind::busy);
  EXPECT_EQ(desk().release("nobody").error().kind, ErrorKind::not_found);
  ASSERT_TRUE(desk().stop(offered, "ada").ok()) << "what is held can be ended";
  EXPECT_EQ(runs_->find_run(offered)->verdict, Verdict::interrupted);
}

TEST_F(RunEndingsTest, ALostRunIsTriedAgainElsewhereAndLater) {
  auto request = anywhere(planned());
  request.retries = 2;
  request.owner = "user ada";
  const auto first = asked(request);
  const auto after = asked(RunRequest{.plan = {planned()}, .after = {first}});
  lose(first, "gpu02");
  silent_ = {"gpu02"};
  tick();
  const auto second = queued(first).run;
  EXPECT_NE(second, first) << "a run that has ended is never begun again";
  EXPECT_EQ(queued(second).attempt, 2);
  EXPECT_EQ(queued(second).attempts, 3);
  EXPECT_EQ(queued(second).reason, "retry_delay");
  EXPECT_EQ(*cluster_.accounts().owners().find({.kind = OwnerTable::Owned::Kind::run, .id = second}), "user ada");
  EXPECT_EQ(queued(after).reason, "dependency") << "it is still hoped for";
  open();
  EXPECT_EQ(queued(first).run, second) << "the next leader goes on with the same";
  pass(std::chrono::minutes(2));
  EXPECT_EQ(node_of(second), "gpu01");
  end(taken(second, "gpu01"));
  tick();
  EXPECT_NE(queued(after).reason, "dependency");
  EXPECT_EQ(desk().find(first).error().kind, ErrorKind::not_found) << "it is done";
}

TEST_F(RunEndingsTest, AttemptsComeToAnEnd) {
  auto request = anywhere(planned());
  request.retries = 1;
  const auto first = asked(request);
  lose(first, "gpu02");
  pass(std::chrono::seconds(1));
  const auto second = queued(first).run;
  pass(std::chrono::minutes(2));
  lose(second, node_of(second));
  pass(std::chrono::seconds(1));
  EXPECT_EQ(desk().find(first).error().kind, ErrorKind::not_found);
  EXPECT_EQ(runs_->list_runs({})->total, 2);
}

TEST_F(RunEndingsTest, WhatWouldFailAgainOrWasStoppedIsNotTriedAgain) {
  auto request = anywhere(planned());
  request.retries = 5;
  const auto failing = asked(request);
  end(taken(failing, node_of(failing)), Verdict::failed);
  const auto stopped = asked(request);
  const auto lease = taken(stopped, node_of(stopped));
  ASSERT_TRUE(desk().stop(stopped, "ada").ok());
  end(lease, Verdict::interrupted);
  const auto never_begun = asked(request);
  ASSERT_TRUE(desk().stop(never_begun, "ada").ok());
  tick();
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
  EXPECT_EQ(runs_->list_runs({})->total, 3);
}

TEST_F(RunEndingsTest, AFurtherAttemptCanBeStoppedByTheNameOfTheFirst) {
  auto request = anywhere(planned());
  request.retries = 5;
  const auto first = asked(request);
  lose(first, "gpu02");
  tick();
  const auto second = queued(first).run;
  ASSERT_TRUE(desk().stop(first, "ada").ok());
  EXPECT_EQ(runs_->find_run(second)->verdict, Verdict::interrupted);
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
}

TEST_F(RunEndingsTest, AKeyStandsForOneRun) {
  RunRequest request = anywhere(planned());
  request.owner = "user ada";
  request.key = "nightly";
  const auto first = asked(request);
  EXPECT_EQ(asked(request), first);
  open();
  EXPECT_EQ(asked(request), first);
  tick();
  end(taken(first, node_of(first)));
  tick();
  EXPECT_EQ(asked(request), first) << "also when it is done";
  auto others = request;
  others.owner = "user bob";
  EXPECT_NE(asked(others), first) << "keys are everybody's own";
  auto other = request;
  other.plan = {lasting(5)};
  EXPECT_EQ(ask(other).error().kind, ErrorKind::usage);
  EXPECT_EQ(runs_->list_runs({})->total, 2);
}

TEST_F(RunEndingsTest, AKeyStandsForOneStudy) {
  RunRequest request{.plan = {planned(), planned()}};
  request.owner = "user ada";
  request.key = "k";
  const auto first = ask(request);
  ASSERT_TRUE(first.ok());
  const auto again = ask(request);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->study, first->study);
  EXPECT_EQ(again->run, first->run);
  EXPECT_EQ(runs_->list_studies({})->rows.size(), 1U);
}

TEST_F(RunEndingsTest, AKeyWhoseRunNobodyWasToDoIsAskedForAnew) {
  RunRequest request = anywhere(planned());
  request.owner = "user ada";
  request.key = "nightly";
  const auto first = asked(request);
  ASSERT_TRUE(cluster_.jobs().remove(first).ok());  // as if the leader was killed before it stored the job
  open();
  ASSERT_EQ(state_of(first), RunState::ended);
  EXPECT_EQ(asked(request), first);
  EXPECT_EQ(state_of(first), RunState::queued);
}

TEST_F(RunEndingsTest, AStudyThatNamesNoNodeStaysWhereItsFirstRunWas) {
  const auto accepted = ask(RunRequest{.plan = {planned(), planned(), planned()}});
  ASSERT_TRUE(accepted.ok());
  auto run = accepted->run;
  ASSERT_EQ(node_of(run), "gpu02");
  EXPECT_EQ(desk().jobs_of(accepted->study).size(), 1U) << "one after the other: they are to be compared";
  end(taken(run, "gpu02"));
  tick();
  run = desk().jobs_of(accepted->study).at(0);
  EXPECT_EQ(queued(run).needs, "the CPUs of gpu02") << "though there is room on gpu01";
  lose(run, "gpu02");
  silent_ = {"gpu02"};
  pass(std::chrono::minutes(1));
  run = desk().jobs_of(accepted->study).at(0);
  EXPECT_EQ(node_of(run), "gpu01") << "a node that is lost is not waited for";
}

TEST_F(RunEndingsTest, AStudyOnEachNodeGoesSideBySide) {
  auto one = planned();
  one.node = "gpu01";
  auto two = planned();
  two.node = "gpu02";
  ASSERT_TRUE(ask(RunRequest{.plan = {one, two, one, two}}).ok());
  EXPECT_EQ(told("gpu01").size(), 1U);
  EXPECT_EQ(told("gpu02").size(), 1U);
  EXPECT_THAT(desk().nodes_for_runs(), ElementsAre("gpu01", "gpu02"));
}

}  // namespace
}  // namespace assay
