#include "watch/steady_rise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "watch/unknown.h"

namespace assay {
namespace {

/// Three spans make one point: twenty points have 190 pairs, sixty would have 1,770.
constexpr std::size_t kSpansPerPoint = 3;
constexpr std::size_t kPoints = SteadyRise::kSpans / kSpansPerPoint;
constexpr std::size_t kFewestPoints = kPoints * 9 / 10;
/// Kendall's tau of a rise that counts as steady.
constexpr double kSteadyTau = 0.9;

using Points = std::array<double, kPoints>;

double mean_of_known(std::span<const double> points) {
  double sum = 0;
  int known = 0;
  for (const double point : points) {
    if (std::isnan(point)) continue;
    sum += point;
    ++known;
  }
  return known == 0 ? kUnknown : sum / known;
}

/// What has risen for long may have come to its end: a job that loaded its data. At a quarter of the usual slope over
/// the last third of the time it counts as over.
bool still_rises(const Points& points, double per_point) {
  constexpr std::size_t kThird = kPoints / 3 + 1;
  constexpr std::size_t kEnds = 2;
  const auto last = std::span(points).last(kThird);
  const double rise = mean_of_known(last.last(kEnds)) - mean_of_known(last.first(kEnds));
  return rise >= 0.25 * per_point * static_cast<double>(kThird - kEnds);
}

/// Theil–Sen: the median slope of all pairs, per point; 0 unless nearly all pairs rise.
double steady_slope(const Points& points) {
  std::array<double, kPoints*(kPoints - 1) / 2> slopes;
  std::size_t pairs = 0;
  int rising = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    for (std::size_t j = i + 1; j < kPoints; ++j) {
      const double difference = points[j] - points[i];
      if (std::isnan(difference)) continue;
      slopes[pairs++] = difference / static_cast<double>(j - i);
      rising += difference > 0 ? 1 : difference < 0 ? -1 : 0;
    }
  }
  if (pairs == 0 || rising < kSteadyTau * static_cast<double>(pairs)) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(pairs / 2);
  std::nth_element(slopes.begin(), middle, slopes.begin() + static_cast<std::ptrdiff_t>(pairs));
  return *middle;
}

}  // namespace

void SteadyRise::add(double value, double capacity, WallTime now) {
  const std::int64_t number = (now.time_since_epoch() + phase_) / span_;
  if (current_ == INT64_MIN) {
    current_ = number;
    means_.fill(std::numeric_limits<float>::quiet_NaN());
  }
  if (number < current_ || number - current_ > static_cast<std::int64_t>(kSpans)) {
    // The clock was set back, or everything that was kept is too old by now.
    *this = SteadyRise(span_, phase_);
    return add(value, capacity, now);
  }
  while (current_ < number) {
    close_span(capacity);
    ++current_;
  }
  if (std::isnan(value)) return;
  sum_ += value;
  ++count_;
}

void SteadyRise::close_span(double capacity) {
  means_[next_] =
      count_ == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(sum_ / static_cast<double>(count_));
  next_ = (next_ + 1) % kSpans;
  filled_ = std::min<std::uint32_t>(filled_ + 1, kSpans);
  sum_ = 0;
  count_ = 0;
  judge(capacity);
}

void SteadyRise::judge(double capacity) {
  slope_ = 0;
  seconds_to_full_ = kUnknown;
  if (filled_ < kSpans || !(capacity > 0)) return;
  Points points{};
  std::size_t known = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    std::array<double, kSpansPerPoint> spans{};
    for (std::size_t j = 0; j < kSpansPerPoint; ++j) spans[j] = means_[(next_ + i * kSpansPerPoint + j) % kSpans];
    points[i] = mean_of_known(spans);
    known += std::isnan(points[i]) ? 0 : 1;
  }
  if (known < kFewestPoints) return;
  seconds_to_full_ = kInfinity;
  const double per_point = steady_slope(points);
  if (per_point * static_cast<double>(kPoints) < kLeastGrowth * capacity) return;
  if (!still_rises(points, per_point)) return;
  slope_ = per_point / (static_cast<double>(kSpansPerPoint) * seconds_of(span_));
  const double last = mean_of_known(std::span(points).last(2));
  seconds_to_full_ = std::max(0.0, capacity - last) / slope_;
}

}  // namespace assay
