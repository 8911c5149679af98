#include "store/series/series_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "store/series/store_fixture.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SeriesStoreTest, GivesBackWhatWasAppended) {
  const auto power = intern("gpu.power_w", {{"gpu", "GPU-1"}});
  append({{power, kStart, 345.5}, {power, kStart + kSecondNs, 346.25}});
  const auto read = points(power);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].time_ns, kStart);
  EXPECT_EQ(read[1].value, 346.25);
}

TEST_F(SeriesStoreTest, ABatchByNameNeedsNoIds) {
  const std::vector<SeriesBatch> batch = {{{"a", {}}, "W", {{kStart, 1}, {kStart + 1, 2}}},
                                          {{"b", {}}, "%", {{kStart, 3}}}};
  ASSERT_TRUE(store_->append(batch).ok());
  const auto all = store_->latest({});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].newest.value, 2);
  EXPECT_EQ((*all)[1].series.unit, "%");
}

TEST_F(SeriesStoreTest, TheSameKeyIsTheSameSeriesAndItsUnitStays) {
  const auto id = intern("power", {{"gpu", "1"}});
  EXPECT_EQ(intern("power", {{"gpu", "1"}}), id);
  EXPECT_NE(intern("power", {{"gpu", "2"}}), id);
  const auto other = store_->intern({"power", {{"gpu", "1"}}}, "mW");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::usage);
  EXPECT_THAT(other.error().message, HasSubstr("has the unit 'W', not 'mW'"));
}

TEST_F(SeriesStoreTest, RefusesKeysWithoutBounds) {
  EXPECT_FALSE(store_->intern({"", {}}, "W").ok());
  EXPECT_FALSE(store_->intern({std::string(2000, 'x'), {}}, "W").ok());
  SeriesKey many{"power", {}};
  for (int i = 0; i < 40; ++i) many.labels[std::to_string(i)] = "x";
  EXPECT_FALSE(store_->intern(many, "W").ok());
}

TEST_F(SeriesStoreTest, TheNumberOfSeriesIsBounded) {
  options_.max_series = 2;
  open();
  intern("a");
  intern("b");
  const auto third = store_->intern({"c", {}}, "W");
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message, HasSubstr("which is the limit"));
  EXPECT_TRUE(store_->intern({"a", {}}, "W").ok());
}

TEST_F(SeriesStoreTest, AnUnknownIdRefusesTheWholeBatch) {
  const auto id = intern("a");
  const std::vector<SeriesSample> samples = {{id, kStart, 1}, {id + 7, kStart, 1}};
  const auto outcome = store_->append(samples);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::not_found);
  EXPECT_THAT(points(id), IsEmpty());
}

TEST_F(SeriesStoreTest, OfEqualTimesTheLastOneWinsWhereverTheFirstIs) {
  const auto id = intern("a");
  append({{id, kStart, 1}, {id, kStart + 5, 2}, {id, kStart, 3}});
  EXPECT_EQ(points(id).front().value, 3);
  ASSERT_TRUE(store_->flush().ok());
  append({{id, kStart, 4}});
  ASSERT_EQ(points(id).size(), 2U);
  EXPECT_EQ(points(id).front().value, 4);
  append({{id, kStart + 5, 9}});
  EXPECT_EQ(store_->latest({})->front().newest.value, 9);
  open();
  EXPECT_EQ(points(id).front().value, 4);
  EXPECT_EQ(store_->latest({})->front().newest.value, 9);
}

TEST_F(SeriesStoreTest, ClocksThatAreFarAheadAreRefusedAndCounted) {
  const auto id = intern("a");
  const auto now = clock_.wall().time_since_epoch().count();
  const auto outcome = append({{id, now, 1}, {id, now + 2 * kHourNs, 2}, {id, kEndOfTime, 3}, {id, -1, 4}});
  EXPECT_EQ(outcome.accepted, 1U);
  EXPECT_EQ(outcome.too_far_ahead, 2U);
  EXPECT_EQ(outcome.too_old, 1U);
}

