#include "agent/run_shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "model/run.h"
#include "net/raw_connection_fixture.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/memory/run_memory.h"
#include "store/run_writer.h"
#include "store/troubled_store_fixture.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using End = Shipment::End;

class RunShipperTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  RunShipperTest() {
    Run run = a_run();
    run.name = "as the leader calls it";
    run.tags = {"leader"};
    run.study = "study";
    run.placement = {.node = "gpu03", .gpus = std::vector<std::string>{"GPU-1"}};
    EXPECT_TRUE(leader_memory_->add_run(run).ok());
  }
  static Run a_run() {
    Run run;
    run.id = "r1";
    run.name = "run";
    run.kind = "command";
    run.started = WallTime(1'700'000'000s);
    run.provenance.hostname = "gpu03";
    return run;
  }

  /// The run begins on this node.
  void begin() {
    Run run = a_run();
    writer_ = begin_run(*local_, run).value();
  }
  void print(std::string_view text) {
    EXPECT_TRUE(writer_->append_output(OutputStream::out, WallTime(1s), text).ok());
    EXPECT_TRUE(writer_->flush().ok());
  }
  void end(Verdict verdict = Verdict::flagged) {
    Run run = a_run();
    run.verdict = verdict;
    run.ended = run.started + 5s;
    run.duration = 5s;
    run.metrics["loss"] = 0.5;
    EXPECT_TRUE(writer_->finish(run).ok());
  }

  Result<Lease> take() {
    ++takes_;
    return leader_memory_->take_run("r1", {.owner = "gpu03", .length = 2min});
  }
  RunShipper make(std::size_t piece = std::size_t{1} << 20) {
    return RunShipper(*local_, leader_,
                      {.run = "r1",
                       .take = [this] { return take(); },
                       .lease = {},
                       .look = 5ms,
                       .piece = piece,
                       .first_pause = 2ms,
                       .longest_pause = 10ms});
  }
  Shipment ship() { return make().ship({}); }

  std::string journal(RunStore& store) { return store.read_frames("r1", kOwnersJournal, 0, 64 << 20).value(); }
  bool same_journals() { return journal(*local_) == journal(*leader_memory_); }
  Run theirs() { return leader_memory_->find_run("r1").value(); }

  SystemClock clock_;
  std::unique_ptr<RunStore> local_ = open_run_memory(make_run_memory(), clock_);
  std::unique_ptr<RunStore> leader_memory_ = open_run_memory(make_run_memory(), clock_);
  TroubledStore leader_{*leader_memory_};
  std::unique_ptr<RunWriter> writer_;
  std::atomic<int> takes_ = 0;
};

TEST_F(RunShipperTest, AnEndedRunArrivesWithEverything) {
  begin();
  print("hello\n");
  ASSERT_TRUE(attach_text(*local_, "r1", "trace.json", "{}").ok());
  ASSERT_TRUE(attach_text(*local_, "r1", "empty", "").ok());
  end();
  EXPECT_EQ(ship().end, End::complete);
  EXPECT_TRUE(same_journals());
  const Run run = theirs();
  EXPECT_EQ(run.state, RunState::ended);
  EXPECT_EQ(run.verdict, Verdict::flagged);
  EXPECT_EQ(run.metrics.at("loss"), 0.5);
  EXPECT_EQ(run.duration, 5s);
  EXPECT_EQ(run.provenance.hostname, "gpu03");
  EXPECT_EQ(*read_artifact(*leader_memory_, "r1", "trace.json"), "{}");
  EXPECT_EQ(leader_memory_->artifacts("r1")->size(), 2U);
  // What the leader knows better stays.
  EXPECT_EQ(run.name, "as the leader calls it");
  EXPECT_THAT(run.tags, ElementsAre("leader"));
  EXPECT_EQ(run.study, "study");
  EXPECT_EQ(run.placement.node, "gpu03");
}

