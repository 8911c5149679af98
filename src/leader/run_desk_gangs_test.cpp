// One run over several nodes: who does which part of it, and what becomes of it when one of them is gone.

#include "leader/run_desk_fixture.h"
#include "model/run.h"
#include "protocol/part_report.h"
#include "store/journal/journal_encoder.h"
#include "store/journal_state.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Three nodes with two GPUs each, whose agents do parts of runs.
class RunDeskGangs : public RunDeskTest {
 protected:
  RunDeskGangs() {
    addresses_ = "10.0.0.1";
    join("gang01", {"GPU-1a", "GPU-1b"});
    join("gang02", {"GPU-2a", "GPU-2b"});
    join("gang03", {"GPU-3a", "GPU-3b"});
  }

  /// A training of two processes on each of two nodes.
  static PlannedRun wide(std::vector<std::string> on = {"gang01", "gang02"}) {
    auto one = planned({{"kind", "train"}, {"device", "auto"}, {"nodes", json::value_from(on)}}, "nodes=2");
    one.ranks = 4;
    one.nodes = 2;
    return one;
  }
  std::string placed(const std::vector<std::string>& on = {"gang01", "gang02"}) { return asked({wide(on)}, ""); }

  static PartReport here(const std::string& address = "10.0.0.1") {
    return {.meeting = MeetingPlace{.address = address, .port = 4711, .secret = "s"}, .ended = false, .error = {}};
  }
  static PartReport ended(std::optional<Error> error = {}) {
    return {.meeting = {}, .ended = true, .error = std::move(error)};
  }
  PartAnswer reported(const std::string& node, const std::string& run, const PartReport& report = {}) {
    const auto answer = desk().report_part(node, run, report);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    return answer ? *answer : PartAnswer{};
  }
  /// Taken by its first node, which says where it is, and by the second.
  Lease begun(const std::string& run) {
    const auto lease = taken(run, "gang01");
    reported("gang01", run, here());
    EXPECT_TRUE(desk().take("gang02", run).ok());
    return lease;
  }
  /// Seconds in which these nodes say that they are there; the lease of the first goes on.
  void pass_with(int seconds, const std::string& run, const std::vector<std::string>& nodes, Lease* lease = nullptr) {
    for (int i = 0; i < seconds; ++i) {
      clock_.advance(std::chrono::seconds(1));
      for (const auto& node : nodes) reported(node, run, node == "gang01" ? here() : PartReport());
      if (lease != nullptr) *lease = runs_->renew_lease(*lease, std::chrono::seconds(30)).value();
      tick();
    }
  }
  static std::string frames(const std::string& text) {
    JournalEncoder encoder;
    encoder.add_output(OutputStream::out, WallTime(std::chrono::seconds(1)), text);
    return encoder.frames();
  }
};

TEST_F(RunDeskGangs, AGangIsPlacedWholeAndTakenByItsFirstNodeFirst) {
  const auto run = placed();
  const auto placement = runs_->find_run(run)->placement;
  EXPECT_EQ(placement.node, "gang01");
  EXPECT_THAT(*placement.gpus, ElementsAre("GPU-1a", "GPU-1b"));
  ASSERT_EQ(placement.further.size(), 1U);
  EXPECT_EQ(placement.further[0], (FurtherNode{.node = "gang02", .gpus = {"GPU-2a", "GPU-2b"}}));
  EXPECT_EQ(placement.gpu_count(), 4U);
  EXPECT_THAT(told("gang01"), ElementsAre(run));
  EXPECT_THAT(told("gang02"), IsEmpty()) << "before the first has begun";
  EXPECT_FALSE(desk().take("gang02", run).ok());

  const auto first = desk().take("gang01", run);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->part.number, 0);
  EXPECT_EQ(first->part.of, 2);
  EXPECT_THAT(told("gang02"), ElementsAre(run));
  EXPECT_EQ(desk().take("gang02", run).error().kind, ErrorKind::busy) << "where is the first?";
  reported("gang01", run, here());
  const auto second = desk().take("gang02", run);
  ASSERT_TRUE(second.ok()) << second.error().text();
  EXPECT_EQ(second->part, (PartOfRun{.number = 1, .of = 2, .epoch = first->lease.epoch, .meeting = here().meeting}));
  EXPECT_EQ(second->run.placement.part, 1);
  EXPECT_THAT(*second->run.placement.gpus, ElementsAre("GPU-2a", "GPU-2b"));
  EXPECT_EQ(desk().take("gang03", run).error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk().report_part("gang03", run, {}).error().kind, ErrorKind::not_found);
}