TEST_F(SeriesStoreTest, SelectsByNameAndLabels) {
  using Is = LabelMatch::Test;
  intern("power", {{"node", "gpu01"}, {"gpu", "a"}});
  intern("power", {{"node", "gpu02"}, {"gpu", "b"}});
  intern("power", {{"node", "cpu01"}});
  intern("temperature", {{"node", "gpu01"}, {"gpu", "a"}});
  const auto count = [&](const SeriesSelector& selector) { return store_->list(selector)->size(); };
  EXPECT_EQ(count({}), 4U);
  EXPECT_EQ(count({"power", {}}), 3U);
  EXPECT_EQ(count({"nothing", {}}), 0U);
  EXPECT_EQ(count({"", {{"node", Is::equals, "gpu01"}}}), 2U);
  EXPECT_EQ(count({"power", {{"node", Is::differs, "gpu01"}}}), 2U);
  EXPECT_EQ(count({"", {{"node", Is::starts_with, "gpu"}}}), 3U);
  EXPECT_EQ(count({"power", {{"gpu", Is::present, ""}}}), 2U);
  EXPECT_EQ(count({"power", {{"gpu", Is::equals, ""}}}), 1U);
  EXPECT_EQ(count({"power", {{"rack", Is::differs, "r1"}}}), 3U);
  EXPECT_EQ(count({"", {{"node", Is::starts_with, "gpu"}, {"gpu", Is::equals, "a"}}}), 2U);
}

TEST_F(SeriesStoreTest, AnAnswerSaysItsRealBoundsWidthAndTier) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 7200, &expected);
  const auto day = query({.range = {kStart + 90 * kSecondNs, kStart + 86490 * kSecondNs}, .max_points = 500});
  EXPECT_EQ(day.tier, SeriesTier::minute);
  EXPECT_EQ(day.width_ns, 180 * kSecondNs);
  EXPECT_EQ(day.range.from_ns % day.width_ns, 0);
  EXPECT_EQ(day.range.to_ns % day.width_ns, 0);
  EXPECT_LE(day.range.from_ns, kStart + 90 * kSecondNs);
  EXPECT_GE(day.range.to_ns, kStart + 86490 * kSecondNs);
  ASSERT_EQ(day.rows.size(), 1U);
  expect_same(expected.buckets(day.range, day.width_ns), day.rows[0].buckets);

  const auto hours = query({.range = {kStart, kStart + 86400 * kSecondNs}, .width_ns = kHourNs + 1, .max_points = 0});
  EXPECT_EQ(hours.tier, SeriesTier::hour);
  EXPECT_EQ(hours.width_ns, 2 * kHourNs);
  const auto fine = query({.range = {kStart, kStart + 60 * kSecondNs}, .width_ns = 10 * kSecondNs, .max_points = 0});
  EXPECT_EQ(fine.tier, SeriesTier::raw);
  EXPECT_EQ(fine.width_ns, 10 * kSecondNs);
  expect_same(expected.buckets(fine.range, fine.width_ns), fine.rows[0].buckets);
}

TEST_F(SeriesStoreTest, NeverMoreBucketsThanAskedFor) {
  const auto id = intern("a");
  append_seconds(id, kStart, 1000);
  for (int round = 0; round < 2000; ++round) {
    const auto from = kStart + static_cast<std::int64_t>(random_() % (2000 * kSecondNs));
    const auto length = 1 + static_cast<std::int64_t>(random_() % (std::uint64_t{1} << (random_() % 55)));
    const auto most = 2 + random_() % 600;
    const auto answer = query({.range = {from, from + length}, .max_points = most});
    ASSERT_LE((answer.range.to_ns - answer.range.from_ns) / answer.width_ns, static_cast<std::int64_t>(most));
    ASSERT_LE(answer.range.from_ns, from);
    ASSERT_GE(answer.range.to_ns, from + length);
  }
}

TEST_F(SeriesStoreTest, NanIsCountedApartAndInfinityCounts) {
  const auto id = intern("a");
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  append({{id, kStart, nan},
          {id, kStart + 1, 4},
          {id, kStart + 2, 8},
          {id, kStart + kMinuteNs, nan},
          {id, kStart + 2 * kMinuteNs, infinity},
          {id, kStart + 2 * kMinuteNs + 1, 1}});
  for (int round = 0; round < 2; ++round) {
    const auto answer = query({.range = {kStart, kStart + kHourNs}, .width_ns = kMinuteNs});
    ASSERT_EQ(answer.rows.size(), 1U);
    const auto& buckets = answer.rows[0].buckets;
    ASSERT_EQ(buckets.size(), 3U);
    EXPECT_EQ(buckets[0].count, 2U);
    EXPECT_EQ(buckets[0].nan_count, 1U);
    EXPECT_EQ(buckets[0].mean(), 6);
    EXPECT_EQ(buckets[1].count, 0U);
    EXPECT_EQ(buckets[1].nan_count, 1U);
    EXPECT_TRUE(std::isnan(buckets[1].mean()) && std::isnan(buckets[1].min));
    EXPECT_EQ(buckets[2].max, infinity);
    EXPECT_EQ(buckets[2].min, 1);
    EXPECT_EQ(buckets[2].mean(), infinity);
    ASSERT_TRUE(store_->flush().ok());
  }
}

