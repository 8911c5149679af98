#include "agent/uplink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fake_leader_fixture.h"
#include "base/ids.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

/// An outbox, and an uplink that does not wait long.
class UplinkTest : public testing::Test {
 protected:
  void open(std::string stream = "s1", std::size_t memory = 64) {
    stream_ = std::move(stream);
    auto spool = Spool::open({.folder = folder_.path()});
    ASSERT_TRUE(spool.ok());
    outbox_ = std::make_unique<Outbox>(OutboxOptions{.stream = stream_, .memory_batches = memory}, std::move(*spool));
    next_ = 1;
  }
  void connect() { connect(leader_.access()); }
  void connect(LeaderAccess access, Nanos request_time = 10s) {
    UplinkOptions options{.access = std::move(access)};
    options.introduction = {
        .period_ms = 1000, .facts = {{"host", "gpu03"}}, .allow = {"doctor"}, .sources = {"procfs"}};
    options.first_pause = 2ms;
    options.longest_pause = 20ms;
    options.request_time = request_time;
    options.on_period = [this](Nanos period) { period_ = period.count(); };
    options.on_refused = [this](const Error& error) {
      const std::lock_guard lock(mutex_);
      refusal_ = error;
    };
    auto uplink = Uplink::start(std::move(options), *outbox_);
    ASSERT_TRUE(uplink.ok());
    uplink_ = std::move(*uplink);
  }
  void push(int count) {
    for (int i = 0; i < count; ++i, ++next_) outbox_->push(make_batch(stream_, next_, next_ == 1 ? 0 : 3, 3));
  }
  std::optional<Error> refusal() {
    const std::lock_guard lock(mutex_);
    return refusal_;
  }
  /// Every batch once and in order.
  void expect_all(std::uint64_t count) {
    EXPECT_TRUE(comes_true([&] { return leader_.taken() >= count && outbox_->empty(); }));
    const auto arrived = leader_.sequences();
    ASSERT_EQ(arrived.size(), count);
    for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(arrived[i], std::pair(stream_, i + 1));
  }

  FakeLeader leader_;
  TemporaryFolder folder_;
  std::string stream_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Uplink> uplink_;
  std::uint64_t next_ = 1;
  std::atomic<std::int64_t> period_ = 0;
  std::mutex mutex_;
  std::optional<Error> refusal_;
};

TEST_F(UplinkTest, SaysHelloAndSends) {
  open();
  connect();
  push(3);
  expect_all(3);
  leader_.look([](const FakeLeader::Seen& seen) {
    ASSERT_THAT(seen.hellos, SizeIs(1));
    const auto hello = parse_json(seen.hellos.front());
    EXPECT_EQ(hello->at("stream").as_string(), "s1");
    EXPECT_EQ(hello->at("schema").as_int64(), 1);
    EXPECT_EQ(hello->at("period_ms").as_int64(), 1000);
    EXPECT_EQ(hello->at("simulated").as_bool(), false);
    EXPECT_EQ(hello->at("facts").at("host").as_string(), "gpu03");
    EXPECT_TRUE(seen.saw_sent_header);
    EXPECT_TRUE(seen.joins.empty());
  });
  EXPECT_EQ(uplink_->heartbeat(), 200ms);
  EXPECT_FALSE(uplink_->state().away);
}

TEST_F(UplinkTest, JoinsWithANewKey) {
  open();
  LeaderAccess access = leader_.access();
  access.key = new_secret();
  access.never_joined = true;
  access.join_secret = leader_.secret;
  connect(access);
  push(2);
  expect_all(2);
  leader_.look([&](const FakeLeader::Seen& seen) {
    ASSERT_THAT(seen.joins, SizeIs(1));
    EXPECT_EQ(parse_json(seen.joins.front())->at("key").as_string(), access.key);
    EXPECT_EQ(parse_json(seen.joins.front())->at("node").as_string(), "gpu03");
  });
}