TEST_F(RunDeskGangs, TheQueueShowsAllItsNodesAndWhatWaitsForThem) {
  const auto run = placed();
  EXPECT_EQ(queued(run).node, "gang01");
  EXPECT_THAT(queued(run).further, ElementsAre("gang02"));
  EXPECT_THAT(queued(run).gpus, ElementsAre("GPU-1a", "GPU-1b", "GPU-2a", "GPU-2b"));
  EXPECT_THAT(queued(run).needs, HasSubstr("2 GPUs on each of 2 nodes of gang01, gang02"));

  const auto next = placed({"gang02", "gang03"});
  EXPECT_EQ(state_of(next), RunState::queued);
  EXPECT_EQ(queued(next).expected_node, "gang02");
  EXPECT_THAT(queued(next).expected_further, ElementsAre("gang03"));
  EXPECT_THAT(told("gang03"), IsEmpty()) << "all of it at once, or none";
  const auto previewed = desk().preview(RunRequest{.plan = {wide()}, .name = "bench", .by = "ada"});
  ASSERT_TRUE(previewed.ok()) << previewed.error().text();
  EXPECT_EQ(previewed->front().gpus, 4);
  EXPECT_EQ(previewed->front().nodes, 2);
  EXPECT_EQ(previewed->front().node, "gang01");
  EXPECT_THAT(previewed->front().further, ElementsAre("gang02"));

  end(taken(run, "gang01"));
  tick();
  EXPECT_THAT(told("gang02"), ElementsAre(next));
}

TEST_F(RunDeskGangs, OnlyAgentsThatDoPartsAreGivenOne) {
  auto anywhere = planned({{"kind", "null"}});
  anywhere.nodes = 2;
  const auto run = asked({anywhere}, "");
  EXPECT_THAT(queued(run).node, testing::StartsWith("gang")) << "gpu01 and gpu02 have older agents";
  EXPECT_THAT(queued(run).further, ElementsAre(testing::StartsWith("gang")));
  const auto kind_of = [&](PlannedRun plan, const std::string& node = "") {
    return ask({std::move(plan)}, node).error().kind;
  };
  EXPECT_EQ(kind_of(wide({"gang01", "gpu01"})), ErrorKind::unsupported);
  EXPECT_EQ(kind_of(wide({"gang01", "nobody"})), ErrorKind::not_found);
  EXPECT_EQ(kind_of(wide({"gang01", "idle"})), ErrorKind::denied);
  EXPECT_EQ(kind_of(wide(), "gang01"), ErrorKind::usage);
  auto huge = anywhere;
  huge.nodes = 4;
  EXPECT_EQ(kind_of(huge), ErrorKind::unsupported);
}

TEST_F(RunDeskGangs, WhatAPartRecordsIsAJournalOfTheRun) {
  const auto run = placed();
  EXPECT_EQ(desk().take_part_frames("gang02", run, 1, 0, frames("early")).error().kind, ErrorKind::not_found);
  const auto lease = begun(run);
  const auto said = frames("from the second node");
  EXPECT_EQ(desk().take_part_frames("gang02", run, lease.epoch, 0, {}).value(), 0U);
  EXPECT_EQ(desk().take_part_frames("gang02", run, lease.epoch, 0, said).value(), said.size());
  EXPECT_EQ(desk().take_part_frames("gang02", run, lease.epoch, 0, said).value(), said.size()) << "once more";
  const auto journals = runs_->journals(run).value();
  ASSERT_EQ(journals.size(), 2U);
  EXPECT_EQ(journals[1].name, "rank-2") << "two processes are on the first node";
  EXPECT_EQ(desk().take_part_frames("gang01", run, lease.epoch, 0, said).error().kind, ErrorKind::not_found)
      << "the owner's frames go another way";
  EXPECT_EQ(desk().take_part_frames("gang02", run, lease.epoch + 1, 0, said).error().kind, ErrorKind::denied);
  const auto again = taken(run, "gang01");
  EXPECT_GT(again.epoch, lease.epoch);
  EXPECT_EQ(desk().take_part_frames("gang02", run, lease.epoch, said.size(), {}).error().kind, ErrorKind::denied);
  EXPECT_EQ(desk().take("gang02", run)->part.epoch, again.epoch);
}

