#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/series/embedded_series_store.h"
#include "store/series/head_log.h"
#include "store/series/series_file.h"
#include "store/series/store_fixture.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::IsEmpty;

class UpkeepTest : public SeriesStoreTest {
 protected:
  void set_clock(std::int64_t time_ns) { clock_.advance(WallTime(Nanos(time_ns)) - clock_.wall()); }
};

TEST_F(UpkeepTest, EachTierIsKeptForItsTime) {
  options_.keep = {std::chrono::hours(24), std::chrono::hours(72), std::chrono::hours(24 * 10)};
  open();
  const auto id = intern("a");
  ExpectedSeries expected;
  // Five days, a point every ten seconds.
  for (int day = 0; day < 5; ++day) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 8640; ++i) {
      samples.push_back({id, kStart + day * kDayNs + i * 10 * kSecondNs, static_cast<double>(i % 97)});
      expected.put(samples.back().time_ns, samples.back().value);
    }
    set_clock(kStart + (day + 1) * kDayNs);
    append(samples);
    maintain();
  }
  append_seconds(id, kStart + 5 * kDayNs, 1, &expected);
  maintain();
  const auto raw = points(id);
  ASSERT_FALSE(raw.empty());
  EXPECT_EQ(raw.front().time_ns, kStart + 4 * kDayNs);

  // Asked finely about the third day, the answer comes from minutes and says so.
  const TimeRange third{kStart + 2 * kDayNs, kStart + 3 * kDayNs};
  const auto minutes = query({.range = third, .width_ns = kSecondNs, .max_points = 0});
  EXPECT_EQ(minutes.tier, SeriesTier::minute);
  EXPECT_EQ(minutes.width_ns, kMinuteNs);
  expect_same(expected.buckets(third, kMinuteNs), minutes.rows.at(0).buckets);
  const TimeRange first{kStart, kStart + kDayNs};
  const auto hours = query({.range = first, .width_ns = kSecondNs, .max_points = 0});
  EXPECT_EQ(hours.tier, SeriesTier::hour);
  expect_same(expected.buckets(first, kHourNs), hours.rows.at(0).buckets);

  // What is older than raw points are kept is refused, not half stored.
  EXPECT_EQ(append({{id, kStart, 1}}).too_old, 1U);
  open();
  EXPECT_EQ(append({{id, kStart, 1}}).too_old, 1U);
}

TEST_F(UpkeepTest, MemoryIsCountedRightHoweverOftenHeadsAreWrittenOut) {
  open();
  const auto empty = store_->stats().head_bytes;
  const auto id = intern("a");
  const auto named = store_->stats().head_bytes;
  for (int round = 0; round < 5; ++round) {
    append_seconds(id, kStart + round * 600 * kSecondNs, 100);
    const auto held = store_->stats().head_bytes;
    EXPECT_GT(held, named) << "round " << round;
    EXPECT_LT(held, named + 4096) << "round " << round;
    ASSERT_TRUE(store_->flush().ok());
    EXPECT_EQ(store_->stats().head_bytes, named) << "round " << round;
  }
  EXPECT_LE(empty, named);
  EXPECT_LT(store_->stats().fullness, 0.01);
}

TEST_F(UpkeepTest, ASeriesOfWhichNothingIsLeftIsForgotten) {
  options_.keep = {std::chrono::hours(1), std::chrono::hours(2), std::chrono::hours(3)};
  set_clock(kStart);
  open();
  const auto gone = intern("gone");
  const auto unused = intern("unused");
  append_seconds(gone, kStart, 700);
  set_clock(kStart + kDayNs);
  append_seconds(intern("alive"), kStart + kDayNs, 1);
  maintain();
  set_clock(kStart + kDayNs + kHourNs);
  maintain();
  EXPECT_EQ(store_->points(gone, {}, 1).error().kind, ErrorKind::not_found);
  EXPECT_TRUE(store_->points(unused, {}, 1).ok());
  const auto again = intern("gone");
  EXPECT_NE(again, gone);
  append({{again, kStart + kDayNs, 5}});
  crash();
  EXPECT_EQ(store_->latest({"gone", {}})->front().newest.value, 5);
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(UpkeepTest, PointsThatWereLeftInTheHeadForMonthsStillReachTheHours) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 2000, &expected);
  maintain();
  // Nobody was there for half a year. An hour after that, the clock is believed.
  set_clock(kStart + 180 * kDayNs);
  open();
  maintain();
  append_seconds(intern("b"), kStart + 180 * kDayNs, 1);
  clock_.advance(std::chrono::hours(1));
  maintain();
  EXPECT_THAT(points(intern("a")), IsEmpty());
  const TimeRange hour{kStart, kStart + kHourNs};
  expect_same(expected.buckets(hour, kHourNs), query({.range = hour}).rows.at(0).buckets);
}