TEST_F(UplinkTest, AWrongTokenIsSaidAtOnce) {
  open();
  LeaderAccess access = leader_.access();
  access.key = new_secret();
  access.never_joined = true;
  access.join_secret = new_secret();
  connect(access);
  push(1);
  ASSERT_TRUE(comes_true([this] { return refusal().has_value(); }));
  EXPECT_EQ(refusal()->kind, ErrorKind::denied);
  EXPECT_NE(refusal()->hint.find("assay token create"), std::string::npos);
  EXPECT_EQ(leader_.taken(), 0U);
}

TEST_F(UplinkTest, JoinsAgainWhenItsKeyIsNotKnownAnyMore) {
  open();
  LeaderAccess access = leader_.access();
  access.join_secret = leader_.secret;
  connect(access);
  push(2);
  EXPECT_TRUE(comes_true([this] { return leader_.taken() == 2; }));
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.key = new_secret();
  }
  push(2);
  expect_all(4);
  EXPECT_FALSE(refusal());
}

TEST_F(UplinkTest, WithoutATokenItWaitsUntilItsKeyIsKnown) {
  open();
  const LeaderAccess access = leader_.access();
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.key = new_secret();
  }
  connect(access);
  push(3);
  EXPECT_TRUE(comes_true([this] { return uplink_->state().last_error.has_value(); }));
  EXPECT_FALSE(refusal());
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.key = access.key;
  }
  expect_all(3);
}

TEST_F(UplinkTest, EverythingArrivesOnceAndInOrderAfterTheLeaderWasAway) {
  open("s1", 8);
  connect();
  push(5);
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  leader_.go_away();
  push(100);
  EXPECT_TRUE(comes_true([this] { return uplink_->state().away; }));
  push(100);
  EXPECT_GT(outbox_->counts().spool_bytes, 0U);
  leader_.come_back();
  push(20);
  expect_all(225);
  EXPECT_TRUE(comes_true([this] {
    push(1);
    return uplink_->state().backfilled >= 180;
  }));
  leader_.look([](const FakeLeader::Seen& seen) {
    EXPECT_GT(*std::max_element(seen.parcels.begin(), seen.parcels.end()), 50U) << "many at a time";
  });
}

TEST_F(UplinkTest, ALeaderThatForgotTheStreamIsToldAgain) {
  open();
  connect();
  push(3);
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  leader_.forget_streams();
  push(3);
  expect_all(6);
  leader_.look([](const FakeLeader::Seen& seen) {
    EXPECT_THAT(seen.hellos, SizeIs(2));
    EXPECT_THAT(seen.names.at("s1"), SizeIs(3));
  });
}

TEST_F(UplinkTest, ALeaderThatForgotTheNamesIsToldAgain) {
  open();
  connect();
  push(3);
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  leader_.forget_names();
  push(3);
  expect_all(6);
  leader_.look([](const FakeLeader::Seen& seen) { EXPECT_THAT(seen.hellos, SizeIs(1)); });
}

TEST_F(UplinkTest, ARefusedBatchIsGivenUpAndTheOthersArrive) {
  open();
  push(4);  // together in the first request
  leader_.answer_next({{.status = 413}, {.status = 400}});
  connect();
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  EXPECT_THAT(leader_.sequences(), ElementsAre(std::pair("s1", 2), std::pair("s1", 3), std::pair("s1", 4)));
  EXPECT_EQ(outbox_->counts().given_up, 1U);
  EXPECT_EQ(outbox_->counts().acknowledged, 3U);
}

TEST_F(UplinkTest, ABatchWhoseNamesAreNeverEnoughIsGivenUp) {
  open();
  push(1);
  leader_.answer_next({{.status = 409}, {.status = 409}});
  connect();
  EXPECT_TRUE(comes_true([this] { return outbox_->counts().given_up == 1; }));
}

