#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "store/series_bucket.h"
#include "store/series_types.h"

// For tests: what a store of series should hold and answer.

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

}  // namespace assay
