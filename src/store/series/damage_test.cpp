#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "store/series/embedded_series_store.h"
#include "store/series/head_log.h"
#include "store/series/store_fixture.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int kSeries = 40;
constexpr int kSeconds = 3000;

/// A store of which one page cannot be read, with chunks of a few of its series on it.
class DamagedPageTest : public SeriesStoreTest {
 protected:
  DamagedPageTest() {
    options_.log_file_bytes = 64 << 10;
    open();
    for (int i = 0; i < kSeries; ++i) {
      std::vector<SeriesSample> samples;
      const auto id = intern(name(i));
      // Noise, so that chunks are large.
      for (int second = 0; second < kSeconds; ++second) {
        samples.push_back({id, kStart + second * kSecondNs, static_cast<double>(random_()) / 3});
      }
      append(samples);
    }
    EXPECT_TRUE(store_->flush().ok());
    store_.reset();
    damage();
    open();
  }

  static std::string name(int series) { return "s" + std::to_string(series); }
  fs::path database_file() const { return folder_ / "series.db"; }

  bool readable(const std::string& what) const {
    auto database = Database::open(database_file().string());
    EXPECT_TRUE(database.ok());
    return database->number("SELECT sum(length(blob)) FROM " + what).ok();
  }

  void put_byte(std::uint64_t at, char byte) const {
    std::fstream file(database_file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  void damage() {
    constexpr std::size_t kPage = 8192;
    constexpr char kLeaf = 0x0A;
    const auto bytes = read_file(database_file()).value_or("");
    ASSERT_GT(bytes.size(), 20 * kPage);
    for (std::size_t at = kPage; at < bytes.size(); at += kPage) {
      if (bytes[at] != kLeaf) continue;
      put_byte(at, 0);
      if (!readable("chunk") && readable("minute") && readable("hour")) {
        for (int i = 0; i < kSeries; ++i) {
          if (!readable(fmt::format("chunk WHERE series = (SELECT id FROM series WHERE name = '{}')", name(i)))) {
            damaged_.insert(i);
          }
        }
        if (damaged_.size() < kSeries / 4) return;
      }
      damaged_.clear();
      put_byte(at, kLeaf);
    }
    FAIL() << "no page of chunks was found";
  }

  /// What is written on a page may have to move to the next one.
  bool beside_damage(int series) const {
    return damaged_.contains(series - 1) || damaged_.contains(series) || damaged_.contains(series + 1);
  }

  std::set<int> damaged_;
};

TEST_F(DamagedPageTest, TheRestStillExpiresAndLogFilesGo) {
  clock_.advance(std::chrono::hours(24 * 20));
  const auto now = clock_.wall().time_since_epoch().count();
  for (int part = 0; part < 5; ++part) append_seconds(intern("alive"), now - (5 - part) * kHourNs, 500);
  ASSERT_TRUE(store_->flush().ok());
  ASSERT_GT(log_files(folder_)->size(), 2U);
  maintain();
  EXPECT_THAT(store_->problems(), Contains(HasSubstr("what is too old cannot be deleted")));
  EXPECT_EQ(log_files(folder_)->size(), 1U);
  store_.reset();
  auto database = Database::open(database_file().string());
  for (int i = 0; i < kSeries; ++i) {
    if (beside_damage(i)) continue;
    const auto rows =
        database->number(fmt::format("SELECT count(*) FROM chunk, series WHERE series = id AND name = '{}'", name(i)));
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    EXPECT_EQ(*rows, 0) << name(i);
  }
}

TEST_F(DamagedPageTest, LatePointsOfOtherSeriesAreStored) {
  constexpr int kEvery = 100;
  std::vector<SeriesSample> late;
  for (int i = 0; i < kSeries; ++i) {
    // Among every chunk, so that one of them meets the page.
    for (int second = 0; second < kSeconds; second += kEvery) {
      late.push_back({intern(name(i)), kStart + second * kSecondNs + 1, 5});
    }
  }
  EXPECT_EQ(append(late).accepted, late.size());
  EXPECT_THAT(store_->problems(), Contains(HasSubstr("late points cannot be stored")));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kSeries; ++i) {
      if (beside_damage(i)) continue;
      EXPECT_EQ(points(intern(name(i))).size(), std::size_t{kSeconds + kSeconds / kEvery}) << name(i);
    }
    crash();
  }
}

TEST_F(DamagedPageTest, RepairKeepsEveryOtherRowAndDoublesNone) {
  for (const bool lost_progress : {false, true}) {
    store_.reset();
    if (lost_progress) {
      damaged_.clear();
      damage();
      // As if their page could not be read: logs still have what is in chunks.
      auto database = Database::open(database_file().string());
      ASSERT_TRUE(database->execute("DELETE FROM progress").ok());
    }
    const auto mended = repair_series_store(folder_, true);
    ASSERT_TRUE(mended.ok()) << mended.error().text();
    EXPECT_FALSE(mended->problems.empty());
    EXPECT_FALSE(mended->salvaged.empty());
    EXPECT_TRUE(repair_series_store(folder_, false)->problems.empty());
    open();
    EXPECT_THAT(store_->problems(), Contains(HasSubstr("is missing from answers")));
    for (int i = 0; i < kSeries; ++i) {
      const auto kept = points(intern(name(i))).size();
      EXPECT_LE(kept, std::size_t{kSeconds}) << name(i);
      if (!lost_progress && !damaged_.contains(i)) {
        EXPECT_EQ(kept, std::size_t{kSeconds}) << name(i);
      }
    }
  }
}

}  // namespace
}  // namespace assay