TEST_F(RunShipperTest, AFileThatTheLeaderDoesNotTakeIsToldOf) {
  leader_.refuse("attach", Error{.kind = ErrorKind::usage, .message = "there is no room"});
  begin();
  print("hello\n");
  ASSERT_TRUE(attach_text(*local_, "r1", "trace.json", "{}").ok());
  end(Verdict::valid);
  leader_.lose_answers("change_owned", 1);
  EXPECT_EQ(ship().end, End::complete);
  EXPECT_TRUE(same_journals());
  const Run run = theirs();
  EXPECT_EQ(run.verdict, Verdict::flagged);
  ASSERT_EQ(run.flags.size(), 1U) << "once, however often it is tried";
  EXPECT_EQ(run.flags[0].kind, "artifact_lost");
  EXPECT_EQ(run.flags[0].about, "trace.json");
  EXPECT_THAT(run.flags[0].message, testing::HasSubstr("there is no room"));
}

TEST_F(RunShipperTest, WhatIsRecordedArrivesWhileItGoesOn) {
  auto shipper = make();
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  // Nothing has begun: the run is held, and no more.
  EXPECT_TRUE(comes_true([&] { return takes_ == 1; }));
  EXPECT_EQ(theirs().state, RunState::starting);
  begin();
  EXPECT_TRUE(comes_true([&] { return theirs().state == RunState::running; }));
  EXPECT_EQ(theirs().started, a_run().started);
  for (int i = 0; i < 10; ++i) {
    print("line\n");
    EXPECT_TRUE(comes_true([&] { return same_journals(); })) << i;
  }
  end();
  thread.join();
  EXPECT_TRUE(same_journals());
  EXPECT_EQ(takes_, 1);
}

TEST_F(RunShipperTest, ARunThatWaitsElsewhereIsToldToRunOnceItHasStarted) {
  auto shipper = make();
  Run run = a_run();
  const auto start = std::exchange(run.started, WallTime{});
  writer_ = begin_run(*local_, run).value();
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  print("it waits\n");
  EXPECT_TRUE(comes_true([&] { return same_journals(); }));
  EXPECT_EQ(theirs().state, RunState::starting) << "its time limit does not count yet";
  run.started = start;
  ASSERT_TRUE(writer_->update(run).ok());
  EXPECT_TRUE(comes_true([&] { return theirs().state == RunState::running; }));
  EXPECT_EQ(theirs().started, start);
  end();
  thread.join();
}