TEST_F(RunDeskGangs, TheFirstNodeLearnsWhenTheOthersHaveEnded) {
  const auto run = placed();
  const auto lease = begun(run);
  EXPECT_EQ(reported("gang01", run, here()).open, 1);
  EXPECT_EQ(reported("gang02", run, ended()).lost, std::nullopt);
  EXPECT_EQ(reported("gang01", run, ended()).open, 0);
  EXPECT_THAT(told("gang02"), ElementsAre(run)) << "until the run is over";
  end(lease);
  tick();
  EXPECT_THAT(told("gang02"), IsEmpty());
  EXPECT_EQ(desk().report_part("gang02", run, ended()).error().kind, ErrorKind::not_found);
  EXPECT_THAT(*cluster_.jobs().list(), IsEmpty());
}

TEST_F(RunDeskGangs, APartThatFailsIsTheFirstNodesToHear) {
  const auto run = placed();
  begun(run);
  reported("gang02", run, ended(Error{.kind = ErrorKind::oom, .message = "out of memory"}));
  const auto lost = reported("gang01", run, here()).lost;
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->kind, ErrorKind::oom);
  EXPECT_EQ(lost->message, "on gang02: out of memory");
}

TEST_F(RunDeskGangs, WhenTheFirstNodeFailsTheOthersAreToldToStop) {
  const auto run = placed();
  begun(run);
  EXPECT_THAT(told("gang02"), ElementsAre(run));
  reported("gang01", run, ended(Error{.kind = ErrorKind::crash, .message = "exit code 3"}));
  EXPECT_THAT(told("gang02"), ElementsAre(run + "!"));
}

TEST_F(RunDeskGangs, APartThatIsNotHeardOfIsLost) {
  const auto run = placed();
  auto lease = begun(run);
  pass_with(19, run, {"gang01", "gang02"}, &lease);
  EXPECT_EQ(reported("gang01", run, here()).lost, std::nullopt);
  pass_with(19, run, {"gang01"}, &lease);
  EXPECT_EQ(reported("gang01", run, here()).lost, std::nullopt);
  pass_with(2, run, {"gang01"}, &lease);
  const auto lost = reported("gang01", run, here()).lost;
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->kind, ErrorKind::lost_peer);
  EXPECT_THAT(lost->message, HasSubstr("gang02"));
}

TEST_F(RunDeskGangs, APartThatDoesNotComeIsLost) {
  const auto run = placed();
  auto lease = taken(run, "gang01");
  pass_with(59, run, {"gang01"}, &lease);
  EXPECT_EQ(reported("gang01", run, here()).lost, std::nullopt);
  pass_with(2, run, {"gang01"}, &lease);
  EXPECT_THAT(reported("gang01", run, here()).lost.value().message, HasSubstr("gang02 did not begin its part"));
}

TEST_F(RunDeskGangs, OneWhoseFirstNodeIsGoneIsClosedSoonAndEverythingIsReleased) {
  const auto run = placed();
  auto lease = begun(run);
  pass_with(5, run, {"gang01", "gang02"}, &lease);
  silent_ = {"gang01"};
  pass_with(39, run, {"gang02"});
  EXPECT_EQ(state_of(run), RunState::starting);
  pass_with(2, run, {});
  EXPECT_EQ(state_of(run), RunState::ended);
  EXPECT_EQ(runs_->find_run(run)->verdict, Verdict::interrupted);
  EXPECT_THAT(told("gang02"), IsEmpty());
  EXPECT_EQ(desk().take("gang02", run).error().kind, ErrorKind::not_found);
  const auto next = placed({"gang02", "gang03"});
  EXPECT_THAT(told("gang02"), ElementsAre(next));
}

TEST_F(RunDeskGangs, AStoppedOneIsStoppedOnAllItsNodes) {
  const auto run = placed();
  begun(run);
  ASSERT_TRUE(desk().stop(run, "ada").ok());
  EXPECT_THAT(told("gang01"), ElementsAre(run + "!"));
  EXPECT_THAT(told("gang02"), ElementsAre(run + "!"));
}

TEST_F(RunDeskGangs, BeforeItBeginsANodeThatGoesTakesTheWholePlaceWithIt) {
  auto anywhere = planned({{"kind", "null"}});
  anywhere.nodes = 2;
  const auto run = asked({anywhere}, "");
  const auto second = queued(run).further.front();
  silent_ = {second};
  pass(std::chrono::minutes(5));
  EXPECT_EQ(state_of(run), RunState::queued);
  EXPECT_NE(queued(run).node, second);
  ASSERT_EQ(queued(run).further.size(), 1U);
  EXPECT_NE(queued(run).further.front(), second);
}

