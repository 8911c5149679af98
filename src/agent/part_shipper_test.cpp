#include "agent/part_shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include "net/raw_connection_fixture.h"
#include "store/lease.h"
#include "store/memory/run_memory.h"
#include "store/run_writer.h"
#include "store/troubled_store_fixture.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using End = Shipment::End;

/// A part of the run "r1" that this node records, and a leader that has a journal for it.
class PartShipperTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  static Run a_run() {
    Run run;
    run.id = "r1";
    run.kind = "command";
    run.placement.part = 1;
    return run;
  }
  void begin() {
    Run run = a_run();
    writer_ = begin_run(*local_, run).value();
  }
  void print(std::string_view text) {
    EXPECT_TRUE(writer_->append_output(OutputStream::out, WallTime(1s), text).ok());
    EXPECT_TRUE(writer_->flush().ok());
  }
  void end(std::optional<RunError> error = {}) {
    Run run = a_run();
    run.verdict = error ? Verdict::failed : Verdict::valid;
    run.error = std::move(error);
    EXPECT_TRUE(writer_->finish(run).ok());
  }
  std::string journal() { return local_->read_frames("r1", kOwnersJournal, 0, 64 << 20).value(); }

  Result<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    ++takes_;
    if (refusal_) return *refusal_;
    return epoch_;
  }
  Result<std::uint64_t> send(std::uint64_t epoch, std::uint64_t offset, std::string_view frames) {
    const std::lock_guard lock(mutex_);
    if (away_) return Error{.kind = ErrorKind::unreachable, .message = "away"};
    if (refusal_) return *refusal_;
    if (epoch != epoch_) return Error{.kind = ErrorKind::denied, .message = "an old epoch"};
    if (offset > theirs_.size()) return theirs_.size();
    theirs_.append(frames.substr(std::min<std::size_t>(frames.size(), theirs_.size() - offset)));
    return theirs_.size();
  }
  Result<PartAnswer> report(const PartReport& report) {
    const std::lock_guard lock(mutex_);
    if (away_) return Error{.kind = ErrorKind::unreachable, .message = "away"};
    if (refusal_) return *refusal_;
    reports_.push_back(report);
    // All that it recorded is there when it says that it has ended.
    if (report.ended) at_end_ = theirs_;
    return PartAnswer();
  }
  std::unique_ptr<PartShipper> make() { return make(*leader_); }
  std::unique_ptr<PartShipper> make(RunStore& leader) {
    return std::make_unique<PartShipper>(
        *local_, leader,
        PartShipperOptions{.run = "r1",
                           .take = [this] { return take(); },
                           .send = [this](std::uint64_t epoch, std::uint64_t offset,
                                          std::string_view frames) { return send(epoch, offset, frames); },
                           .report = [this](const PartReport& said) { return report(said); },
                           .period = 2ms,
                           .look = 2ms,
                           .first_pause = 2ms,
                           .longest_pause = 10ms});
  }
  template <typename F>
  bool comes_to(F f) {
    return comes_true([&] {
      const std::lock_guard lock(mutex_);
      return f();
    });
  }
  void over() {
    const std::lock_guard lock(mutex_);
    refusal_ = Error{.kind = ErrorKind::not_found, .message = "the run has ended"};
  }

  SystemClock clock_;
  std::unique_ptr<RunStore> local_ = open_run_memory(make_run_memory(), clock_);
  std::unique_ptr<RunStore> leader_ = open_run_memory(make_run_memory(), clock_);
  std::unique_ptr<RunWriter> writer_;
  std::mutex mutex_;
  std::string theirs_, at_end_;
  std::vector<PartReport> reports_;
  std::uint64_t epoch_ = 1;
  int takes_ = 0;
  bool away_ = false;
  std::optional<Error> refusal_;
};

TEST_F(PartShipperTest, SaysThatItIsThereAndBringsWhatItRecordsUntilTheRunIsOver) {
  auto shipper = make();
  std::jthread thread([&] { EXPECT_EQ(shipper->ship({}).end, End::complete); });
  EXPECT_TRUE(comes_to([&] { return reports_.size() >= 2; })) << "nothing has begun, and it is there";
  begin();
  print("one\n");
  EXPECT_TRUE(comes_true([&] {
    const std::lock_guard lock(mutex_);
    return theirs_ == journal();
  }));
  end();
  EXPECT_TRUE(comes_to([&] { return reports_.back().ended; }));
  EXPECT_EQ(reports_.back().error, std::nullopt);
  EXPECT_EQ(at_end_, journal());
  const auto said = [&] {
    const std::lock_guard lock(mutex_);
    return reports_.size();
  }();
  EXPECT_TRUE(comes_to([&] { return reports_.size() >= said + 2; }))
      << "a leader that was started again has to hear it";
  over();
  shipper->set_listed(false);
  thread.join();
  EXPECT_EQ(takes_, 2) << "asked whether it is still ours";
}