TEST_F(UpkeepTest, OneCallDoesABoundedAmountAndSaysThereIsMore) {
  std::vector<SeriesSample> samples;
  for (int i = 0; i < 6000; ++i) {
    const auto id = intern("s" + std::to_string(i));
    samples.push_back({id, kStart, 1});
  }
  append(samples);
  // All are idle for longer than they may be, and expire in slices.
  clock_.advance(std::chrono::hours(24 * 20));
  const auto first = store_->maintain(clock_.wall());
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->more);
  EXPECT_LT(first->series_written, 6000U);
  maintain();
  EXPECT_EQ(store_->stats().head_points, 0U);
}

TEST_F(UpkeepTest, LogFilesGoWhenTheirPointsAreInChunks) {
  options_.log_file_bytes = 16 << 10;
  options_.max_log_files = 4;
  open();
  const auto quick = intern("quick");
  const auto slow = intern("slow");
  ExpectedSeries expected_quick;
  ExpectedSeries expected_slow;
  for (int minute = 0; minute < 600; ++minute) {
    append_seconds(quick, kStart + minute * kMinuteNs, 60, &expected_quick);
    if (minute % 10 == 0) append_seconds(slow, kStart + minute * kMinuteNs, 1, &expected_slow);
    set_clock(kStart + minute * kMinuteNs);
    maintain();
    ASSERT_LE(store_->stats().log_files, 6U);
  }
  // The slow one has never filled a chunk and still does not hold the log up.
  EXPECT_EQ(log_files(folder_)->size(), store_->stats().log_files);
  crash();
  expect_same(expected_quick, points(quick));
  expect_same(expected_slow, points(slow));
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(UpkeepTest, LogFilesStayWhileAReaderKeepsTheirSuccessorOffTheDisk) {
  options_.log_file_bytes = 4 << 10;
  open();
  const auto id = intern("a");
  append_seconds(id, kStart, 10);
  ASSERT_TRUE(store_->flush().ok());
  clock_.advance(std::chrono::minutes(1));
  maintain();
  {
    // Sees the database as it is now: nothing newer can be moved into it.
    auto reader = Database::open((folder_ / "series.db").string());
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE(reader->execute("BEGIN").ok());
    ASSERT_TRUE(reader->number("SELECT count(*) FROM setting").ok());
    for (int part = 1; part < 20; ++part) append_seconds(id, kStart + part * kHourNs, 500);
    ASSERT_TRUE(store_->flush().ok());
    const auto before = log_files(folder_)->size();
    ASSERT_GT(before, 3U);
    clock_.advance(std::chrono::minutes(1));
    maintain();
    EXPECT_EQ(log_files(folder_)->size(), before);
  }
  maintain();
  EXPECT_EQ(log_files(folder_)->size(), 1U);
}

TEST_F(UpkeepTest, ASeriesThatIsDueMayLoseAllPointsButOne) {
  for (const bool restarted : {false, true}) {
    const auto id = intern("a");
    const auto from = kStart + (restarted ? kHourNs : 0);
    append_seconds(id, from, 560);
    ASSERT_TRUE(store_->erase({"a", {}}, {kStart, from + 559 * kSecondNs}).ok());
    if (restarted) crash();
    maintain();
    const auto left = points(intern("a"));
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0].time_ns, from + 559 * kSecondNs);
  }
}

/// Enough series for chunks to be written while the log is read again, if anybody did that.
TEST_F(UpkeepTest, WhatWasDeletedDoesNotComeBackFromTheLog) {
  constexpr int kSeries = 1100;
  constexpr int kSeconds = 300;
  std::vector<SeriesSample> samples;
  for (int i = 0; i < kSeries; ++i) samples.push_back({intern("s" + std::to_string(i)), kStart, 1});
  for (int second = 0; second < kSeconds; ++second) {
    append(samples);
    for (auto& sample : samples) sample.time_ns += kSecondNs;
  }
  ASSERT_TRUE(store_->erase({}, {kStart, kStart + 100 * kSecondNs}).ok());
  ASSERT_TRUE(store_->erase({"s7", {}}).ok());
  append_seconds(intern("s7"), kStart, 1);
  for (int round = 0; round < 2; ++round) {
    crash();
    EXPECT_EQ(store_->list({})->size(), std::size_t{kSeries});
    for (int i = 0; i < kSeries; ++i) {
      ASSERT_EQ(points(intern("s" + std::to_string(i))).size(), i == 7 ? 1U : kSeconds - 100U) << i;
    }
    ASSERT_TRUE(store_->flush().ok());
  }
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(UpkeepTest, OfTwoSeriesWithOneNameTheLaterIsRight) {
  const auto forgotten = intern("a");
  append_seconds(forgotten, kStart, 10);
  const auto right = intern("b");
  append_seconds(right, kStart, 3);
  ASSERT_TRUE(store_->flush().ok());
  store_.reset();
  const auto path = (folder_ / "series.db").string();
  {
    auto file = SeriesFile::open(path, true);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->put_series({.id = right, .key = {"a", {}}, .unit = "W"}).ok());
  }
  open();
  EXPECT_EQ(intern("a"), right);
  EXPECT_EQ(points(right).size(), 3U);
  EXPECT_EQ(store_->list({})->size(), 1U);
  store_.reset();
  auto database = Database::open(path);
  for (const auto* rows : {"chunk WHERE series = ", "series WHERE id = "}) {
    const auto left = database->number("SELECT count(*) FROM " + std::string(rows) + std::to_string(forgotten));
    ASSERT_TRUE(left.ok()) << left.error().text();
    EXPECT_EQ(*left, 0) << rows;
  }
}

