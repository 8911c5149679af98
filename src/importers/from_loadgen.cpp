#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/files.h"
#include "importers/draft_study.h"
#include "model/metric.h"

namespace assay {
namespace {

constexpr double kNanosPerSecond = 1e9;

/// LoadGen's names for what our specifications call a scenario.
std::string scenario_name(std::string_view written) {
  constexpr std::array kNames = {std::pair{"Server", "server"}, std::pair{"Offline", "offline"},
                                 std::pair{"SingleStream", "single_stream"}, std::pair{"MultiStream", "multi_stream"}};
  const auto found =
      std::find_if(kNames.begin(), kNames.end(), [&](const auto& name) { return name.first == written; });
  return found == kNames.end() ? std::string(written) : found->second;
}

/// Only those that docs/reference/metrics.md names: LoadGen writes more percentiles than anybody reads.
void put_latency(Run& run, const std::string& name, std::optional<double> nanoseconds) {
  if (nanoseconds && find_metric(name)) put_metric(run, name, *nanoseconds / kNanosPerSecond);
}

void put_latencies(Run& run, std::string_view what, const LatencyFigures& figures) {
  put_latency(run, fmt::format("mean_{}_seconds", what), figures.mean);
  put_latency(run, fmt::format("{}_min_seconds", what), figures.min);
  put_latency(run, fmt::format("{}_max_seconds", what), figures.max);
  for (const auto& [percentile, value] : figures.percentiles) {
    std::string name = fmt::format("{}", percentile);
    std::replace(name.begin(), name.end(), '.', '_');
    put_latency(run, fmt::format("{}_p{}_seconds", what, name), value);
  }
}

void put_result_settings(Run& run, const LoadgenResult& result) {
  json::object& spec = run.spec;
  if (!result.scenario.empty()) spec["scenario"] = scenario_name(result.scenario);
  if (result.target_qps) spec["rate"] = *result.target_qps;
  if (result.min_duration_ms) spec["min_duration"] = *result.min_duration_ms / 1000;
  put_setting(spec, "samples", result.min_queries);
  std::map<std::string, std::string, std::less<>> others = result.parameters;
  for (const auto* known : {"target_qps", "min_duration (ms)", "min_query_count"}) others.erase(known);
  if (!result.mode.empty()) others["mode"] = result.mode;
  if (!result.version.empty()) others["loadgen_version"] = result.version;
  if (!result.sut_name.empty()) others["sut_name"] = result.sut_name;
  put_settings(spec, others);
}

DraftRun run_from(const LoadgenResult& result) {
  const std::string folder = fs::path(result.folder).filename().string();
  const std::string name = !folder.empty() ? folder : !result.sut_name.empty() ? result.sut_name : "LoadGen";
  DraftRun draft = draft_run(ImportFormat::loadgen, "serve", name);
  Run& run = draft.run();
  put_result_settings(run, result);
  put_metric(run, "samples_per_second",
             result.completed_samples_per_second ? result.completed_samples_per_second : result.samples_per_second);
  put_metric(run, "scheduled_samples_per_second", result.scheduled_samples_per_second);
  put_metric(run, "tokens_per_second", result.tokens_per_second);
  if (result.queries) {
    put_metric(run, "samples_done",
               static_cast<double>(*result.queries) * static_cast<double>(result.samples_per_query.value_or(1)));
  }
  put_latencies(run, "latency", result.latency);
  put_latencies(run, "ttft", result.first_token);
  put_latencies(run, "tpot", result.per_output_token);
  if (const auto time = parse_iso8601(result.time)) run.started = *time;
  draft.figures_unusable = result.validity == LoadgenValidity::invalid;
  return draft;
}

/// The scenario; where several results have the same, the folder as well: LoadGen's files do not tell repeats from
/// other settings.
std::string variant_of(const LoadgenResult& result, const std::vector<LoadgenResult>& all) {
  const auto same =
      std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.scenario == result.scenario; });
  const std::string scenario = result.scenario.empty() ? "LoadGen" : scenario_name(result.scenario);
  return same > 1 ? fmt::format("{}, {}", scenario, result.folder) : scenario;
}

}  // namespace

ImportedStudy study_from_loadgen(const LoadgenImport& import) {
  DraftStudy draft;
  for (const auto& result : import.results) {
    draft.runs.push_back(run_from(result));
    draft.runs.back().run().variant = variant_of(result, import.results);
  }
  for (const auto& flag : import.flags) {
    // Flags name the folder, or the scenario where there is none; then there is but one result.
    const auto found = std::find_if(import.results.begin(), import.results.end(), [&](const LoadgenResult& result) {
      return result.folder == flag.about || (result.folder.empty() && flag.kind != "unreadable");
    });
    auto& flags = found == import.results.end()
                      ? draft.flags
                      : draft.runs[static_cast<std::size_t>(found - import.results.begin())].run().flags;
    flags.push_back(flag);
  }
  settle_variants(draft);
  return finish_study(std::move(draft));
}

}  // namespace assay