TEST_F(PartShipperTest, WhatItLeftArrivesUnderANameOfItsOwn) {
  Run theirs = a_run();
  ASSERT_TRUE(leader_->add_run(theirs).ok());
  begin();
  ASSERT_TRUE(attach_text(*local_, "r1", "trace.json", "{}").ok());
  end();
  auto shipper = make();
  std::jthread thread([&] { shipper->ship({}); });
  EXPECT_TRUE(comes_to([&] { return !reports_.empty() && reports_.back().ended; }));
  EXPECT_EQ(*read_artifact(*leader_, "r1", "part-1-trace.json"), "{}");
  over();
  shipper->set_listed(false);
}

TEST_F(PartShipperTest, WhileItsFilesTakeTheirTimeItSaysThatItIsThere) {
  Run theirs = a_run();
  ASSERT_TRUE(leader_->add_run(theirs).ok());
  begin();
  ASSERT_TRUE(attach_text(*local_, "r1", "trace.json", "{}").ok());
  end();
  std::promise<void> rest;
  TroubledStore slow(*leader_);
  slow.on_call([&, arrived = rest.get_future().share()](std::string_view operation) {
    if (operation == "attach") arrived.wait();
  });
  auto shipper = make(slow);
  std::jthread thread([&] { shipper->ship({}); });
  EXPECT_TRUE(comes_to([&] { return reports_.size() >= 3 && reports_.back().bringing; }));
  {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(std::none_of(reports_.begin(), reports_.end(), [](const PartReport& said) { return said.ended; }));
  }
  rest.set_value();
  EXPECT_TRUE(comes_to([&] { return reports_.back().ended; }));
  EXPECT_FALSE(reports_.back().bringing);
  over();
  shipper->set_listed(false);
}

TEST_F(PartShipperTest, AFailureIsTold) {
  begin();
  end(RunError{.kind = ErrorKind::oom, .message = "out of memory", .hint = "less"});
  auto shipper = make();
  std::jthread thread([&] { shipper->ship({}); });
  EXPECT_TRUE(comes_to([&] { return !reports_.empty() && reports_.back().ended; }));
  EXPECT_EQ(reports_.back().error->kind, ErrorKind::oom);
  over();
  shipper->set_listed(false);
}

TEST_F(PartShipperTest, OneThatNeverBeganHasEnded) {
  auto shipper = make();
  Run run = a_run();
  run.state = RunState::ended;
  run.error = RunError{.kind = ErrorKind::missing_file, .message = "no such program", .hint = ""};
  shipper->end_with(run);
  std::jthread thread([&] { shipper->ship({}); });
  EXPECT_TRUE(comes_to([&] { return !reports_.empty() && reports_.back().ended; }));
  EXPECT_THAT(reports_.back().error->message, HasSubstr("no such program"));
  over();
  shipper->set_listed(false);
}

TEST_F(PartShipperTest, ALeaderThatIsAwayAndAnOwnerWithAnotherEpochCostNothing) {
  begin();
  print("one\n");
  auto shipper = make();
  std::jthread thread([&] { EXPECT_EQ(shipper->ship({}).end, End::complete); });
  EXPECT_TRUE(comes_to([&] { return !theirs_.empty(); }));
  {
    const std::lock_guard lock(mutex_);
    away_ = true;
  }
  print("two\n");
  {
    const std::lock_guard lock(mutex_);
    away_ = false;
    epoch_ = 2;
  }
  end();
  EXPECT_TRUE(comes_to([&] { return !reports_.empty() && reports_.back().ended; }));
  EXPECT_EQ(at_end_, journal());
  over();
  shipper->set_listed(false);
}

TEST_F(PartShipperTest, APartThatIsNotOursIsRefused) {
  over();
  const auto shipment = make()->ship({});
  EXPECT_EQ(shipment.end, End::refused);
  EXPECT_THAT(shipment.error->message, HasSubstr("has ended"));
}

TEST_F(PartShipperTest, WhenTheAgentEndsTheRestIsKept) {
  begin();
  end();
  auto shipper = make();
  std::stop_source stop;
  std::jthread thread([&] { EXPECT_EQ(shipper->ship(stop.get_token()).end, End::kept); });
  EXPECT_TRUE(comes_to([&] { return !reports_.empty() && reports_.back().ended; }));
  stop.request_stop();
  shipper->look_again();
}

}  // namespace
}  // namespace assay
