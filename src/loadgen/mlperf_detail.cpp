#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/version.h"
#include "loadgen/mlperf_log_view.h"

namespace assay {
namespace {

/// The keys are LoadGen's, in its order; what it can be asked for and we cannot has the value that stands for "no".
class DetailText {
 public:
  explicit DetailText(const MlperfLogView& view) : view_(view) {}
  std::string write() {
    entry("loadgen_version", quoted(fmt::format("assay {} @ {}", version(), git_commit())));
    entry("test_datetime", quoted(view_.facts.time));
    entry("sut_name", quoted(view_.facts.sut_name));
    entry("qsl_name", quoted("assay"));
    entry("qsl_reported_total_count", view_.facts.samples);
    entry("qsl_reported_performance_count", view_.facts.samples);
    asked_of_scenario();
    common_settings("requested");
    if (view_.tokens()) asked_of_tokens();
    effective();
    generated();
    if (!view_.facts.accuracy) {
      verdict();
      figures();
      latencies();
      if (view_.tokens()) tokens();
    }
    // Answers of one token are what LoadGen reports as errors of a server, beside its own.
    const bool judged = view_.limit_of(LatencyMeasure::per_output_token) > 0;
    entry("num_errors", judged ? view_.result.without_per_token : 0);
    return std::move(text_);
  }

 private:
  static std::string quoted(std::string_view text) { return json::serialize(json::value(text)); }
  void entry(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_),
                   ":::MLLOG {{\"key\": \"{}\", \"value\": {}, \"time_ms\": {}, \"namespace\": \"mlperf::logging\", "
                   "\"event_type\": \"POINT_IN_TIME\", \"metadata\": {{\"is_error\": false, \"is_warning\": false, "
                   "\"file\": \"mlperf_detail.cpp\", \"line_no\": {}, \"pid\": 0, \"tid\": 0}}}}\n",
                   key, value, number_, number_ + 1);
    ++number_;
  }
  void entry(std::string_view key, std::uint64_t value) { entry(key, std::string_view(std::to_string(value))); }
  void entry(std::string_view key, std::int64_t value) { entry(key, std::string_view(std::to_string(value))); }
  void entry(std::string_view key, double value) { entry(key, std::string_view(fmt::format("{:.9g}", value))); }
  void entry(std::string_view key, bool value) { entry(key, std::string_view(value ? "true" : "false")); }

  std::string mode() const { return quoted(view_.facts.accuracy ? "AccuracyOnly" : "PerformanceOnly"); }
  std::int64_t least_ms() const { return view_.plan.min_duration.count() / 1'000'000; }
  std::uint64_t asked_queries() const { return view_.plan.min_queries; }

  void asked_of_scenario() {
    entry("requested_scenario", quoted(mlperf_name(view_.plan.scenario)));
    entry("requested_test_mode", mode());
    switch (view_.plan.scenario) {
      case Scenario::single_stream:
        entry("requested_single_stream_expected_latency_ns", std::uint64_t{0});
        entry("requested_single_stream_target_latency_percentile", view_.percentile);
        break;
      case Scenario::multi_stream:
        entry("requested_multi_stream_expected_latency_ns", std::uint64_t{0});
        entry("requested_multi_stream_target_latency_percentile", view_.percentile);
        entry("requested_multi_stream_samples_per_query", view_.samples_per_query());
        break;
      case Scenario::offline: entry("requested_offline_expected_qps", view_.rules.asked_per_second); break;
      default:
        entry("requested_server_target_qps", view_.rules.asked_per_second);
        entry("requested_server_target_latency_ns", view_.limit_of(LatencyMeasure::end_to_end));
        entry("requested_server_target_latency_percentile", view_.percentile);
        entry("requested_server_coalesce_queries", false);
        entry("requested_server_max_async_queries", std::uint64_t{0});
        entry("requested_server_num_issue_query_threads", std::uint64_t{0});
    }
    entry("requested_min_duration_ms", least_ms());
    entry("requested_max_duration_ms", view_.plan.max_duration.count() / 1'000'000);
    entry("requested_min_query_count", asked_queries());
    entry("requested_max_query_count", view_.plan.max_queries);
  }

  /// What LoadGen writes twice: as it was asked for, and as it was done.
  void common_settings(std::string_view which) {
    const auto both = [&](std::string_view key, auto value) { entry(fmt::format("{}_{}", which, key), value); };
    both("qsl_rng_seed", view_.facts.seeds.qsl);
    both("sample_index_rng_seed", view_.facts.seeds.sample);
    both("schedule_rng_seed", view_.facts.seeds.schedule);
    both("accuracy_log_rng_seed", std::uint64_t{0});
    both("accuracy_log_probability", std::uint64_t{0});
    both("accuracy_log_sampling_target", std::uint64_t{0});
    both("print_timestamps", false);
    both("performance_issue_unique", false);
    both("performance_issue_same", false);
    both("performance_issue_same_index", std::uint64_t{0});
    const std::string_view override = which == "requested" ? "_override" : "";
    both(fmt::format("performance_sample_count{}", override), view_.facts.samples);
    both(fmt::format("accuracy_sample_count{}", override), view_.facts.samples);
    both("sample_concatenate_permutation", view_.facts.equal_issue);
  }

  void asked_of_tokens() {
    entry("requested_use_token_latencies", true);
    if (view_.offline) return;
    entry("requested_server_ttft_latency", view_.limit_of(LatencyMeasure::first_token));
    entry("requested_server_tpot_latency", view_.limit_of(LatencyMeasure::per_output_token));
  }