TEST_F(RunDeskGangs, ANewLeaderGoesOnWithWhatItsNodesSay) {
  const auto run = placed();
  const auto lease = begun(run);
  reported("gang02", run, ended());
  open();
  heartbeat();
  tick();
  EXPECT_EQ(queued(run).node, "gang01");
  EXPECT_THAT(queued(run).further, ElementsAre("gang02"));
  EXPECT_THAT(told("gang02"), ElementsAre(run)) << "a part is not dropped since the leader was away";
  EXPECT_EQ(desk().take("gang02", run).error().kind, ErrorKind::busy) << "until the first has said where it is";
  EXPECT_EQ(reported("gang01", run, here()).open, 1);
  EXPECT_EQ(desk().take("gang02", run)->part.epoch, lease.epoch);
  reported("gang02", run, ended());
  EXPECT_EQ(reported("gang01", run, here()).open, 0);
  const auto next = placed({"gang02", "gang03"});
  EXPECT_THAT(told("gang03"), IsEmpty()) << "its GPUs are its own";
  end(lease);
  tick();
  EXPECT_THAT(told("gang02"), ElementsAre(next));
}

TEST_F(RunDeskGangs, AMeetingOnLoopbackIsNoneForOthers) {
  const auto run = placed();
  taken(run, "gang01");
  const auto lost = reported("gang01", run, here("127.0.0.1")).lost;
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->kind, ErrorKind::unreachable);
  EXPECT_THAT(lost->hint, HasSubstr("--address"));
}

TEST_F(RunDeskGangs, AStudyOverSizesGoesOneRunAfterTheOther) {
  auto small = planned({{"kind", "train"}, {"device", "auto"}, {"nodes", {"gang01"}}}, "nodes=1");
  small.node = "gang01";
  const auto study = ask({small, wide()}, "");
  ASSERT_TRUE(study.ok()) << study.error().text();
  EXPECT_THAT(told("gang01"), ElementsAre(study->run));
  EXPECT_THAT(told("gang02"), IsEmpty());
  end(taken(study->run, "gang01"));
  tick();
  const auto next = desk().jobs_of(study->study);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(queued(next.front()).node, "gang01");
  EXPECT_THAT(queued(next.front()).further, ElementsAre("gang02"));
}

TEST_F(RunDeskGangs, OneThatLostAPeerIsTriedAgain) {
  RunRequest request{.plan = {wide()}, .retries = 1};
  const auto run = asked(request);
  const auto lease = begun(run);
  const auto closed = runs_->change_owned(lease, [](Run& lost) -> Result<void> {
    lost.state = RunState::ended;
    lost.verdict = Verdict::failed;
    lost.error = RunError{.kind = ErrorKind::lost_peer, .message = "gone", .hint = ""};
    return {};
  });
  ASSERT_TRUE(closed.ok());
  tick();
  pass(std::chrono::minutes(2));
  const auto jobs = cluster_.jobs().list().value();
  ASSERT_EQ(jobs.size(), 1U);
  const auto again = jobs.front().row.current;
  EXPECT_NE(again, run);
  EXPECT_THAT(told("gang01"), ElementsAre(again));
  EXPECT_EQ(runs_->find_run(again)->placement.further.size(), 1U);
}

TEST_F(RunDeskGangs, APartThatBringsItsFilesIsWaitedForAsLongAsItSaysSo) {
  const auto run = placed();
  auto lease = begun(run);
  const PartReport files{.meeting = {}, .bringing = true, .error = {}};
  for (int i = 0; i < 60; ++i) {
    reported("gang02", run, files);
    pass_with(1, run, {"gang01"}, &lease);
  }
  auto answer = reported("gang01", run, here());
  EXPECT_EQ(answer.open, 1);
  EXPECT_EQ(answer.bringing, 1);
  EXPECT_EQ(answer.lost, std::nullopt);
  pass_with(25, run, {"gang01"}, &lease);
  answer = reported("gang01", run, here());
  EXPECT_EQ(answer.bringing, 0);
  EXPECT_EQ(answer.lost->kind, ErrorKind::lost_peer) << "it has fallen silent";
}

TEST_F(RunDeskGangs, AFailureIsHeardOfBeforeTheFilesAreThere) {
  const auto run = placed();
  begun(run);
  PartReport files{.meeting = {}, .bringing = true, .error = Error{.kind = ErrorKind::oom, .message = "no memory"}};
  reported("gang02", run, files);
  EXPECT_EQ(reported("gang01", run, here()).lost->kind, ErrorKind::oom);
}

}  // namespace
}  // namespace assay
