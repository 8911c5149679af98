#include <fmt/format.h>

#include <iterator>

#include "loadgen/mlperf_log_view.h"

namespace assay {
namespace {

constexpr std::string_view kRule = "================================================\n";

class SummaryText {
 public:
  explicit SummaryText(const MlperfLogView& view) : view_(view) {}
  std::string write() {
    if (!view_.facts.accuracy) {
      headline();
      verdict();
      additional();
      parameters();
    }
    text_ += "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n";
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  void title(std::string_view name) {
    text_ += kRule;
    line("{}", name);
    text_ += kRule;
  }
  static std::string_view yes(bool met) { return met ? "Yes" : "NO"; }

  void headline() {
    const LoadResult& result = view_.result;
    title("MLPerf Results Summary");
    line("SUT name : {}", view_.facts.sut_name);
    line("Scenario : {}", mlperf_name(view_.plan.scenario));
    line("Mode     : PerformanceOnly");
    const bool tokens = result.output_tokens_per_second > 0 && view_.tokens();
    if (view_.server) {
      line("Completed samples per second    : {:.2f}", result.completed_per_second);
      if (tokens) line("Completed tokens per second: {:.2f}", result.output_tokens_per_second);
    } else if (view_.offline) {
      line("Samples per second: {:.6g}", result.completed_per_second);
      if (tokens) line("Tokens per second: {:.6g}", result.output_tokens_per_second);
    } else {
      const bool single = view_.plan.scenario == Scenario::single_stream;
      line("{}th percentile latency (ns) : {}", single ? 90 : 99,
           single ? result.end_to_end.p90 : result.end_to_end.p99);
    }
  }

  void verdict() {
    const LoadResult& result = view_.result;
    line("Result is : {}", result.valid ? "VALID" : "INVALID");
    if (view_.server) line("  Performance constraints satisfied : {}", yes(result.limits_met));
    line("  Min duration satisfied : {}", yes(result.min_duration_met));
    line("  Min queries satisfied : {}", yes(result.min_queries_met));
    line("  Early stopping satisfied: {}", yes(result.early_stopping_met));
    if (!result.valid) {
      line("Recommendations:");
      for (const auto& flag : result.flags) {
        if (invalidates_load(flag)) line(" * {}", flag.message);
      }
    }
    if (!view_.server && !view_.offline) return line("Early Stopping Result:\n{}", view_.estimate_words());
    for (const auto& check : result.limits) {
      const bool whole = check.limit.measure == LatencyMeasure::end_to_end;
      const bool first = check.limit.measure == LatencyMeasure::first_token;
      line("{}Early Stopping Result:", whole ? "" : first ? "TTFT " : "TPOT ");
      line("{}", MlperfLogView::words_of(check));
    }
  }

  void distribution(const LatencySummary& summary, std::string_view title_case, std::string_view lower_case) {
    if (summary.count == 0) return;
    line("Min {} (ns)                : {}", title_case, summary.min);
    line("Max {} (ns)                : {}", title_case, summary.max);
    line("Mean {} (ns)               : {}", title_case, whole_ns(summary.mean));
    for (const auto& [percentile, value] : kMlperfPercentiles) {
      line("{} percentile {} (ns)   : {}", percentile, lower_case, summary.*value);
    }
    text_ += '\n';
  }

  void additional() {
    text_ += '\n';
    title("Additional Stats");
    if (view_.server) line("Scheduled samples per second : {:.2f}", view_.result.scheduled_per_second);
    if (!view_.server && !view_.offline) {
      line("QPS w/ loadgen overhead         : {:.2f}",
           view_.result.completed_per_second / static_cast<double>(view_.samples_per_query()));
      line("QPS w/o loadgen overhead        : {:.2f}\n",
           view_.result.end_to_end.mean > 0 ? 1e9 / view_.result.end_to_end.mean : 0);
    }
    if (view_.multi_stream()) line("Per-query latency:  ");
    distribution(view_.result.end_to_end, "latency", "latency");
    if (!view_.tokens()) return;
    distribution(view_.result.first_token, "First Token latency", "first token latency");
    distribution(view_.result.per_output_token, "Time to Output Token", "time to output token");
  }

  void parameters() {
    const LoadPlan& plan = view_.plan;
    title("Test Parameters Used");
    line("samples_per_query : {}", view_.samples_per_query());
    line("target_qps : {:.9g}", view_.rules.asked_per_second);
    line("target_latency (ns): {}", view_.limit_of(LatencyMeasure::end_to_end));
    if (view_.limit_of(LatencyMeasure::first_token) > 0) {
      line("ttft_latency (ns): {}", view_.limit_of(LatencyMeasure::first_token));
      line("tpot_latency (ns): {}", view_.limit_of(LatencyMeasure::per_output_token));
    }
    line("max_async_queries : 0");
    line("min_duration (ms): {}", plan.min_duration.count() / 1'000'000);
    line("max_duration (ms): {}", plan.max_duration.count() / 1'000'000);
    line("min_query_count : {}", view_.min_queries());
    line("max_query_count : {}", plan.max_queries);
    line("qsl_rng_seed : {}", view_.facts.seeds.qsl);
    line("sample_index_rng_seed : {}", view_.facts.seeds.sample);
    line("schedule_rng_seed : {}", view_.facts.seeds.schedule);
    line("accuracy_log_rng_seed : 0");
    line("accuracy_log_probability : 0");
    line("accuracy_log_sampling_target : 0");
    line("print_timestamps : 0");
    line("performance_issue_unique : 0");
    line("performance_issue_same : 0");
    line("performance_issue_same_index : 0");
    line("performance_sample_count : {}", view_.facts.samples);
    line("accuracy_sample_count : {}", view_.facts.samples);
  }

  const MlperfLogView& view_;
  std::string text_;
};

}  // namespace

std::string mlperf_summary(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                           const MlperfLogFacts& facts) {
  const MlperfLogView view(plan, rules, result, facts);
  return SummaryText(view).write();
}

}  // namespace assay
