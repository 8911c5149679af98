#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "analysis/statistics.h"

namespace assay {

// Confidence intervals over replicates: one number per independent repeat of a run. Steps of one run are not
// replicates; for those there is `steady_mean` in steady_state.h. Values must be finite.

/// Of the mean, by Student's t. None with fewer than two values.
std::optional<Interval> t_interval(std::span<const double> values, double confidence = 0.95);

/// Of mean(b) / mean(a), for positive values: normal on the logarithmic scale (delta method), with Welch's degrees of
/// freedom. None where an arm has fewer than two values or a mean is not positive.
std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

struct BootstrapSettings {
  double confidence = 0.95;
  std::size_t resamples = 9999;
  std::uint64_t seed = 1;
  bool corrected = true;  ///< BCa (bias-corrected, accelerated); otherwise plain percentiles of the resamples
};

using Statistic = std::function<double(std::span<const double>)>;

/// Of any statistic, by resampling with Random(seed, "bootstrap"): the same seed gives the same interval everywhere.
/// Costs resamples × the statistic. Falls back to plain percentiles where the correction is not defined (every
/// resample on one side of the estimate). None with fewer than two values, or where a resample gave no number.
std::optional<Interval> bootstrap_interval(std::span<const double> values, const Statistic& statistic,
                                           const BootstrapSettings& settings = {});

}  // namespace assay
