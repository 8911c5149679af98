#include "loadgen/mlperf_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/version.h"
#include "loadgen/early_stopping.h"

namespace assay {
namespace {

constexpr std::string_view kRule = "================================================\n";

struct NamedPercentile {
  const char* text;
  std::int64_t LatencySummary::* value;
};
constexpr std::array<NamedPercentile, 6> kPercentiles = {{{"50.00", &LatencySummary::p50},
                                                          {"90.00", &LatencySummary::p90},
                                                          {"95.00", &LatencySummary::p95},
                                                          {"97.00", &LatencySummary::p97},
                                                          {"99.00", &LatencySummary::p99},
                                                          {"99.90", &LatencySummary::p999}}};

std::string_view mlperf_name(Scenario scenario) {
  switch (scenario) {
    case Scenario::single_stream: return "SingleStream";
    case Scenario::multi_stream: return "MultiStream";
    case Scenario::offline: return "Offline";
    default: return "Server";
  }
}

std::int64_t rounded(double mean) { return static_cast<std::int64_t>(mean + 0.5); }

/// What both logs say in their own words.
struct LogView {
  LogView(const LoadPlan& load_plan, const LoadRules& load_rules, const LoadResult& load_result,
          const MlperfLogFacts& log_facts)
      : plan(load_plan), rules(load_rules), result(load_result), facts(log_facts) {
    offline = plan.scenario == Scenario::offline;
    server = plan.scenario == Scenario::server;
    percentile = stated_percentile(plan.scenario);
    for (const auto& limit : rules.limits) {
      limit_ns(limit.measure) = limit.at_most.count();
      percentile = limit.percentile;
    }
    for (const auto& check : result.limits) over = std::max(over, check.over);
    if (!server && !offline) estimate = early_stopping_estimate(result.sorted_latencies, percentile);
  }
  std::int64_t& limit_ns(LatencyMeasure measure) { return limits_ns[static_cast<std::size_t>(measure)]; }
  std::int64_t limit_of(LatencyMeasure measure) const { return limits_ns[static_cast<std::size_t>(measure)]; }
  bool tokens() const { return result.per_output_token.count > 0 || limit_of(LatencyMeasure::first_token) > 0; }
  std::uint64_t samples_per_query() const {
    return offline ? result.measured : plan.scenario == Scenario::multi_stream ? plan.samples_per_query : 1;
  }
  std::uint64_t min_queries() const { return offline ? 1 : plan.min_queries; }
  std::uint64_t queries() const { return offline ? 1 : result.queries; }

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
};

class SummaryText {
 public:
  explicit SummaryText(const LogView& view) : view_(view) {}
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
    if (!view_.server && !view_.offline) return estimate();
    for (const auto& check : result.limits) {
      const bool whole = check.limit.measure == LatencyMeasure::end_to_end;
      const bool first = check.limit.measure == LatencyMeasure::first_token;
      line("{}Early Stopping Result:", whole ? "" : first ? "TTFT " : "TPOT ");
      line(" * {}", check.shown ? "Run successful." : "Run unsuccessful.");
    }
  }

  void estimate() {
    line("Early Stopping Result:");
    const std::uint64_t needed = min_queries_for_estimate(view_.percentile);
    if (!view_.estimate) {
      line(" * Only processed {} queries.", view_.result.queries);
      line(" * Need to process at least {} queries for early stopping.", needed);
      return;
    }
    line(" * Processed at least {} queries ({}).", needed, view_.result.queries);
    line(" * Would discard {} highest latency queries.", view_.estimate->discarded);
    line(" * Early stopping {:.6g}th percentile estimate: {}", view_.percentile * 100, view_.estimate->latency_ns);
  }

  void distribution(const LatencySummary& summary, std::string_view title_case, std::string_view lower_case) {
    if (summary.count == 0) return;
    line("Min {} (ns)                : {}", title_case, summary.min);
    line("Max {} (ns)                : {}", title_case, summary.max);
    line("Mean {} (ns)               : {}", title_case, rounded(summary.mean));
    for (const auto& percentile : kPercentiles) {
      line("{} percentile {} (ns)   : {}", percentile.text, lower_case, summary.*percentile.value);
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
  }

  const LogView& view_;
  std::string text_;
};

class DetailText {
 public:
  explicit DetailText(const LogView& view) : view_(view) {}
  std::string write() {
    entry("loadgen_version", quoted(fmt::format("assay {} @ {}", version(), git_commit())));
    entry("test_datetime", quoted(view_.facts.time));
    entry("sut_name", quoted(view_.facts.sut_name));
    settings();
    if (!view_.facts.accuracy) {
      verdict();
      figures();
    }
    return std::move(text_);
  }

 private:
  static std::string quoted(std::string_view text) { return json::serialize(json::value(text)); }
  void entry(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_),
                   ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {}, \"namespace\": \"mlperf::logging\", "
                   "\"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": false, \"is_warning\": false, "
                   "\"file\": \"mlperf_log.cpp\", \"line_no\": {}, \"pid\": 0, \"tid\": 0}}}}\n",
                   key, value, number_, number_ + 1);
    ++number_;
  }
  void entry(std::string_view key, std::uint64_t value) { entry(key, std::string_view(std::to_string(value))); }
  void entry(std::string_view key, std::int64_t value) { entry(key, std::string_view(std::to_string(value))); }
  void entry(std::string_view key, double value) { entry(key, std::string_view(fmt::format("{:.9g}", value))); }
  void entry(std::string_view key, bool value) { entry(key, std::string_view(value ? "true" : "false")); }

