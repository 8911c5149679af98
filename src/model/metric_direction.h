#pragma once

#include <optional>
#include <string_view>

#include "model/metric.h"

namespace assay {

/// Which way a metric is better, as far as its name tells: that of the table of known metrics, or what its words mean
/// (`train/f1_score`, `step_time_ms`, `eval_wer`). `neither` of what counts or sets something (`epoch`, `lr`). None
/// where the name says nothing or contradicts itself.
std::optional<MetricInfo::Better> better_by_name(std::string_view name);

/// Whether its name says how fast or how long something was, rather than how well.
bool names_speed(std::string_view name);

}  // namespace assay