TEST_F(RunShipperTest, LargeJournalsTravelInPiecesOfWholeFrames) {
  begin();
  for (int i = 0; i < 40; ++i) print(std::string(1000, 'x'));
  print(std::string(20'000, 'y'));  // longer than a piece
  print("end");
  end();
  EXPECT_EQ(make(4096).ship({}).end, End::complete);
  EXPECT_TRUE(same_journals());
  EXPECT_GT(leader_.calls("append_frames"), 10);
}

TEST_F(RunShipperTest, TheJournalsOfAllRanksArrive) {
  auto shipper = make(4096);
  begin();
  auto rank = join_run(*local_, "r1", "rank-1").value();
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  const auto rank_here = [&] { return local_->read_frames("r1", "rank-1", 0, 64 << 20).value(); };
  const auto rank_there = [&] { return leader_memory_->read_frames("r1", "rank-1", 0, 64 << 20).value_or(""); };
  print("owner\n");
  ASSERT_TRUE(rank->append_output(OutputStream::out, WallTime(1s), std::string(10'000, 'x')).ok());
  ASSERT_TRUE(rank->flush().ok());
  EXPECT_TRUE(comes_true([&] { return same_journals() && rank_there() == rank_here(); }));
  leader_memory_->give_up(**leader_memory_->find_lease("r1"));
  end();
  // The owner has ended; the other rank takes a little longer.
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(theirs().state, RunState::running);
  ASSERT_TRUE(rank->append_output(OutputStream::out, WallTime(2s), "last words\n").ok());
  ASSERT_TRUE(rank->finish(a_run()).ok());
  thread.join();
  EXPECT_TRUE(same_journals());
  EXPECT_EQ(rank_there(), rank_here());
  EXPECT_EQ(theirs().verdict, Verdict::flagged);
}

TEST_F(RunShipperTest, ARankThatNeverEndsHoldsNothingUp) {
  begin();
  const auto rank = join_run(*local_, "r1", "rank-1").value();
  ASSERT_TRUE(rank->append_output(OutputStream::out, WallTime(1s), "hello\n").ok());
  ASSERT_TRUE(rank->flush().ok());
  end();
  RunShipper shipper(
      *local_, leader_,
      {.run = "r1", .take = [this] { return take(); }, .lease = {}, .look = 5ms, .ranks_patience = 20ms});
  EXPECT_EQ(shipper.ship({}).end, End::complete);
  EXPECT_GT(leader_memory_->journals("r1")->at(1).size, 0U);
}

TEST_F(RunShipperTest, ALeaderThatIsAwayMissesNothing) {
  for (const auto kind :
       {ErrorKind::unreachable, ErrorKind::timeout, ErrorKind::busy, ErrorKind::io, ErrorKind::crash}) {
    SCOPED_TRACE(name_of(kind));
    auto shipper = make();
    leader_.go_away({});
    begin();
    std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
    print("before\n");
    EXPECT_TRUE(comes_true([&] { return same_journals(); }));
    leader_.go_away(kind);
    const int calls = leader_.calls("append_frames");
    print("meanwhile\n");
    EXPECT_TRUE(comes_true([&] { return leader_.calls("append_frames") > calls + 2; })) << "it tries again";
    end();
    leader_.go_away({});
    thread.join();
    EXPECT_TRUE(same_journals());
    EXPECT_EQ(theirs().verdict, Verdict::flagged);
    // Afresh.
    writer_.reset();
    ASSERT_TRUE(local_->remove_run("r1").ok() && leader_memory_->remove_run("r1").ok());
    Run run = a_run();
    ASSERT_TRUE(leader_memory_->add_run(run).ok());
  }
}

TEST_F(RunShipperTest, AnswersThatAreLostDoNothingTwice) {
  begin();
  print("hello\n");
  ASSERT_TRUE(attach_text(*local_, "r1", "trace.json", "{}").ok());
  end();
  for (const char* operation : {"append_frames", "renew_lease", "attach", "change_owned"}) {
    leader_.lose_answers(operation, 2);
  }
  EXPECT_EQ(ship().end, End::complete) << "also where the last answer was lost, and the run has ended at the leader";
  EXPECT_TRUE(same_journals());
  EXPECT_EQ(theirs().verdict, Verdict::flagged);
}

TEST_F(RunShipperTest, ALeaseThatRanOutIsTakenAgain) {
  auto shipper = make();
  begin();
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  print("before\n");
  EXPECT_TRUE(comes_true([&] { return same_journals(); }));
  leader_memory_->give_up(**leader_memory_->find_lease("r1"));
  print("after\n");
  EXPECT_TRUE(comes_true([&] { return same_journals(); }));
  EXPECT_EQ(takes_, 2);
  EXPECT_EQ((*leader_memory_->find_lease("r1"))->epoch, 2U);
  end();
  thread.join();
}

TEST_F(RunShipperTest, LeasesAreRenewedWhileNothingIsRecorded) {
  RunShipper shipper(*local_, leader_,
                     {.run = "r1", .take = [this] { return take(); }, .lease = {}, .look = 2ms, .lease_length = 20ms});
  begin();
  std::stop_source stop;
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  EXPECT_TRUE(comes_true([&] { return leader_.calls("renew_lease") >= 5; }));
  EXPECT_LE(leader_.calls("append_frames"), 2 * takes_);
  end();
  thread.join();
}

TEST_F(RunShipperTest, ARunThatHasEndedAtTheLeaderIsRefused) {
  auto shipper = make();
  begin();
  std::optional<Shipment> shipment;
  std::jthread thread([&] { shipment = shipper.ship({}); });
  print("before\n");
  EXPECT_TRUE(comes_true([&] { return same_journals(); }));
  const auto lease = **leader_memory_->find_lease("r1");
  ASSERT_TRUE(close_interrupted(*leader_memory_, lease, "gpu03", clock_.wall()).ok());
  print("after\n");
  thread.join();
  EXPECT_EQ(shipment->end, End::refused);
  EXPECT_EQ(shipment->error->kind, ErrorKind::usage);
}

TEST_F(RunShipperTest, ARunThatIsGoneAtTheLeaderIsRefused) {
  begin();
  print("some\n");
  end();
  ASSERT_TRUE(leader_memory_->remove_run("r1").ok());
  const auto shipment = ship();
  EXPECT_EQ(shipment.end, End::refused);
  EXPECT_EQ(shipment.error->kind, ErrorKind::not_found);
}

TEST_F(RunShipperTest, ARunOfSomebodyElseIsWaitedForAsLongAsItIsOurs) {
  const auto other = leader_memory_->take_run("r1", {.owner = "gpu04", .length = 2min});
  ASSERT_TRUE(other.ok());
  begin();
  auto shipper = make();
  std::optional<Shipment> shipment;
  std::jthread thread([&] { shipment = shipper.ship({}); });
  EXPECT_TRUE(comes_true([&] { return takes_ >= 3; }));
  shipper.set_listed(false);
  thread.join();
  EXPECT_EQ(shipment->end, End::refused);
  EXPECT_EQ(shipment->error->kind, ErrorKind::busy);
}

TEST_F(RunShipperTest, ARunThatIsNotListedAnyMoreIsAskedForAndGoesOnIfItIsOurs) {
  begin();
  auto shipper = make();
  std::jthread thread([&] { EXPECT_EQ(shipper.ship({}).end, End::complete); });
  EXPECT_TRUE(comes_true([&] { return takes_ == 1; }));
  shipper.set_listed(false);
  EXPECT_TRUE(comes_true([&] { return takes_ == 2; }));
  print("more\n");
  end();
  thread.join();
  EXPECT_TRUE(same_journals());
}

TEST_F(RunShipperTest, AnotherShipperGoesOnWhereTheFirstStopped) {
  begin();
  print("first\n");
  {
    auto shipper = make();
    std::jthread thread([&](std::stop_token stop) { EXPECT_EQ(shipper.ship(stop).end, End::kept); });
    EXPECT_TRUE(comes_true([&] { return same_journals(); }));
    leader_.go_away(ErrorKind::unreachable);
    print("second\n");
  }
  leader_.go_away({});
  writer_.reset();  // as if it was killed: the store closes the run
  EXPECT_EQ(ship().end, End::complete);
  EXPECT_TRUE(same_journals());
  EXPECT_EQ(theirs().verdict, Verdict::interrupted);
}

TEST_F(RunShipperTest, WhenItIsToStopItStillShipsTheEnd) {
  begin();
  auto shipper = make();
  std::jthread thread([&](std::stop_token stop) { EXPECT_EQ(shipper.ship(stop).end, End::complete); });
  EXPECT_TRUE(comes_true([&] { return theirs().state == RunState::running; }));
  thread.request_stop();
  print("last words\n");
  end();
  thread.join();
  EXPECT_TRUE(same_journals());
}

TEST_F(RunShipperTest, ARunThatNeverBeganEndsWithTheReason) {
  auto shipper = make();
  Run run = a_run();
  run.state = RunState::ended;
  run.verdict = Verdict::failed;
  run.error = RunError{.kind = ErrorKind::no_engine, .message = "no engine", .hint = {}};
  shipper.end_with(run);
  EXPECT_EQ(shipper.ship({}).end, End::complete);
  EXPECT_EQ(theirs().verdict, Verdict::failed);
  EXPECT_EQ(theirs().error->kind, ErrorKind::no_engine);
}

/// What could not be started has a record for as long as it takes to remove that.
TEST_F(RunShipperTest, ARecordThatIsGoneWhileItIsShippedHoldsNothingUp) {
  begin();
  end();
  auto shipper = make();
  leader_.on_call([&, removed = false](std::string_view operation) mutable {
    if (operation != "append_frames" || std::exchange(removed, true)) return;
    EXPECT_TRUE(local_->remove_run("r1").ok());
    Run run = a_run();
    run.state = RunState::ended;
    run.verdict = Verdict::failed;
    shipper.end_with(run);
  });
  EXPECT_EQ(shipper.ship({}).end, End::complete);
  EXPECT_EQ(theirs().verdict, Verdict::failed);
}

}  // namespace
}  // namespace assay
