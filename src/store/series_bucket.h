#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "store/timed_value.h"

namespace assay {

/// What the points of one span of time amount to. NaN is left out of everything but `nan_count`.
struct SeriesBucket {
  std::int64_t start_ns = 0;
  double min = std::numeric_limits<double>::quiet_NaN();  ///< NaN where count is 0
  double max = std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  std::uint64_t count = 0;
  std::uint64_t nan_count = 0;

  double mean() const {
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
  }
};

/// Adds up points, or buckets of a finer tier. The sum carries its rounding error along (Neumaier), so that it is the
/// same wherever the points were cut into chunks, and right to the last place or nearly so.
class BucketSum {
 public:
  void add(double value) {
    if (std::isnan(value)) {
      ++bucket_.nan_count;
      return;
    }
    add(value, value, value, 1);
  }
  void add(const SeriesBucket& bucket) {
    bucket_.nan_count += bucket.nan_count;
    if (bucket.count > 0) add(bucket.min, bucket.max, bucket.sum, bucket.count);
  }

  bool empty() const { return bucket_.count + bucket_.nan_count == 0; }
  SeriesBucket at(std::int64_t start_ns) const {
    auto bucket = bucket_;
    bucket.start_ns = start_ns;
    if (std::isfinite(bucket.sum)) bucket.sum += error_;
    return bucket;
  }

 private:
  void add(double low, double high, double sum, std::uint64_t count) {
    // The negations also take the first value, when the extremes are NaN.
    if (!(low >= bucket_.min)) bucket_.min = low;
    if (!(high <= bucket_.max)) bucket_.max = high;
    bucket_.count += count;
    const double total = bucket_.sum + sum;
    if (std::isfinite(total)) {
      error_ += std::fabs(bucket_.sum) >= std::fabs(sum) ? (bucket_.sum - total) + sum : (sum - total) + bucket_.sum;
    }
    bucket_.sum = total;
  }

  SeriesBucket bucket_;
  double error_ = 0;
};

/// Puts points or finer buckets, in order of time, into buckets of one width; empty ones are left out.
class BucketBuilder {
 public:
  explicit BucketBuilder(std::int64_t width_ns) : width_(width_ns) {}

  void add(const TimedValue& point) {
    move_to(point.time_ns);
    sum_.add(point.value);
  }
  void add(const SeriesBucket& bucket) {
    move_to(bucket.start_ns);
    sum_.add(bucket);
  }
  /// Ends the last bucket and gives all of them.
  std::vector<SeriesBucket> take() {
    close();
    return std::move(buckets_);
  }

 private:
  void move_to(std::int64_t time_ns) {
    if (time_ns >= start_ && time_ns - start_ < width_) return;
    close();
    start_ = floor_to(time_ns, width_);
  }
  void close() {
    if (!sum_.empty()) buckets_.push_back(sum_.at(start_));
    sum_ = {};
  }

  const std::int64_t width_;
  std::int64_t start_ = 0;
  BucketSum sum_;
  std::vector<SeriesBucket> buckets_;
};

template <typename Elements>
std::vector<SeriesBucket> buckets_of(const Elements& elements, std::int64_t width_ns) {
  BucketBuilder builder(width_ns);
  for (const auto& element : elements) builder.add(element);
  return builder.take();
}

}  // namespace assay
