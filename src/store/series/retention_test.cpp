#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/series/embedded_series_store.h"
#include "store/series/store_fixture.h"

namespace assay {
namespace {

/// The time of day as a machine shows it; the time that passes is the right one.
class WrongClock final : public Clock {
 public:
  explicit WrongClock(const Clock& right) : right_(right) {}
  SteadyTime now() const override { return right_.now(); }
  WallTime wall() const override { return right_.wall() + wrong_by_; }
  void be_wrong_by(Nanos wrong_by) { wrong_by_ = wrong_by; }

 private:
  const Clock& right_;
  Nanos wrong_by_{};
};

class RetentionTest : public SeriesStoreTest {
 protected:
  RetentionTest() {
    options_.clock = &leader_;
    open();
  }

  std::int64_t true_time() const { return clock_.wall().time_since_epoch().count(); }
  std::int64_t shown_time() const { return leader_.wall().time_since_epoch().count(); }
  bool takes(std::int64_t time_ns) { return append({{intern("now"), time_ns, 1}}).accepted == 1; }

  void keep_up() {
    for (bool more = true; more;) {
      const auto outcome = store_->maintain(leader_.wall());
      ASSERT_TRUE(outcome.ok()) << outcome.error().text();
      more = outcome->more;
    }
  }

  /// Samples come in, from machines whose clocks are right.
  void live_for(int hours) {
    for (int hour = 0; hour < hours; ++hour) {
      keep_up();
      clock_.advance(std::chrono::hours(1));
      ASSERT_TRUE(takes(true_time()));
    }
    keep_up();
  }

  WrongClock leader_{clock_};
};

TEST_F(RetentionTest, AClockThatIsWrongForAMomentDeletesNothing) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, true_time() - kDayNs, 600, &expected);
  live_for(2);
  // The agent beside the leader has the same clock.
  leader_.be_wrong_by(std::chrono::hours(24 * 20));
  ASSERT_TRUE(takes(shown_time()));
  for (int second = 0; second < 3; ++second) {
    keep_up();
    clock_.advance(std::chrono::seconds(1));
  }
  leader_.be_wrong_by({});
  keep_up();
  EXPECT_TRUE(takes(true_time()));
  live_for(5);
  expect_same(expected, points(id));
  open();
  keep_up();
  expect_same(expected, points(intern("a")));
  EXPECT_TRUE(takes(true_time()));
}

TEST_F(RetentionTest, AClockThatIsBehindForAMomentBringsNothingBack) {
  live_for(2);
  const auto expired = true_time() - 15 * kDayNs;
  ASSERT_FALSE(takes(expired));
  leader_.be_wrong_by(-std::chrono::hours(24 * 365 * 50));
  keep_up();
  leader_.be_wrong_by({});
  keep_up();
  EXPECT_FALSE(takes(expired));
}

TEST_F(RetentionTest, ALeaderThatStartsWithAWrongClockGoesByTheSamples) {
  ExpectedSeries expected;
  append_seconds(intern("a"), true_time() - kDayNs, 600, &expected);
  live_for(2);
  leader_.be_wrong_by(std::chrono::hours(24 * 20));
  open();
  live_for(5);
  leader_.be_wrong_by({});
  open();
  live_for(5);
  expect_same(expected, points(intern("a")));
}

TEST_F(RetentionTest, AfterTheWorstOfClocksSamplesAreTakenAgain) {
  for (const bool restarted : {false, true}) {
    leader_.be_wrong_by(std::chrono::hours(24 * 20));
    keep_up();
    clock_.advance(std::chrono::hours(2));
    ASSERT_TRUE(takes(shown_time()));
    keep_up();
    ASSERT_FALSE(takes(true_time()));
    leader_.be_wrong_by({});
    if (restarted) {
      open();
    } else {
      keep_up();
    }
    EXPECT_TRUE(takes(true_time()));
    keep_up();
    EXPECT_TRUE(takes(true_time()));
  }
}

TEST_F(RetentionTest, WhatWasStoredWeeksAgoGoesAnHourAfterNewSamplesCame) {
  append_seconds(intern("a"), true_time() - 600 * kSecondNs, 600);
  live_for(2);
  clock_.advance(std::chrono::hours(24 * 21));
  open();
  keep_up();
  EXPECT_EQ(points(intern("a")).size(), 600U);
  live_for(2);
  EXPECT_EQ(points(intern("a")).size(), 0U);
}

/// What is only switched on for minutes at a time forgets, too: by what it had when it was switched on.
TEST_F(RetentionTest, ShortLivesAddUp) {
  append_seconds(intern("a"), true_time() - 600 * kSecondNs, 600);
  for (int day = 0; day < 16; ++day) {
    clock_.advance(std::chrono::hours(24));
    open();
    ASSERT_TRUE(takes(true_time()));
    keep_up();
  }
  EXPECT_EQ(points(intern("a")).size(), 0U);
}

/// Every bucket of an answer is what all points would have made of it, however close it is to what is deleted.
TEST_F(RetentionTest, BucketsBesideWhatIsDeletedAreWhole) {
  options_.keep = {std::chrono::hours(3), std::chrono::hours(10), std::chrono::hours(40)};
  open();
  keep_up();
  const auto id = intern("a");
  const auto start = true_time();
  ExpectedSeries expected;
  for (int hour = 0; hour < 50; ++hour) {
    clock_.advance(std::chrono::hours(1));
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 360; ++i) {
      samples.push_back({id, start + hour * kHourNs + i * 10 * kSecondNs, static_cast<double>(random_() % 999) / 8});
      expected.put(samples.back().time_ns, samples.back().value);
    }
    append(samples);
    keep_up();
  }
  std::array<int, 3> tiers{};
  for (int round = 0; round < 600; ++round) {
    const auto kept = options_.keep[random_() % 3].count();
    const auto from = true_time() - kept - 2 * kHourNs + static_cast<std::int64_t>(random_() % (4 * kHourNs));
    const auto to = from + 1 + static_cast<std::int64_t>(random_() % (5 * kHourNs));
    const auto width = (1 + static_cast<std::int64_t>(random_() % 99)) * (round % 2 == 0 ? kSecondNs : kMinuteNs);
    const auto answer = query({.selector = {"a", {}}, .range = {from, to}, .width_ns = width, .max_points = 0});
    SCOPED_TRACE(fmt::format("round {}, from {} to {}, width {} s", round, from, to, width / kSecondNs));
    ++tiers.at(static_cast<std::size_t>(answer.tier));
    // Of hours nothing coarser has the rest: there the answer may begin inside a bucket, and says so.
    ASSERT_TRUE(answer.tier == SeriesTier::hour || answer.range.from_ns % answer.width_ns == 0);
    const auto whole = expected.buckets(answer.range, answer.width_ns);
    ASSERT_EQ(answer.rows.size(), whole.empty() ? 0U : 1U);
    if (!whole.empty()) expect_same(whole, answer.rows[0].buckets);
    if (HasFatalFailure()) return;
    // Nothing that was asked for is left out, unless it is gone altogether.
    ASSERT_LE(answer.range.from_ns, std::max(from, true_time() - options_.keep[2].count()));
  }
  EXPECT_THAT(tiers, testing::Each(testing::Gt(20)));
}

}  // namespace
}  // namespace assay