TEST_F(UpkeepTest, DeletedRangesStayDeletedAndTheirNeighboursStayRight) {
  const auto id = intern("a", {{"node", "n1"}});
  const auto other = intern("a", {{"node", "n2"}});
  ExpectedSeries expected;
  ExpectedSeries expected_other;
  append_seconds(id, kStart, 8000, &expected);
  append_seconds(other, kStart, 8000, &expected_other);
  maintain();
  const TimeRange range{kStart + 1234 * kSecondNs, kStart + 7900 * kSecondNs};
  const auto touched = store_->erase({"a", {{"node", LabelMatch::Test::equals, "n1"}}}, range);
  ASSERT_TRUE(touched.ok()) << touched.error().text();
  EXPECT_EQ(*touched, 1U);
  expected.erase(range);
  // New points in the range are new points.
  append({{id, kStart + 2000 * kSecondNs, 42}});
  expected.put(kStart + 2000 * kSecondNs, 42);
  const TimeRange all{kStart, kStart + 3 * kHourNs};
  for (int round = 0; round < 2; ++round) {
    expect_same(expected, points(id));
    expect_same(expected_other, points(other));
    for (const auto width : {kMinuteNs, kHourNs}) {
      const auto answer = query({.range = all, .width_ns = width, .max_points = 0});
      expect_same(expected.buckets(all, width), answer.rows.at(0).buckets);
      expect_same(expected_other.buckets(all, width), answer.rows.at(1).buckets);
    }
    crash();
  }
}

TEST_F(UpkeepTest, DeletedSeriesAreGoneAfterARestartToo) {
  const auto a = intern("a");
  const auto b = intern("b");
  append_seconds(a, kStart, 1000);
  append_seconds(b, kStart, 1000);
  maintain();
  ASSERT_EQ(store_->erase({"a", {}}).value_or(0), 1U);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(store_->list({})->size(), 1U);
    EXPECT_EQ(points(b).size(), 1000U);
    crash();
  }
  EXPECT_EQ(store_->erase({"nobody", {}}).value_or(9), 0U);
  // A successor of the same name, in the database before the log is read again.
  const auto successor = intern("a");
  append_seconds(successor, kStart, 10);
  ASSERT_TRUE(store_->flush().ok());
  crash();
  EXPECT_EQ(points(intern("a")).size(), 10U);
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(UpkeepTest, FreedSpaceGoesBackToTheDisk) {
  for (int i = 0; i < 200; ++i) {
    const auto id = intern("s" + std::to_string(i));
    std::vector<SeriesSample> samples;
    // Noise, so that there is something to free.
    for (int second = 0; second < 5000; ++second) {
      samples.push_back({id, kStart + second * kSecondNs, static_cast<double>(random_()) / 3});
    }
    append(samples);
    maintain();
  }
  ASSERT_TRUE(store_->flush().ok());
  clock_.advance(std::chrono::seconds(10));
  maintain();
  store_.reset();
  const auto before = fs::file_size(folder_ / "series.db");
  // More than is tolerated as free: 1,024 pages of 8 KiB.
  ASSERT_GT(before, 12'000'000U);
  open();
  ASSERT_TRUE(store_->erase({"", {{"x", LabelMatch::Test::equals, ""}}}, {kStart, kStart + 4900 * kSecondNs}).ok());
  std::size_t freed = 0;
  for (bool more = true; more;) {
    const auto outcome = store_->maintain(clock_.wall());
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_LE(outcome->pages_freed, 256U);
    freed += outcome->pages_freed;
    more = outcome->more;
  }
  EXPECT_GT(freed, 0U);
  store_.reset();
  EXPECT_LT(fs::file_size(folder_ / "series.db"), before);
}

TEST_F(UpkeepTest, ABackupIsAStoreOfItsOwn) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 1300, &expected);
  maintain();
  const auto backup = temporary_.path() / "backup";
  const auto made = store_->backup_to(backup);
  ASSERT_TRUE(made.ok()) << made.error().text();
  append_seconds(id, kStart + 1300 * kSecondNs, 100);
  EXPECT_FALSE(store_->backup_to(backup).ok());

  auto opened = open_series_store(backup, options_);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const auto& copy = *opened;
  const auto read = copy->points(*copy->intern({"a", {}}, "W"), {}, 10'000);
  ASSERT_TRUE(read.ok());
  expect_same(expected, read->points);
  EXPECT_THAT(copy->problems(), IsEmpty());
}

TEST_F(UpkeepTest, TiersOutOfOrderAreRefused) {
  options_.keep = {std::chrono::hours(3), std::chrono::hours(2), std::chrono::hours(3)};
  const auto store = open_series_store(temporary_.path() / "other", options_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace assay
