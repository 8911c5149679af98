#include "analysis/intervals.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/distributions.h"
#include "base/portable_math.h"
#include "base/random.h"

namespace assay {
namespace {

double t_of(double confidence, double degrees) { return t_quantile(0.5 + confidence / 2, degrees); }

/// The acceleration of BCa: the skewness of the statistic when one value at a time is left out.
double acceleration(std::span<const double> values, const Statistic& statistic) {
  std::vector<double> without(values.begin() + 1, values.end());
  std::vector<double> jackknife;
  for (std::size_t left_out = 0;; ++left_out) {
    jackknife.push_back(statistic(without));
    if (left_out + 1 == values.size()) break;
    without[left_out] = values[left_out];
  }
  const double centre = mean(jackknife);
  double squares = 0;
  double cubes = 0;
  for (const double value : jackknife) {
    const double distance = centre - value;
    squares += distance * distance;
    cubes += distance * distance * distance;
  }
  return squares == 0 ? 0 : cubes / (6 * squares * std::sqrt(squares));
}

/// Which share of the resamples lies below the bound, after correction; `tail` is the nominal share.
double corrected_share(double tail, double bias, double accelerated) {
  const double z = bias + normal_quantile(tail);
  return normal_cdf(bias + z / (1 - accelerated * z));
}

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

std::optional<Interval> bootstrap_interval(std::span<const double> values, const Statistic& statistic,
                                           const BootstrapSettings& settings) {
  if (values.size() < 2 || settings.resamples < 2) return std::nullopt;
  Random random(settings.seed, "bootstrap");
  std::vector<double> sample(values.size());
  std::vector<double> replicates(settings.resamples);
  for (double& replicate : replicates) {
    for (double& value : sample) value = values[static_cast<std::size_t>(random.below(values.size()))];
    replicate = statistic(sample);
    if (!std::isfinite(replicate)) return std::nullopt;
  }

  double low = (1 - settings.confidence) / 2;
  double high = 1 - low;
  if (settings.corrected) {
    const double estimate = statistic(values);
    double below = 0;
    // Half of the ties count as below: a median of few values ties often.
    for (const double replicate : replicates) below += replicate < estimate ? 1 : replicate == estimate ? 0.5 : 0;
    const double share = below / static_cast<double>(replicates.size());
    if (share > 0 && share < 1) {
      const double bias = normal_quantile(share);
      const double accelerated = acceleration(values, statistic);
      const double corrected_low = corrected_share(low, bias, accelerated);
      const double corrected_high = corrected_share(high, bias, accelerated);
      if (corrected_low < corrected_high) {
        low = corrected_low;
        high = corrected_high;
      }
    }
  }
  return Interval{percentile_interpolated(replicates, low), percentile_interpolated(replicates, high),
                  settings.confidence};
}

}  // namespace assay
