#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay {

// The latencies that MLPerf inference (rules as of 2026) demands of a model's server scenario: the 99th percentiles of
// the time to first token and of the time per output token.

/// The sets that `limits` and `find_peak` can name in place of latencies: "mlperf", "mlperf_interactive".
const std::vector<std::string>& latency_limit_sets();

/// {"ttft_p99": seconds, "tpot_p99": seconds}; none: MLPerf has no such limits for the model. It is known by MLPerf's
/// name and by those that servers use (`meta-llama/Llama-3.1-8B-Instruct`).
std::optional<json::object> mlperf_limits(std::string_view set, std::string_view model);

/// MLPerf's names of the models that have such limits.
std::vector<std::string> models_with_limits(std::string_view set);

/// Puts the latencies of the model in place of the name of a set, wherever there are some.
void put_limits_of_sets(json::object& settings);

}  // namespace assay
