#pragma once

#include <optional>
#include <span>

#include "analysis/interval.h"

namespace assay {

// Confidence intervals over replicates: one number per independent repeat of a run. Steps of one run are not
// replicates; for those there is `steady_mean` in steady_state.h. Values must be finite.

/// Of the mean, by Student's t. None with fewer than two values.
std::optional<Interval> t_interval(std::span<const double> values, double confidence = 0.95);

/// Of mean(b) / mean(a), for positive values: normal on the logarithmic scale (delta method), with Welch's degrees of
/// freedom. None where an arm has fewer than two values or a mean is not positive.
std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

}  // namespace assay
