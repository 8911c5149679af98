#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace assay {

/// Finds out whether something fills up steadily, and when it will be full. Keeps the means of the last sixty spans of
/// time (of a minute, say): a fixed 300 bytes or so.
class SteadyRise {
 public:
  static constexpr std::size_t kSpans = 60;

  /// `phase` shifts the ends of the spans, so that not all things are judged in the same moment.
  explicit SteadyRise(Nanos span = std::chrono::minutes(1), Nanos phase = Nanos(0)) : span_(span), phase_(phase) {}

  /// Takes one value; NaN is not known. `capacity` is where it is full.
  void add(double value, double capacity, WallTime now);

  /// Infinity if it does not rise steadily; NaN while too little is known (less than nine of ten spans).
  double seconds_to_full() const { return seconds_to_full_; }
  /// Per second, over all spans; 0 unless it rises steadily.
  double slope() const { return slope_; }

  /// Less than this share of the capacity over all spans is no rise.
  static constexpr double kLeastGrowth = 0.01;

 private:
  void close_span(double capacity);
  void judge(double capacity);

  Nanos span_;
  Nanos phase_;
  std::int64_t current_ = INT64_MIN;  ///< number of the span that is being filled
  double sum_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t filled_ = 0;           ///< spans so far, at most kSpans
  std::uint32_t next_ = 0;             ///< place of the next one, and so of the oldest
  std::array<float, kSpans> means_{};  ///< NaN where nothing was known
  double seconds_to_full_ = std::numeric_limits<double>::quiet_NaN();
  double slope_ = 0;
};

}  // namespace assay