  void effective() {
    const LoadPlan& plan = view_.plan;
    entry("effective_scenario", quoted(mlperf_name(plan.scenario)));
    entry("effective_test_mode", mode());
    entry("effective_samples_per_query", view_.samples_per_query());
    entry("effective_target_qps", view_.rules.asked_per_second);
    entry("effective_target_latency_ns", view_.limit_of(LatencyMeasure::end_to_end));
    entry("effective_target_latency_percentile", view_.percentile);
    entry("effective_max_async_queries", std::uint64_t{view_.server ? 0U : 1U});
    entry("effective_target_duration_ms", view_.offline ? std::int64_t{0} : least_ms());
    entry("effective_min_duration_ms", least_ms());
    entry("effective_max_duration_ms", plan.max_duration.count() / 1'000'000);
    entry("effective_min_query_count", view_.min_queries());
    entry("effective_max_query_count", plan.max_queries);
    entry("effective_min_sample_count", view_.offline ? asked_queries() : asked_queries() * view_.samples_per_query());
    common_settings("effective");
  }

  void generated() {
    entry("generated_query_count", view_.queries());
    entry("generated_samples_per_query", view_.samples_per_query());
    entry("generated_query_duration", static_cast<std::int64_t>(issuing_seconds() * 1e9));
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
    if (view_.offline || view_.server) {
      // Empty where nothing was to be shown.
      if (result.limits.empty()) early_stopping("early_stopping_result", "");
    } else {
      early_stopping("early_stopping_result", view_.estimate_words());
    }
    for (const auto& check : result.limits) {
      const bool whole = check.limit.measure == LatencyMeasure::end_to_end;
      const bool first = check.limit.measure == LatencyMeasure::first_token;
      early_stopping(whole   ? "early_stopping_result"
                     : first ? "early_stopping_ttft_result"
                             : "early_stopping_tpot_result",
                     MlperfLogView::words_of(check));
    }
  }

  void early_stopping(std::string_view key, std::string words) {
    std::replace(words.begin(), words.end(), '\n', ' ');
    entry(key, quoted(words));
  }

  void figures() {
    const LoadResult& result = view_.result;
    entry("result_query_count", view_.queries());
    const auto at_most = [](const std::optional<EarlyStoppingEstimate>& estimate) {
      return estimate ? estimate->latency_ns : std::int64_t{0};
    };
    switch (view_.plan.scenario) {
      case Scenario::single_stream:
        entry("result_qps_with_loadgen_overhead", result.completed_per_second);
        entry("result_qps_without_loadgen_overhead", result.end_to_end.mean > 0 ? 1e9 / result.end_to_end.mean : 0);
        entry("early_stopping_latency_ss", at_most(view_.estimate));
        entry("early_stopping_latency_ms", at_most(view_.estimate_99));
        break;
      case Scenario::multi_stream:
        distribution(result.end_to_end, {"min_query_latency_ns", "max_query_latency_ns", "mean_query_latency_ns"},
                     "{}_percentile_per_query_latency_ns");
        entry("early_stopping_latency_ms", at_most(view_.estimate));
        break;
      case Scenario::offline: entry("result_samples_per_second", result.completed_per_second); break;
      default:
        entry("result_overlatency_query_count", view_.over);
        entry("result_scheduled_samples_per_sec", result.scheduled_per_second);
        entry("result_completed_samples_per_sec", result.completed_per_second);
    }
  }

  void latencies() {
    distribution(view_.multi_stream() ? view_.result.per_sample : view_.result.end_to_end,
                 {"min_latency_ns", "max_latency_ns", "mean_latency_ns"}, "{}_percentile_latency_ns");
  }

  void tokens() {
    const LoadResult& result = view_.result;
    if (view_.offline) return entry("result_tokens_per_second", result.output_tokens_per_second);
    distribution(result.first_token,
                 {"first_token_min_latency_ns", "first_token_max_latency_ns", "first_token_mean_latency_ns"},
                 "first_token_{}_percentile_latency_ns");
    const double waited = result.end_to_end.mean * 1e-9 * static_cast<double>(view_.queries());
    entry("result_token_throughput_with_loadgen_overhead",
          issuing_seconds() > 0 ? view_.token_count() / issuing_seconds() : 0);
    entry("result_token_throughput", waited > 0 ? view_.token_count() / waited : 0);
    distribution(result.per_output_token,
                 {"time_to_output_token_min", "time_to_output_token_max", "time_to_output_token_mean"},
                 "time_per_output_token_{}_percentile_ns");
    entry("result_completed_tokens_per_second", result.output_tokens_per_second);
  }

  /// From the end of the warm-up until the last request was sent.
  double issuing_seconds() const {
    const LoadResult& result = view_.result;
    return result.delivered_per_second > 0 ? static_cast<double>(result.measured) / result.delivered_per_second : 0;
  }

  void distribution(const LatencySummary& summary, const std::array<std::string_view, 3>& extremes,
                    std::string_view percentile_key) {
    if (summary.count == 0) return;
    entry(fmt::format("result_{}", extremes[0]), summary.min);
    entry(fmt::format("result_{}", extremes[1]), summary.max);
    entry(fmt::format("result_{}", extremes[2]), whole_ns(summary.mean));
    for (const auto& [percentile, value] : kMlperfPercentiles) {
      entry("result_" + fmt::format(fmt::runtime(percentile_key), percentile), summary.*value);
    }
  }

  const MlperfLogView& view_;
  std::string text_;
  int number_ = 0;
};

}  // namespace

std::string mlperf_detail(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                          const MlperfLogFacts& facts) {
  const MlperfLogView view(plan, rules, result, facts);
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
