#include "analysis/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/nan.h"
#include "analysis/summary.h"

namespace assay {
namespace {

/// Neumaier's sum: what each addition rounds away is kept apart, so a million latencies add up to the last digit.
double precise_sum(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::fabs(sum) >= std::fabs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return std::isfinite(lost) ? sum + lost : sum;
}

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// LoadGen's index: the product is taken in double and cut off, so that both tools name the same sample.
std::size_t nearest_index(std::size_t count, double p) {
  const auto index = static_cast<std::size_t>(static_cast<double>(count) * p);
  return std::min(index, count - 1);
}

using Position = std::vector<double>::iterator;
Position at(std::vector<double>& values, std::size_t index) {
  return values.begin() + static_cast<std::ptrdiff_t>(index);
}

/// Of values that hold no NaN; reorders them.
double median_in_place(std::vector<double>& values) {
  const auto middle = at(values, values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return kNan;
  return precise_sum(values) / static_cast<double>(values.size());
}

double sample_variance(std::span<const double> values) {
  if (values.size() < 2) return kNan;
  const double centre = mean(values);
  double squares = 0;
  double rest = 0;
  for (const double value : values) {
    const double distance = value - centre;
    squares += distance * distance;
    rest += distance;
  }
  const auto n = static_cast<double>(values.size());
  // `rest` would be 0 if the mean were exact; its square is what the rounding of the mean added.
  return std::max(0.0, squares - rest * rest / n) / (n - 1);
}

double standard_deviation(std::span<const double> values) { return std::sqrt(sample_variance(values)); }

double coefficient_of_variation(std::span<const double> values) {
  const double centre = std::fabs(mean(values));
  return centre == 0 ? kNan : standard_deviation(values) / centre;
}

double median(std::span<const double> values) {
  if (values.empty() || has_nan(values)) return kNan;
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

double median_absolute_deviation(std::span<const double> values) {
  const double centre = median(values);
  if (std::isnan(centre)) return kNan;
  std::vector<double> distances(values.begin(), values.end());
  for (double& value : distances) value = std::fabs(value - centre);
  return median_in_place(distances);
}

std::vector<double> percentiles_nearest(std::vector<double> values, std::span<const double> ps) {
  std::vector<double> answers(ps.size(), kNan);
  if (values.empty() || has_nan(values)) return answers;
  std::vector<std::size_t> order(ps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ps[a] < ps[b]; });
  // Rising: what lies below one percentile need not be looked at for the next.
  auto from = values.begin();
  for (const std::size_t which : order) {
    if (!(ps[which] >= 0 && ps[which] <= 1)) continue;
    const auto target = at(values, nearest_index(values.size(), ps[which]));
    std::nth_element(from, target, values.end());
    answers[which] = *target;
    from = target;
  }
  return answers;
}

double percentile_interpolated(std::span<const double> values, double p) {
  if (values.empty() || has_nan(values) || !(p >= 0 && p <= 1)) return kNan;
  std::vector<double> copy(values.begin(), values.end());
  const double position = p * static_cast<double>(copy.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(position), copy.size() - 1);
  const auto lower = at(copy, index);
  std::nth_element(copy.begin(), lower, copy.end());
  const double fraction = position - static_cast<double>(index);
  if (fraction == 0 || index + 1 == copy.size()) return *lower;
  const double upper = *std::min_element(lower + 1, copy.end());
  return *lower + (upper - *lower) * fraction;
}

std::vector<double> finite_values(std::span<const double> values) {
  std::vector<double> kept;
  kept.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](double v) { return std::isfinite(v); });
  return kept;
}

Summary summarise(std::span<const double> values) {
  std::vector<double> kept = finite_values(values);
  Summary summary{.count = kept.size(), .non_finite = values.size() - kept.size()};
  summary.mean = mean(kept);
  summary.standard_deviation = standard_deviation(kept);
  summary.coefficient_of_variation = coefficient_of_variation(kept);
  static constexpr std::array kPercentiles = {0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0};
  const auto found = percentiles_nearest(std::move(kept), kPercentiles);
  summary.min = found[0];
  summary.p50 = found[1];
  summary.p90 = found[2];
  summary.p95 = found[3];
  summary.p99 = found[4];
  summary.p999 = found[5];
  summary.max = found[6];
  return summary;
}

}  // namespace assay