TEST_F(UplinkTest, ABusyLeaderLosesNothing) {
  open();
  push(5);
  leader_.answer_next(
      {{.status = 429}, {.status = 503, .body = "", .retry_after = "0"}, {.status = 500}, {.status = 429}});
  connect();
  expect_all(5);
  EXPECT_EQ(outbox_->counts().given_up, 0U);
}

TEST_F(UplinkTest, AnAnswerThatMakesNoSenseLosesNothing) {
  open();
  push(2);
  leader_.answer_next({{.status = 200, .body = "<html>"},
                       {.status = 200, .body = "{}"},
                       {.status = 200, .body = R"({"sequence": 0})"},
                       {.status = 200, .body = R"({"sequence": -5})"},
                       {.status = 204, .body = ""}});
  connect();
  expect_all(2);
}

TEST_F(UplinkTest, APartlyTakenParcelGoesOnWithTheRest) {
  open();
  push(3);
  leader_.answer_next({{.status = 200, .body = R"({"sequence": 1})"}});
  connect();
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  // Its own memory is of what it took without being told what to answer; the names were in the first one.
  EXPECT_THAT(leader_.sequences(), ElementsAre(std::pair("s1", 2), std::pair("s1", 3)));
}

TEST_F(UplinkTest, TheLeaderChoosesPeriodAndPause) {
  leader_.batch_extra = R"(, "pause_ms": 1, "period_ms": 250)";
  open();
  connect();
  push(1);
  EXPECT_TRUE(comes_true([this] { return period_ == Nanos(250ms).count(); }));
}

TEST_F(UplinkTest, ALeaderThatNeverAnswersHoldsUpNothingButItself) {
  open("s1", 4);
  leader_.hang();
  connect(leader_.access(), 50ms);
  push(50);
  EXPECT_TRUE(comes_true([this] { return leader_.look([](const auto& seen) { return seen.batch_requests >= 2; }); }));
  EXPECT_TRUE(uplink_->state().away);
  leader_.hang_end();
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  // The requests that were never answered were taken in the end: a batch may come twice, but none is missing.
  std::set<std::uint64_t> distinct;
  for (const auto& [stream, sequence] : leader_.sequences()) distinct.insert(sequence);
  EXPECT_THAT(distinct, SizeIs(50));
}

TEST_F(UplinkTest, StopsAtOnceWhileTheLeaderDoesNotAnswer) {
  open();
  leader_.hang();
  connect(leader_.access(), 10min);
  push(1);
  EXPECT_TRUE(comes_true([this] { return leader_.look([](const auto& seen) { return seen.batch_requests == 1; }); }));
  uplink_->stop(1ms);
  EXPECT_FALSE(outbox_->empty());
}

TEST_F(UplinkTest, StoppingSendsWhatIsLeft) {
  open();
  connect();
  push(1);
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  push(20);
  uplink_->stop(30s);
  EXPECT_TRUE(outbox_->empty());
  expect_all(21);
}

TEST_F(UplinkTest, AnEarlierStreamIsSentFirstAndUnderItsOwnName) {
  open("old", 2);
  push(10);
  outbox_->spill();
  outbox_.reset();
  open("new");
  push(3);
  connect();
  EXPECT_TRUE(comes_true([this] { return outbox_->empty(); }));
  const auto arrived = leader_.sequences();
  ASSERT_EQ(arrived.size(), 13U);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(arrived[i], std::pair(std::string("old"), i + 1));
  for (std::uint64_t i = 10; i < 13; ++i) EXPECT_EQ(arrived[i], std::pair(std::string("new"), i - 9));
  leader_.look([](const FakeLeader::Seen& seen) {
    ASSERT_THAT(seen.hellos, SizeIs(2));
    EXPECT_EQ(parse_json(seen.hellos[0])->at("stream").as_string(), "old");
    EXPECT_EQ(parse_json(seen.hellos[1])->at("stream").as_string(), "new");
  });
}

}  // namespace
}  // namespace assay