  void settings() {
    const LoadPlan& plan = view_.plan;
    entry("qsl_reported_total_count", view_.facts.samples);
    if (view_.limit_of(LatencyMeasure::first_token) > 0) {
      entry("requested_server_ttft_latency", view_.limit_of(LatencyMeasure::first_token));
      entry("requested_server_tpot_latency", view_.limit_of(LatencyMeasure::per_output_token));
    }
    entry("effective_scenario", quoted(mlperf_name(plan.scenario)));
    entry("effective_test_mode", quoted(view_.facts.accuracy ? "AccuracyOnly" : "PerformanceOnly"));
    entry("effective_samples_per_query", view_.samples_per_query());
    entry("effective_target_qps", view_.rules.asked_per_second);
    entry("effective_target_latency_ns", view_.limit_of(LatencyMeasure::end_to_end));
    entry("effective_target_latency_percentile", view_.percentile);
    entry("effective_min_duration_ms", plan.min_duration.count() / 1'000'000);
    entry("effective_max_duration_ms", plan.max_duration.count() / 1'000'000);
    entry("effective_min_query_count", view_.min_queries());
    entry("effective_qsl_rng_seed", view_.facts.seeds.qsl);
    entry("effective_sample_index_rng_seed", view_.facts.seeds.sample);
    entry("effective_schedule_rng_seed", view_.facts.seeds.schedule);
    entry("effective_performance_sample_count", view_.facts.samples);
    entry("generated_query_count", view_.queries());
    entry("generated_samples_per_query", view_.samples_per_query());
  }

  void verdict() {
    const LoadResult& result = view_.result;
    entry("result_validity", quoted(result.valid ? "VALID" : "INVALID"));
    if (view_.server) entry("result_perf_constraints_met", result.limits_met);
    entry("result_min_duration_met", result.min_duration_met);
    entry("result_min_queries_met", result.min_queries_met);
    entry("early_stopping_met", result.early_stopping_met);
    for (const auto& flag : result.flags) {
      if (invalidates_load(flag)) entry("result_invalid_reason", quoted(flag.message));
    }
    if (!view_.estimate) return;
    entry(view_.plan.scenario == Scenario::single_stream ? "early_stopping_latency_ss" : "early_stopping_latency_ms",
          view_.estimate->latency_ns);
  }

  void figures() {
    const LoadResult& result = view_.result;
    entry("result_query_count", view_.queries());
    const bool tokens = result.output_tokens_per_second > 0 && view_.tokens();
    if (view_.server) {
      entry("result_overlatency_query_count", view_.over);
      entry("result_scheduled_samples_per_sec", result.scheduled_per_second);
      entry("result_completed_samples_per_sec", result.completed_per_second);
      if (tokens) entry("result_completed_tokens_per_second", result.output_tokens_per_second);
    } else if (view_.offline) {
      entry("result_samples_per_second", result.completed_per_second);
      if (tokens) entry("result_tokens_per_second", result.output_tokens_per_second);
    } else {
      entry("result_qps_with_loadgen_overhead",
            result.completed_per_second / static_cast<double>(view_.samples_per_query()));
    }
    distribution(result.end_to_end, {"min_latency_ns", "max_latency_ns", "mean_latency_ns"},
                 "{}_percentile_latency_ns");
    if (!view_.tokens()) return;
    distribution(result.first_token,
                 {"first_token_min_latency_ns", "first_token_max_latency_ns", "first_token_mean_latency_ns"},
                 "first_token_{}_percentile_latency_ns");
    distribution(result.per_output_token,
                 {"time_to_output_token_min", "time_to_output_token_max", "time_to_output_token_mean"},
                 "time_per_output_token_{}_percentile_ns");
  }

  void distribution(const LatencySummary& summary, const std::array<std::string_view, 3>& extremes,
                    std::string_view percentile_key) {
    if (summary.count == 0) return;
    entry(fmt::format("result_{}", extremes[0]), summary.min);
    entry(fmt::format("result_{}", extremes[1]), summary.max);
    entry(fmt::format("result_{}", extremes[2]), rounded(summary.mean));
    for (const auto& percentile : kPercentiles) {
      entry("result_" + fmt::format(fmt::runtime(percentile_key), percentile.text), summary.*percentile.value);
    }
  }

  const LogView& view_;
  std::string text_;
  int number_ = 0;
};

}  // namespace

bool has_mlperf_log(Scenario scenario) {
  return scenario == Scenario::single_stream || scenario == Scenario::multi_stream || scenario == Scenario::server ||
         scenario == Scenario::offline;
}

std::string mlperf_summary(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                           const MlperfLogFacts& facts) {
  const LogView view(plan, rules, result, facts);
  return SummaryText(view).write();
}

std::string mlperf_detail(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                          const MlperfLogFacts& facts) {
  const LogView view(plan, rules, result, facts);
  return DetailText(view).write();
}

std::string mlperf_accuracy(const QueryRecorder& recorder) {
  auto texts = recorder.texts();
  std::sort(texts.begin(), texts.end());
  std::string out = "[\n";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto& [id, text] = texts[i];
    const QueryRecord& record = recorder.record(id);
    fmt::format_to(std::back_inserter(out), "{{ \"seq_id\" : {}, \"qsl_idx\" : {}, \"data\" : \"", id, record.sample);
    for (const unsigned char byte : text) fmt::format_to(std::back_inserter(out), "{:02X}", byte);
    fmt::format_to(std::back_inserter(out), "\", \"token_count\" : {} }}{}\n", record.output_tokens,
                   i + 1 < texts.size() ? "," : "");
  }
  return out + "]\n";
}

}  // namespace assay
