#include "analysis/intervals.h"

#include <cmath>

#include "analysis/distributions.h"
#include "analysis/statistics.h"
#include "base/portable_math.h"

namespace assay {
namespace {

double t_of(double confidence, double degrees) { return t_quantile(0.5 + confidence / 2, degrees); }

}  // namespace

std::optional<Interval> t_interval(std::span<const double> values, double confidence) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double half = t_of(confidence, n - 1) * standard_deviation(values) / std::sqrt(n);
  const double centre = mean(values);
  return Interval{centre - half, centre + half, confidence};
}

std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  if (!(mean_a > 0 && mean_b > 0)) return std::nullopt;
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double part_a = sample_variance(a) / (n_a * mean_a * mean_a);
  const double part_b = sample_variance(b) / (n_b * mean_b * mean_b);
  const double ratio = mean_b / mean_a;
  const double whole = part_a + part_b;
  if (whole == 0) return Interval{ratio, ratio, confidence};
  const double degrees = whole * whole / (part_a * part_a / (n_a - 1) + part_b * part_b / (n_b - 1));
  const double factor = portable_exp(t_of(confidence, degrees) * std::sqrt(whole));
  return Interval{ratio / factor, ratio * factor, confidence};
}

}  // namespace assay
