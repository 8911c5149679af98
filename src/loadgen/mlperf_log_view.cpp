#include "loadgen/mlperf_log_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

std::string_view mlperf_name(Scenario scenario) {
  switch (scenario) {
    case Scenario::single_stream: return "SingleStream";
    case Scenario::multi_stream: return "MultiStream";
    case Scenario::offline: return "Offline";
    default: return "Server";
  }
}

std::int64_t whole_ns(double mean) { return std::llround(mean); }

MlperfLogView::MlperfLogView(const LoadPlan& load_plan, const LoadRules& load_rules, const LoadResult& load_result,
                             const MlperfLogFacts& log_facts)
    : plan(load_plan), rules(load_rules), result(load_result), facts(log_facts) {
  offline = plan.scenario == Scenario::offline;
  server = plan.scenario == Scenario::server;
  percentile = stated_percentile(plan.scenario);
  for (const auto& limit : rules.limits) {
    limits_ns[static_cast<std::size_t>(limit.measure)] = limit.at_most.count();
    percentile = limit.percentile;
  }
  for (const auto& check : result.limits) over = std::max(over, check.over);
  if (server || offline) return;
  estimate = early_stopping_estimate(result.sorted_latencies, percentile);
  if (plan.scenario == Scenario::single_stream) estimate_99 = early_stopping_estimate(result.sorted_latencies, 0.99);
}

std::string MlperfLogView::estimate_words() const {
  const std::uint64_t needed = min_queries_for_estimate(percentile);
  if (!estimate) {
    return fmt::format(" * Only processed {} queries.\n * Need to process at least {} queries for early stopping.",
                       result.queries, needed);
  }
  return fmt::format(
      " * Processed at least {} queries ({}).\n * Would discard {} highest latency queries.\n"
      " * Early stopping {:.6g}th percentile estimate: {}",
      needed, result.queries, estimate->discarded, percentile * 100, estimate->latency_ns);
}

std::string MlperfLogView::words_of(const LimitCheck& check) {
  if (check.shown) return " * Run successful.";
  if (!check.met) return " * Run unsuccessful.";
  const std::uint64_t needed = min_passing_queries(check.over, check.limit.percentile) + check.over;
  return fmt::format(
      " * Run unsuccessful.\n * Processed {} queries.\n * Would need to run at least {} more queries,\n with the run "
      "being successful if every additional\n query were under latency.",
      check.counted, needed - check.counted);
}

bool has_mlperf_log(Scenario scenario) {
  return scenario == Scenario::single_stream || scenario == Scenario::multi_stream || scenario == Scenario::server ||
         scenario == Scenario::offline;
}

}  // namespace assay
