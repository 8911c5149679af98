#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "store/series/embedded_series_store.h"
#include "store/series/head_log.h"
#include "store/series/store_fixture.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kPageBytes = 8192;
constexpr int kNamed = 300;

/// A store with points in chunks and in the log, of which pages of the database are lost while it is closed.
class ZeroedPagesTest : public SeriesStoreTest {
 protected:
  ZeroedPagesTest() {
    std::vector<SeriesId> ids;
    for (int i = 0; i < kNamed; ++i) ids.push_back(intern("power", {{"gpu", "GPU-" + std::to_string(i)}}));
    for (int minute = 0; minute < 12; ++minute) {
      std::vector<SeriesSample> samples;
      for (int second = 0; second < 60; ++second) {
        for (const auto id : ids) {
          samples.push_back({id, kStart + minute * kMinuteNs + second * kSecondNs, static_cast<double>(second)});
        }
      }
      append(samples);
      if (minute == 2) maintain();
      if (minute == 6) {
        EXPECT_TRUE(store_->flush().ok());
      }
    }
    keep();
  }

  /// What pages are taken from, from now on.
  void keep() {
    store_.reset();
    fs::remove_all(healthy_);
    fs::copy(folder_, healthy_, fs::copy_options::recursive);
    pages_ = fs::file_size(healthy_ / "series.db") / kPageBytes;
  }

  void open_without(const std::vector<std::size_t>& pages) {
    store_.reset();
    fs::remove_all(folder_);
    fs::copy(healthy_, folder_, fs::copy_options::recursive);
    std::fstream file(folder_ / "series.db", std::ios::binary | std::ios::in | std::ios::out);
    for (const auto page : pages) {
      file.seekp(static_cast<std::streamoff>(page * kPageBytes));
      file.write(std::string(kPageBytes, '\0').data(), kPageBytes);
    }
    file.close();
    open();
  }

  /// No bucket counts more than was appended; an answer that counts less than all says why.
  void expect_honest(std::int64_t width_ns) {
    const auto answer = query(
        {.selector = {.name = "power"}, .range = {kStart, kStart + kHourNs}, .width_ns = width_ns, .max_points = 0});
    std::size_t counted = 0;
    for (const auto& row : answer.rows) {
      std::int64_t last = -1;
      for (const auto& bucket : row.buckets) {
        ASSERT_GT(bucket.start_ns, last) << row.series.id;
        ASSERT_LE(bucket.count, static_cast<std::size_t>(std::min(width_ns, 12 * kMinuteNs) / kSecondNs))
            << row.series.id;
        last = bucket.start_ns;
        counted += bucket.count;
      }
    }
    ASSERT_LE(counted, std::size_t{kNamed} * 720);
    if (counted < std::size_t{kNamed} * 720) {
      ASSERT_THAT(answer.problems, Not(IsEmpty())) << counted << " of " << kNamed * 720;
      EXPECT_THAT(store_->problems(), Not(IsEmpty()));
    }
  }

  void expect_once() {
    const auto answer = query(
        {.selector = {.name = "power"}, .range = {kStart, kStart + kHourNs}, .width_ns = kSecondNs, .max_points = 0});
    for (const auto& row : answer.rows) {
      for (const auto& bucket : row.buckets) ASSERT_EQ(bucket.count, 1U) << row.series.id;
    }
  }

  void expect_honest() {
    for (const auto width : {kSecondNs, kMinuteNs, kHourNs}) {
      SCOPED_TRACE("width " + std::to_string(width / kSecondNs) + " s");
      ASSERT_NO_FATAL_FAILURE(expect_honest(width));
    }
  }

  fs::path healthy_ = temporary_.path() / "healthy";
  std::size_t pages_ = 0;
};

TEST_F(ZeroedPagesTest, NothingIsLostWithoutDamage) {
  open_without({});
  expect_honest();
  EXPECT_THAT(store_->problems(), IsEmpty());
  EXPECT_GT(store_->stats().head_points, 0U);
  EXPECT_LT(store_->stats().head_points, kNamed * 720U / 2);
}

TEST_F(ZeroedPagesTest, AnyPageMayGoAndNothingCountsTwice) {
  for (std::size_t page = 0; page < pages_; ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    open_without({page});
    ASSERT_NO_FATAL_FAILURE(expect_honest());
  }
}