TEST_F(SeriesStoreTest, MeansAreRightToTheLastPlacesForAnyValues) {
  const auto id = intern("a");
  std::vector<SeriesSample> samples;
  long double sum = 0;
  for (int i = 0; i < 3600; ++i) {
    samples.push_back({id, kStart + i * kSecondNs, 300 + static_cast<double>(random_() % 1000) / 10});
    sum += static_cast<long double>(samples.back().value);
  }
  append(samples);
  const auto from_head = query({.range = {kStart, kStart + kHourNs}, .width_ns = kHourNs}).rows.at(0).buckets.at(0);
  EXPECT_DOUBLE_EQ(from_head.mean(), static_cast<double>(sum / 3600));
  // Cut into chunks anywhere, the answer keeps every bit.
  maintain();
  append_seconds(id, kStart + kHourNs, 1);
  ASSERT_TRUE(store_->flush().ok());
  const auto stored = query({.range = {kStart, kStart + kHourNs}, .width_ns = kHourNs}).rows.at(0).buckets.at(0);
  EXPECT_EQ(from_head.sum, stored.sum);
}

TEST_F(SeriesStoreTest, RawReadsStopAtTheirLimit) {
  const auto id = intern("a");
  append_seconds(id, kStart, 1500);
  maintain();
  const auto first = store_->points(id, {}, 1000);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->points.size(), 1000U);
  EXPECT_TRUE(first->more);
  const auto rest = store_->points(id, {first->points.back().time_ns + 1, kEndOfTime}, 1000);
  EXPECT_EQ(rest->points.size(), 500U);
  EXPECT_FALSE(rest->more);
  EXPECT_EQ(store_->points(id + 1, {}, 1).error().kind, ErrorKind::not_found);
}

TEST_F(SeriesStoreTest, AnAnswerThatWouldBeTooLargeIsRefusedWithAHint) {
  options_.max_answer_series = 3;
  options_.max_answer_points = 100;
  open();
  const auto id = intern("a");
  append_seconds(id, kStart, 200);
  const auto fine = store_->query({.range = {kStart, kStart + kHourNs}, .width_ns = kSecondNs, .max_points = 0});
  ASSERT_FALSE(fine.ok());
  EXPECT_EQ(fine.error().kind, ErrorKind::usage);
  EXPECT_THAT(fine.error().text(), HasSubstr("more than 100 buckets"));
  for (const auto* name : {"b", "c", "d"}) intern(name);
  const auto all = store_->query({.range = {kStart, kStart + kHourNs}});
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().text(), HasSubstr("more than 3 series"));
  EXPECT_FALSE(store_->list({}).ok());
  EXPECT_FALSE(store_->latest({}).ok());
}

TEST_F(SeriesStoreTest, RefusesQueriesThatMeanNothing) {
  EXPECT_FALSE(store_->query({.range = {10, 10}}).ok());
  EXPECT_FALSE(store_->query({.range = {10, 20}, .width_ns = -5}).ok());
  EXPECT_FALSE(store_->query({.range = {10, 20}, .width_ns = 0, .max_points = 0}).ok());
  EXPECT_TRUE(store_->query({.width_ns = kEndOfTime / 2}).ok());
}

TEST_F(SeriesStoreTest, EverythingIsThereAfterARestart) {
  const auto id = intern("a", {{"gpu", "1"}});
  ExpectedSeries expected;
  append_seconds(id, kStart, 1000, &expected);
  maintain();
  open();
  EXPECT_EQ(intern("a", {{"gpu", "1"}}), id);
  expect_same(expected, points(id));
  EXPECT_EQ(store_->latest({})->front().newest.time_ns, kStart + 999 * kSecondNs);
  EXPECT_THAT(store_->problems(), IsEmpty());
}

TEST_F(SeriesStoreTest, ASecondOwnerIsToldWhoTheFirstIs) {
  const auto second = SeriesStore::open(folder_, options_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  EXPECT_THAT(second.error().text(), HasSubstr("is held by pid " + std::to_string(::getpid())));
}

TEST_F(SeriesStoreTest, ANewerFormatIsLeftAlone) {
  store_.reset();
  {
    auto database = Database::open((folder_ / "series.db").string());
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  const auto store = SeriesStore::open(folder_, options_);
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(store.error().text(), HasSubstr("format 99"));
}

TEST_F(SeriesStoreTest, WorksWithoutAWriteAheadLog) {
  store_.reset();
  folder_ = temporary_.path() / "rollback-journal";
  options_.write_ahead_log = false;
  open();
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 2000, &expected);
  maintain();
  append_seconds(id, kStart - 100 * kSecondNs, 50, &expected);
  EXPECT_FALSE(fs::exists(folder_ / "series.db-wal"));
  crash();
  expect_same(expected, points(id));
}

}  // namespace
}  // namespace assay
