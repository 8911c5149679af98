#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "loadgen/early_stopping.h"
#include "loadgen/mlperf_log.h"

namespace assay {

// What both logs say, each in its own words.

/// The percentiles of LoadGen's logs.
inline constexpr std::array<std::pair<const char*, std::int64_t LatencySummary::*>, 6> kMlperfPercentiles = {
    {{"50.00", &LatencySummary::p50},
     {"90.00", &LatencySummary::p90},
     {"95.00", &LatencySummary::p95},
     {"97.00", &LatencySummary::p97},
     {"99.00", &LatencySummary::p99},
     {"99.90", &LatencySummary::p999}}};

std::string_view mlperf_name(Scenario scenario);  ///< "SingleStream"
std::int64_t whole_ns(double mean);

struct MlperfLogView {
  MlperfLogView(const LoadPlan& load_plan, const LoadRules& load_rules, const LoadResult& load_result,
                const MlperfLogFacts& log_facts);

  std::int64_t limit_of(LatencyMeasure measure) const { return limits_ns[static_cast<std::size_t>(measure)]; }
  /// LoadGen's `use_token_latencies`.
  bool tokens() const { return result.per_output_token.count > 0 || limit_of(LatencyMeasure::first_token) > 0; }
  bool multi_stream() const { return plan.scenario == Scenario::multi_stream; }
  std::uint64_t samples_per_query() const {
    return offline ? result.measured : multi_stream() ? plan.samples_per_query : 1;
  }
  std::uint64_t min_queries() const { return offline ? 1 : plan.min_queries; }
  std::uint64_t queries() const { return offline ? 1 : result.queries; }
  double token_count() const { return result.output_tokens_per_second * result.window_seconds; }
  /// Early stopping of a scenario without a limit, line by line.
  std::string estimate_words() const;
  static std::string words_of(const LimitCheck& check);

  const LoadPlan& plan;
  const LoadRules& rules;
  const LoadResult& result;
  const MlperfLogFacts& facts;
  bool offline = false;
  bool server = false;
  double percentile = 0.99;
  std::uint64_t over = 0;
  std::array<std::int64_t, 3> limits_ns{};
  std::optional<EarlyStoppingEstimate> estimate;
  std::optional<EarlyStoppingEstimate> estimate_99;  ///< single_stream: for whoever infers multi_stream from it
};

}  // namespace assay
