#include "agent/peer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "net/raw_connection_fixture.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A leader that answers reports as it is told to.
class PeerWatchTest : public testing::Test {
 protected:
  void start(PeerWatchOptions options = {}) {
    options.run = "r1";
    options.meeting = {.address = "gpu01", .port = 4711, .secret = "s"};
    options.report = [this](const PartReport& report) { return take(report); };
    options.on_lost = [this] { lost_told_ = true; };
    options.period = 2ms;
    watch_ = PeerWatch::start(std::move(options)).value();
  }
  Result<PartAnswer> take(const PartReport& report) {
    const std::lock_guard lock(mutex_);
    if (trouble_) return *trouble_;
    reports_.push_back(report);
    return answer_;
  }
  void answer(PartAnswer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    trouble_.reset();
  }
  void refuse(Error error) {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(error);
  }
  PartReport last() {
    const std::lock_guard lock(mutex_);
    return reports_.back();
  }
  std::size_t reports() {
    const std::lock_guard lock(mutex_);
    return reports_.size();
  }
  static Error gone() { return {.kind = ErrorKind::lost_peer, .message = "gpu02 is gone"}; }

  std::mutex mutex_;
  PartAnswer answer_{.open = 1, .lost = {}};
  std::optional<Error> trouble_;
  std::vector<PartReport> reports_;
  std::atomic<bool> lost_told_ = false;
  std::unique_ptr<PeerWatch> watch_;
};

TEST_F(PeerWatchTest, SaysWhereTheOthersFindUs) {
  start();
  EXPECT_TRUE(comes_true([&] { return reports() >= 3; }));
  EXPECT_EQ(last().meeting->port, 4711);
  EXPECT_FALSE(last().ended);
}

TEST_F(PeerWatchTest, AtTheEndItWaitsForTheOthers) {
  start();
  auto end = std::async(std::launch::async, [&] { return watch_->await_end(true); });
  EXPECT_TRUE(comes_true([&] { return reports() > 0 && last().ended; }));
  EXPECT_EQ(end.wait_for(20ms), std::future_status::timeout);
  EXPECT_EQ(last().error, std::nullopt);
  answer({.open = 0, .lost = {}});
  EXPECT_EQ(end.get(), std::nullopt);
}

TEST_F(PeerWatchTest, ALostNodeIsToldAfterAWhileAndIsWhatWentWrong) {
  start({.grace = 1ms});
  EXPECT_TRUE(comes_true([&] { return reports() > 0; }));
  EXPECT_FALSE(lost_told_);
  answer({.open = 0, .lost = gone()});
  EXPECT_TRUE(comes_true([&] { return lost_told_.load(); }));
  const auto why = watch_->await_end(false);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, ErrorKind::lost_peer);
  EXPECT_TRUE(last().error) << "those that are still there are to end";
}

TEST_F(PeerWatchTest, OneThatDoesNotEndIsGivenUp) {
  start({.patience = 5ms});
  const auto why = watch_->await_end(true);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->kind, ErrorKind::lost_peer);
  EXPECT_THAT(why->message, HasSubstr("1 of its nodes had not ended"));
}

TEST_F(PeerWatchTest, OneThatBringsItsFilesMayTakeItsTime) {
  answer({.open = 1, .bringing = 1, .lost = {}});
  start({.patience = 1ms});
  auto end = std::async(std::launch::async, [&] { return watch_->await_end(true); });
  EXPECT_EQ(end.wait_for(50ms), std::future_status::timeout);
  answer({.open = 0, .lost = {}});
  EXPECT_EQ(end.get(), std::nullopt);
}

TEST_F(PeerWatchTest, AfterAFailureNobodyIsBlamedForBeingLate) {
  start({.patience_of_failed = 5ms});
  EXPECT_EQ(watch_->await_end(false), std::nullopt);
}

TEST_F(PeerWatchTest, ALeaderThatIsAwayIsWaitedFor) {
  refuse({.kind = ErrorKind::unreachable, .message = "away"});
  start({.patience = 1ms});
  auto end = std::async(std::launch::async, [&] { return watch_->await_end(true); });
  EXPECT_EQ(end.wait_for(50ms), std::future_status::timeout);
  answer({.open = 0, .lost = {}});
  EXPECT_EQ(end.get(), std::nullopt);
}

TEST_F(PeerWatchTest, NobodyWaitsForARunThatIsNotOursOrWhenTheAgentEnds) {
  refuse({.kind = ErrorKind::not_found, .message = "it has ended"});
  start();
  EXPECT_EQ(watch_->await_end(true), std::nullopt);
  answer({.open = 1, .lost = {}});
  start();
  watch_->give_up();
  EXPECT_EQ(watch_->await_end(true), std::nullopt);
}

}  // namespace
}  // namespace assay
