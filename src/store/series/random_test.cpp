#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "store/series/embedded_series_store.h"
#include "store/series/store_fixture.h"

namespace assay {
namespace {

/// Does anything that can be done to a store, in random order, beside a simple copy of what it should hold.
class RandomSeriesStoreTest : public SeriesStoreTest, public testing::WithParamInterface<int> {
 protected:
  struct Known {
    SeriesId id = 0;
    std::string name;
    std::int64_t step_ns = kSecondNs;
    std::int64_t next_ns = kStart;
    double counter = 0;
    ExpectedSeries expected;
  };

  RandomSeriesStoreTest() {
    random_.seed(static_cast<std::uint64_t>(GetParam()));
    // Small files, so that the log turns over many times.
    options_.log_file_bytes = 16384 << (random_() % 4);
    options_.max_log_files = 1 + random_() % 4;
    options_.write_ahead_log = GetParam() % 5 != 0;
    store_.reset();
    fs::remove_all(folder_);
    open();
    const std::vector<std::int64_t> steps = {kSecondNs,      kSecondNs,     kSecondNs / 20,
                                             10 * kSecondNs, 7 * kMinuteNs, 3 * kHourNs};
    for (const auto step : steps) {
      Known known{.name = "s" + std::to_string(series_.size()), .step_ns = step};
      known.id = intern(known.name);
      series_.push_back(std::move(known));
    }
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  Known& any() { return series_[below(series_.size())]; }

  double value(Known& series) {
    switch (below(40)) {
      case 0: return std::nan("");
      case 1: series.counter = 0; break;  // a counter that starts again
      default: series.counter += static_cast<double>(below(1000)) / 8; break;
    }
    return series.counter;
  }

  void append_something() {
    std::vector<SeriesSample> samples;
    for (auto batches = 1 + below(4); batches > 0; --batches) {
      auto& series = any();
      const auto count = 1 + below(below(3) == 0 ? 900 : 30);
      for (std::uint64_t i = 0; i < count; ++i) {
        // Missing ones, and some that are late or come twice.
        series.next_ns += series.step_ns * static_cast<std::int64_t>(below(20) == 0 ? 1 + below(30) : 1);
        auto time = series.next_ns;
        if (below(25) == 0) time -= series.step_ns * static_cast<std::int64_t>(below(60));
        if (below(150) == 0) time -= series.step_ns * static_cast<std::int64_t>(below(3000));
        if (below(30) == 0) time += static_cast<std::int64_t>(below(static_cast<std::uint64_t>(series.step_ns)));
        time = std::max<std::int64_t>(time, kStart);
        samples.push_back({series.id, time, value(series)});
        series.expected.put(time, samples.back().value);
      }
    }
    ASSERT_EQ(append(samples).accepted, samples.size());
  }

  TimeRange any_range(const Known& series) {
    const auto length = static_cast<std::uint64_t>(series.next_ns - kStart + kHourNs);
    const auto from = kStart + static_cast<std::int64_t>(below(length));
    return {from, from + 1 + static_cast<std::int64_t>(below(length))};
  }

  void erase_something() {
    auto& series = any();
    const auto range = any_range(series);
    if (below(8) == 0) {
      ASSERT_TRUE(store_->erase({series.name, {}}).ok());
      series.expected = {};
      series.id = intern(series.name);
      return;
    }
    ASSERT_TRUE(store_->erase({series.name, {}}, range).ok());
    series.expected.erase(range);
  }

  /// The database as the disk may still have it when the machine loses power later.
  void remember_disk() {
    forget_disk();
    for (const auto* name : {"series.db", "series.db-wal"}) {
      if (fs::exists(folder_ / name)) fs::copy_file(folder_ / name, old_disk() / name);
    }
    remembered_ = true;
  }

  /// Whatever syncs the database ends what could have been lost of it.
  void forget_disk() {
    remembered_ = false;
    fs::remove_all(old_disk());
    fs::create_directories(old_disk());
  }

  /// The machine loses power: SQLite's part is as old as it may be, our own log has everything.
  void lose_power() {
    if (!remembered_) return crash();
    const auto copy = crash_copy();
    store_.reset();
    folder_ = copy;
    for (const auto* name : {"series.db", "series.db-wal", "series.db-shm", "series.db-journal"}) {
      fs::remove(folder_ / name);
      if (fs::exists(old_disk() / name)) fs::copy_file(old_disk() / name, folder_ / name);
    }
    open();
    forget_disk();
  }

  void go_on_in_backup() {
    const auto backup = temporary_.path() / ("backup-" + std::to_string(copies_++));
    const auto made = store_->backup_to(backup);
    ASSERT_TRUE(made.ok()) << made.error().text();
    store_.reset();
    folder_ = backup;
    open();
  }

  void compare() {
    for (auto& series : series_) {
      SCOPED_TRACE(series.name);
      const auto range = any_range(series);
      const auto width = static_cast<std::int64_t>(1 + below(std::uint64_t{1} << (20 + below(26))));
      const auto answer = query({.selector = {series.name, {}}, .range = range, .width_ns = width, .max_points = 0});
      const auto expected = series.expected.buckets(answer.range, answer.width_ns);
      ASSERT_EQ(answer.rows.size(), expected.empty() ? 0U : 1U);
      if (!expected.empty()) expect_same(expected, answer.rows[0].buckets);
      if (HasFatalFailure()) return;
    }
    const auto& series = any();
    expect_same(series.expected, points(series.id));
    const auto latest = store_->latest({series.name, {}});
    ASSERT_EQ(latest->size(), series.expected.points().empty() ? 0U : 1U);
    if (!latest->empty()) {
      EXPECT_EQ(latest->front().newest.time_ns, series.expected.points().rbegin()->first);
      EXPECT_TRUE(same(latest->front().newest.value, series.expected.points().rbegin()->second));
    }
  }

  /// Ids are good as long as a store is open.
  void look_up_ids() {
    for (auto& series : series_) series.id = intern(series.name);
  }

  void do_something() {
    switch (below(30)) {
      case 0: ASSERT_TRUE(store_->flush().ok()); break;
      case 1:
        forget_disk();
        open();
        break;
      case 2:
        forget_disk();
        crash();
        break;
      case 3: lose_power(); break;
      case 4:
        forget_disk();
        go_on_in_backup();
        break;
      case 5: erase_something(); break;
      case 6:
      case 7: {
        forget_disk();
        clock_.advance(std::chrono::seconds(below(1200)));
        maintain();
        break;
      }
      case 8:
      case 9: compare(); break;
      case 10:
      case 11: remember_disk(); break;
      default: append_something(); break;
    }
  }

  fs::path old_disk() const { return temporary_.path() / "old-disk"; }

  std::vector<Known> series_;
  bool remembered_ = false;
};

TEST_P(RandomSeriesStoreTest, HoldsWhatItShould) {
  clock_.advance(std::chrono::hours(24 * 3650));
  options_.keep = {std::chrono::hours(24 * 36500), std::chrono::hours(24 * 36500), std::chrono::hours(24 * 36500)};
  open();
  look_up_ids();
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    do_something();
    look_up_ids();
    if (HasFatalFailure()) return;
  }
  compare();
  EXPECT_THAT(store_->problems(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSeriesStoreTest, testing::Range(1, 11));

}  // namespace
}  // namespace assay
