#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "store/series/series_store.h"

namespace assay {

/// Some afternoon, at the full hour.
constexpr std::int64_t kStart = 1'767'225'600 * kSecondNs;
constexpr std::int64_t kDayNs = 24 * kHourNs;

/// What a store should hold, kept the simple way.
class ExpectedSeries {
 public:
  void put(std::int64_t time_ns, double value) { points_[time_ns] = value; }
  void erase(TimeRange range) { points_.erase(points_.lower_bound(range.from_ns), points_.lower_bound(range.to_ns)); }
  const std::map<std::int64_t, double>& points() const { return points_; }

  /// Sums are exact as long as the values are small multiples of a power of two.
  std::vector<SeriesBucket> buckets(TimeRange range, std::int64_t width_ns) const {
    std::map<std::int64_t, SeriesBucket> buckets;
    const auto end = points_.lower_bound(range.to_ns);
    for (auto point = points_.lower_bound(range.from_ns); point != end; ++point) {
      const auto start = point->first / width_ns * width_ns;
      auto& bucket = buckets[start];
      bucket.start_ns = start;
      const double value = point->second;
      if (std::isnan(value)) {
        ++bucket.nan_count;
        continue;
      }
      bucket.min = bucket.count == 0 ? value : std::min(bucket.min, value);
      bucket.max = bucket.count == 0 ? value : std::max(bucket.max, value);
      bucket.sum += value;
      ++bucket.count;
    }
    std::vector<SeriesBucket> in_order;
    for (const auto& [start, bucket] : buckets) in_order.push_back(bucket);
    return in_order;
  }

 private:
  std::map<std::int64_t, double> points_;
};

inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

inline void expect_same(const std::vector<SeriesBucket>& expected, const std::vector<SeriesBucket>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].start_ns, actual[i].start_ns) << "bucket " << i;
    ASSERT_EQ(expected[i].count, actual[i].count) << "bucket " << i;
    ASSERT_EQ(expected[i].nan_count, actual[i].nan_count) << "bucket " << i;
    ASSERT_TRUE(same(expected[i].min, actual[i].min)) << expected[i].min << " is not " << actual[i].min;
    ASSERT_TRUE(same(expected[i].max, actual[i].max)) << expected[i].max << " is not " << actual[i].max;
    ASSERT_TRUE(same(expected[i].mean(), actual[i].mean())) << expected[i].mean() << " is not " << actual[i].mean();
  }
}

inline void expect_same(const ExpectedSeries& expected, const std::vector<TimedValue>& actual) {
  ASSERT_EQ(expected.points().size(), actual.size());
  auto next = expected.points().begin();
  for (const auto& point : actual) {
    ASSERT_EQ(next->first, point.time_ns);
    ASSERT_TRUE(same(next->second, point.value)) << next->second << " is not " << point.value;
    ++next;
  }
}

class SeriesStoreTest : public testing::Test {
 protected:
  SeriesStoreTest() {
    options_.clock = &clock_;
    open();
  }

  void open() {
    store_.reset();
    auto store = SeriesStore::open(folder_, options_);
    ASSERT_TRUE(store.ok()) << store.error().text();
    store_.emplace(std::move(store).value());
  }

  /// What a process that is killed at this moment leaves behind.
  fs::path crash_copy() {
    const auto copy = temporary_.path() / ("crash-" + std::to_string(copies_++));
    fs::copy(folder_, copy, fs::copy_options::recursive);
    return copy;
  }

  /// Goes on as if the process had been killed and started again.
  void crash() {
    const auto copy = crash_copy();
    store_.reset();
    folder_ = copy;
    open();
  }

  SeriesId intern(const std::string& name, std::map<std::string, std::string> labels = {}) {
    const auto id = store_->intern({name, std::move(labels)}, "W");
    EXPECT_TRUE(id.ok()) << id.error().text();
    return *id;
  }

  AppendOutcome append(const std::vector<SeriesSample>& samples) {
    const auto outcome = store_->append(samples);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : AppendOutcome{};
  }

  /// `count` points a second apart; their values are multiples of 1/8.
  void append_seconds(SeriesId id, std::int64_t from_ns, int count, ExpectedSeries* expected = nullptr) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < count; ++i) {
      const double value = static_cast<double>(random_() % 4096) / 8;
      samples.push_back({id, from_ns + i * kSecondNs, value});
      if (expected) expected->put(samples.back().time_ns, value);
    }
    EXPECT_EQ(append(samples).accepted, static_cast<std::size_t>(count));
  }

  void maintain() {
    for (bool more = true; more;) {
      const auto outcome = store_->maintain(clock_.wall());
      ASSERT_TRUE(outcome.ok()) << outcome.error().text();
      more = outcome->more;
    }
  }

  std::vector<TimedValue> points(SeriesId id, TimeRange range = {}) {
    const auto answer = store_->points(id, range, 1'000'000);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    if (!answer.ok()) return {};
    EXPECT_FALSE(answer->more);
    return answer->points;
  }

  SeriesAnswer query(const SeriesQuery& query) {
    auto answer = store_->query(query);
    EXPECT_TRUE(answer.ok()) << answer.error().text();
    return answer.ok() ? std::move(answer).value() : SeriesAnswer{};
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path() / "telemetry";
  ManualClock clock_{WallTime(Nanos(kStart + 24 * kHourNs))};
  SeriesStoreOptions options_;
  std::optional<SeriesStore> store_;
  std::mt19937_64 random_{11};
  int copies_ = 0;
};

}  // namespace assay