TEST_F(ZeroedPagesTest, ManyPagesMayGoAndNothingCountsTwice) {
  for (int round = 0; round < 8; ++round) {
    std::vector<std::size_t> lost;
    for (int i = 0; i < 12; ++i) lost.push_back(1 + random_() % (pages_ - 1));
    SCOPED_TRACE("round " + std::to_string(round));
    open_without(lost);
    ASSERT_NO_FATAL_FAILURE(expect_honest());
    // What comes now is taken, and what upkeep makes of it counts no more than once either.
    const auto now = kStart + 12 * kMinuteNs;
    const auto listed = store_->list({});
    ASSERT_TRUE(listed.ok());
    for (const auto& series : *listed) append_seconds(series.id, now, 1);
    [[maybe_unused]] const auto flushed = store_->flush();
    open();
    ASSERT_NO_FATAL_FAILURE(expect_once());
  }
}

TEST_F(ZeroedPagesTest, NamesThatAreNowhereElseAreMissedInAnswers) {
  open_without({});
  ASSERT_TRUE(store_->flush().ok());
  open();
  maintain();
  ASSERT_EQ(log_files(folder_)->size(), 1U) << "no log has the names";
  keep();
  bool missed = false;
  for (std::size_t page = 0; page < pages_; ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    open_without({page});
    ASSERT_NO_FATAL_FAILURE(expect_honest());
    const auto problems = store_->problems();
    missed = missed || std::any_of(problems.begin(), problems.end(),
                                   [](const std::string& problem) { return problem.starts_with("the names of "); });
  }
  EXPECT_TRUE(missed);
}

class MissingLogTest : public SeriesStoreTest {
 protected:
  MissingLogTest() {
    options_.log_file_bytes = 4 << 10;
    open();
    id_ = intern("a");
    for (int part = 0; part < 12; ++part) append_seconds(id_, kStart + part * kHourNs, 500);
    store_.reset();
    const auto files = log_files(folder_);
    for (const auto& file : *files) numbers_.push_back(file.number);
    EXPECT_GT(numbers_.size(), 5U);
  }

  void open_without_log(std::size_t place) {
    fs::remove(log_file_path(folder_, numbers_.at(place)));
    open();
  }

  /// In the problems and in the answers.
  void expect_missed(std::uint32_t number) {
    const auto name = log_file_path(folder_, number).filename().string();
    EXPECT_THAT(store_->problems(), Contains(HasSubstr(name)));
    const auto answer = query({.range = {kStart, kStart + kHourNs}, .width_ns = kMinuteNs});
    EXPECT_THAT(answer.problems, Contains(HasSubstr(name)));
  }

  SeriesId id_ = 0;
  std::vector<std::uint32_t> numbers_;
};

TEST_F(MissingLogTest, WhereverItWas) {
  for (const auto place : {std::size_t{2}, std::size_t{1}}) {
    open_without_log(place);
    EXPECT_THAT(store_->problems(), Contains(HasSubstr(log_file_path("", numbers_[place]).string())));
    store_.reset();
  }
}

TEST_F(MissingLogTest, TheNewest) {
  open_without_log(numbers_.size() - 1);
  expect_missed(numbers_.back());
}

TEST_F(MissingLogTest, TheOldest) {
  open_without_log(0);
  expect_missed(numbers_.front());
}

TEST_F(MissingLogTest, All) {
  for (const auto number : numbers_) fs::remove(log_file_path(folder_, number));
  open();
  EXPECT_THAT(store_->problems(), Contains(HasSubstr("are missing")));
  append_seconds(intern("a"), kStart + 12 * kHourNs, 5);
  open();
  EXPECT_THAT(store_->problems(), IsEmpty());
  EXPECT_EQ(points(intern("a"), {kStart + 12 * kHourNs, kEndOfTime}).size(), 5U);
}

TEST_F(MissingLogTest, WhatUpkeepDeletedIsNotMissed) {
  open();
  ASSERT_TRUE(store_->flush().ok());
  maintain();
  ASSERT_EQ(log_files(folder_)->size(), 1U);
  crash();
  EXPECT_THAT(store_->problems(), IsEmpty());
}

}  // namespace
}  // namespace assay
