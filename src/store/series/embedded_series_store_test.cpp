#include "store/series/embedded_series_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>

#include "store/series/store_fixture.h"
#include "store/series_contract.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

INSTANTIATE_TEST_SUITE_P(Embedded, SeriesContract,
                         testing::Values(SeriesStoreFactory{
                             "embedded", [](const Clock& clock, const SeriesLimits& limits) {
                               static const TemporaryFolder folder;
                               static int stores = 0;
                               SeriesStoreOptions options;
                               static_cast<SeriesLimits&>(options) = limits;
                               options.clock = &clock;
                               auto opened = open_series_store(folder.path() / std::to_string(stores++), options);
                               EXPECT_TRUE(opened.ok()) << opened.error().text();
                               return std::move(*opened);
                             }}));

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

TEST_F(SeriesStoreTest, WhatAnOwnerHasIsKnownAfterARestartAlsoOfAnOlderStore) {
  const auto id = intern("a", {{"node", "gpu01"}});
  append_seconds(id, kStart, 5000);
  ASSERT_TRUE(store_->flush().ok());
  append_seconds(id, kStart + kHourNs, 100);  // late: some rows are written again
  const auto bytes = store_->holding("gpu01").bytes;
  EXPECT_GT(bytes, 1000U);
  open();
  EXPECT_EQ(store_->holding("gpu01").bytes, bytes);
  store_.reset();
  {
    auto database = Database::open((folder_ / "series.db").string());
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("DROP TABLE size; PRAGMA user_version = 1").ok());
  }
  for (int i = 0; i < 2; ++i) {
    open();
    EXPECT_EQ(store_->holding("gpu01").bytes, bytes) << "measured, then written down";
  }
  ASSERT_TRUE(store_->erase({}, {kStart, kStart + kHourNs}).ok());
  const auto rest = store_->holding("gpu01").bytes;
  EXPECT_LT(rest, bytes / 2);
  EXPECT_GT(rest, 0U);
  open();
  EXPECT_EQ(store_->holding("gpu01").bytes, rest);
}

TEST_F(SeriesStoreTest, ASecondOwnerIsToldWhoTheFirstIs) {
  const auto second = open_series_store(folder_, options_);
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
  const auto store = open_series_store(folder_, options_);
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
