#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

constexpr std::size_t kLongestTrouble = 160;
constexpr std::size_t kMostCurves = 12;

std::string end_of(const Run& run) {
  if (run.signal) return fmt::format("signal {}", *run.signal);
  return run.exit_code ? fmt::format("{}", *run.exit_code) : std::string();
}

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, std::min(text.find('\n'), text.size()));
  return line.size() > kLongestTrouble ? printable(line.substr(0, kLongestTrouble)) + "…" : line;
}

std::string name_of_run(const Run& run) {
  if (run.study.empty() || run.variant.empty()) return run.name;
  return run.repeat > 0 ? fmt::format("{} #{}", run.variant, run.repeat + 1) : run.variant;
}

/// A fact about the machine or software, by name. Empty ones are not shown.
std::vector<std::pair<std::string, std::string>> facts_of(const Provenance& machine) {
  std::vector<std::string> gpus;
  gpus.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) gpus.push_back(gpu.name);
  std::string gpu_text = gpus.empty() ? "" : fmt::format("{} × {}", gpus.size(), gpus.front());
  if (std::set<std::string>(gpus.begin(), gpus.end()).size() > 1) gpu_text = join(gpus, ", ");
  std::vector<std::string> seeds;
  seeds.reserve(machine.seeds.size());
  for (const auto& [purpose, seed] : machine.seeds) seeds.push_back(fmt::format("{} {}", purpose, seed));
  std::string commit = machine.git_commit.substr(0, 12);
  if (machine.git_dirty.value_or(false)) commit += " with local changes";
  return {{"Host", machine.hostname},
          {"GPUs", gpu_text},
          {"GPU driver", machine.gpu_driver},
          {"CPU", machine.cpu_cores > 0 ? fmt::format("{}, {} cores used", machine.cpu_model, machine.cpu_cores)
                                        : machine.cpu_model},
          {"Memory", machine.memory_bytes > 0 ? format_bytes({machine.memory_bytes}) : ""},
          {"CPU governor", machine.cpu_governor},
          {"Operating system", machine.os},
          {"Kernel", machine.kernel},
          {"Python", machine.python_version},
          {"PyTorch", machine.torch_version},
          {"Engine", machine.engine_version},
          {"Assay", machine.assay_version},
          {"Source commit", commit},
          {"Seeds", join(seeds, ", ")}};
}

}  // namespace

Section runs_section(std::span<const RecordedRun> runs) {
  const auto same_name = [&](const RecordedRun& one) { return one.run.name == runs.front().run.name; };
  const auto has_variant = [](const RecordedRun& one) { return !one.run.variant.empty(); };
  const bool variants = std::any_of(runs.begin(), runs.end(), has_variant);
  const bool names = !variants || !std::all_of(runs.begin(), runs.end(), same_name);
  FigureTable table{.id = "runs", .columns = {{"run", "Run", "", Align::left, false}}};
  if (names) table.columns.push_back({"name", "Name", "", Align::left, true});
  if (variants) table.columns.push_back({"configuration", "Configuration", "", Align::left, true});
  const std::vector<FigureColumn> rest = {{"verdict", "Verdict", "", Align::left, false},
                                          {"exit", "Exit", "", Align::right, false},
                                          {"duration_s", "Duration (s)", "", Align::right, false},
                                          {"host", "Host", "", Align::left, false},
                                          {"last_error", "Last error or flag", "", Align::left, true}};
  table.columns.insert(table.columns.end(), rest.begin(), rest.end());
  for (const auto& one : runs) {
    const Run& run = one.run;
    const double seconds = seconds_of(run.duration);
    std::vector<Figure> row = {run.id};
    if (names) row.emplace_back(run.name);
    if (variants) row.emplace_back(run.repeat > 0 ? fmt::format("{} #{}", run.variant, run.repeat + 1) : run.variant);
    row.emplace_back(std::string(verdict_name(run)), tone_of(run.verdict));
    row.emplace_back(end_of(run));
    row.push_back(seconds > 0 ? seconds_figure(seconds) : seconds_figure(metric_of(run, "duration_seconds")));
    row.emplace_back(run.provenance.hostname);
    row.emplace_back(first_line(trouble_of(run)), Tone::muted);
    table.rows.push_back(std::move(row));
  }
  return {.id = "runs", .title = "Runs", .blocks = {std::move(table)}, .in_terminal = runs.size() <= 40};
}

std::optional<Section> settings_section(std::span<const RecordedRun> runs) {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::size_t> count;
  for (const auto& one : runs) {
    for (const auto& [name, value] : settings_of(one.run)) {
      ++count[name];
      auto& seen = values[name];
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
  }
  if (values.empty()) return std::nullopt;
  FactList facts{.id = "settings"};
  constexpr std::size_t kMostShown = 6;
  for (auto& [name, seen] : values) {
    if (count[name] < runs.size()) seen.emplace_back("unset");
    const std::size_t hidden = seen.size() > kMostShown ? seen.size() - kMostShown : 0;
    seen.resize(seen.size() - hidden);
    facts.facts.emplace_back(name, join(seen, " | ") + (hidden > 0 ? fmt::format(" | {} more", hidden) : ""));
  }
  return Section{.id = "settings", .title = "Settings", .blocks = {std::move(facts)}, .in_terminal = runs.size() == 1};
}

std::optional<Section> preflight_section(std::span<const PreflightCheck> checks) {
  if (checks.empty()) return std::nullopt;
  FigureTable table{.id = "preflight",
                    .columns = {{"host", "Host", "", Align::left, false},
                                {"check", "Check", "", Align::left, false},
                                {"level", "Level", "", Align::left, false},
                                {"found", "Found", "", Align::left, true}},
                    .notes = {"Looked at by `assay run` before the first run."}};
  for (const auto& check : checks) {
    const Tone tone = check.level == "problem"   ? Tone::bad
                      : check.level == "warning" ? Tone::warning
                      : check.level == "ok"      ? Tone::good
                                                 : Tone::muted;
    table.rows.push_back({check.host, check.check, Figure(check.level, tone), check.found});
  }
  return Section{.id = "preflight", .title = "Pre-flight", .blocks = {std::move(table)}, .in_terminal = false};
}

std::optional<Section> environment_section(std::span<const RecordedRun> runs) {
  std::map<std::string, std::vector<std::string>> values;
  std::vector<std::string> order;
  for (const auto& one : runs) {
    for (auto& [name, value] : facts_of(one.run.provenance)) {
      if (value.empty()) continue;
      auto& seen = values[name];
      if (seen.empty()) order.push_back(name);
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
  }
  if (order.empty()) return std::nullopt;
  FactList facts{.id = "environment"};
  bool differ = false;
  for (const auto& name : order) {
    auto& seen = values[name];
    constexpr std::size_t kMostShown = 6;
    const std::size_t hidden = seen.size() > kMostShown ? seen.size() - kMostShown : 0;
    seen.resize(seen.size() - hidden);
    facts.facts.emplace_back(name, join(seen, " | ") + (hidden > 0 ? fmt::format(" | {} more", hidden) : ""));
    differ |= seen.size() > 1 && name != "Host" && name != "Seeds";
  }
  Section section{.id = "environment", .title = "Environment", .blocks = {std::move(facts)}, .in_terminal = false};
  if (auto devices = device_table(runs)) section.blocks.emplace_back(std::move(*devices));
  if (differ) {
    section.blocks.emplace_back(Paragraph{
        "The runs did not all have the same environment: values that differ are separated by |.", Tone::warning});
  }
  return section;
}

std::optional<ChartBlock> curve_chart(std::span<const Arm> arms, const std::string& metric) {
  const auto* info = find_metric(metric);
  XyChart chart{.x = {.label = "Step"}, .y = {.label = metric, .unit = std::string(info ? info->unit : "")}};
  for (const auto& arm : arms) {
    if (chart.series.size() == kMostCurves) break;
    const RecordedRun& one = *(arm.usable.empty() ? arm.others : arm.usable).front();
    const auto series = std::find_if(one.series.begin(), one.series.end(),
                                     [&](const auto& candidate) { return candidate.key.name == metric; });
    if (series == one.series.end() || series->points.size() < 2) continue;
    const bool by_time = series->points.front().step == kNoStep;
    if (by_time) chart.x = {.label = "Time", .unit = "s"};
    ChartSeries line{.name = arm.name};
    for (const auto& point : series->points) {
      const double seconds = static_cast<double>(point.time_ns - series->points.front().time_ns) / 1e9;
      line.points.push_back(
          {.x = by_time ? seconds : static_cast<double>(point.step), .y = point.value, .marked = !usable(one.run)});
    }
    if (!usable(one.run)) line.name += fmt::format(" ({})", verdict_name(one.run));
    chart.series.push_back(std::move(line));
  }
  if (chart.series.empty()) return std::nullopt;
  return ChartBlock{.id = "curve_" + metric, .title = metric, .chart = std::move(chart)};
}

std::optional<Section> curves_section(std::span<const Arm> arms) {
  Section section{.id = "curves", .title = "Curves", .in_terminal = false};
  std::vector<std::string> metrics = {"loss", "val_loss", "val_accuracy", "perplexity", "step_seconds"};
  // Whatever else a program reported of its validation data, by its own name.
  constexpr std::size_t kMostCharts = 10;
  for (const auto& arm : arms) {
    for (const auto* one : arm.usable) {
      for (const auto& series : one->series) {
        const auto& name = series.key.name;
        const bool known = std::find(metrics.begin(), metrics.end(), name) != metrics.end();
        if (!known && !name.starts_with("epoch.") && is_validation(name) && metrics.size() < kMostCharts)
          metrics.push_back(name);
      }
    }
  }
  for (const auto& metric : metrics) {
    auto chart = curve_chart(arms, metric);
    // Imported logs have a value per epoch.
    if (!chart) chart = curve_chart(arms, "epoch." + metric);
    if (chart) section.blocks.emplace_back(std::move(*chart));
  }
  if (section.blocks.empty()) return std::nullopt;
  if (arms.size() > kMostCurves) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("The first {} of {} configurations are drawn.", kMostCurves, arms.size()), Tone::muted});
  }
  return section;
}

std::optional<Section> tokens_section(std::span<const Arm> arms) {
  FigureTable table{.id = "tokens",
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"tokens_per_second", "Tokens/s", "", Align::right, false},
                                {"tokens_per_sample", "Tokens/sample", "", Align::right, false},
                                {"input_tokens", "In", "", Align::right, false},
                                {"output_tokens", "Out", "", Align::right, false},
                                {"tokens_done", "Tokens done", "", Align::right, false},
                                {"mfu_percent", "MFU", " %", Align::right, false}}};
  const auto mean_metric = [](const Arm& arm, std::string_view name) {
    const auto values = values_of(arm.usable, name);
    return values.empty() ? std::nullopt : std::optional(mean(values));
  };
  for (const auto& arm : arms) {
    if (!arm.has_result()) continue;
    const auto rate = mean_metric(arm, "tokens_per_second");
    const auto out = mean_metric(arm, "mean_output_tokens");
    if (!rate && !out) continue;
    const auto in = mean_metric(arm, "mean_input_tokens");
    std::optional<double> per_sample = tokens_per_sample(arm.any());
    if (in && out) per_sample = *in + *out;
    table.rows.push_back({arm.name, token_rate_figure(rate),
                          fixed_figure(per_sample, per_sample && *per_sample < 100 ? 1 : 0), fixed_figure(in, 1),
                          fixed_figure(out, 1), count_figure(mean_metric(arm, "tokens_done")),
                          percent_figure(mean_metric(arm, "mfu"))});
  }
  if (table.rows.empty()) return std::nullopt;
  return Section{.id = "tokens", .title = "Tokens", .blocks = {std::move(table)}, .in_terminal = false};
}

std::optional<Section> resources_section(std::span<const RecordedRun> runs) {
  constexpr const char* kShown[] = {"gpu.util",          "gpu.memory_used_bytes", "gpu.temperature_c",
                                    "gpu.power_w",       "gpu.sm_clock_mhz",      "host.cpu_util",
                                    "workload.cpu_util", "workload.rss_bytes",    "host.memory_used_bytes"};
  FigureTable table{.id = "resources",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, false}, {"name", "Name", "", Align::left, true}},
                    .notes = {"Mean over the run; in brackets the highest value."}};
  std::vector<std::string> shown;
  for (const auto* name : kShown) {
    const bool any =
        std::any_of(runs.begin(), runs.end(), [&](const auto& one) { return summary_of(one.run, name) != nullptr; });
    if (!any) continue;
    shown.emplace_back(name);
    table.columns.push_back({name, name, "", Align::right, false});
  }
  if (shown.empty()) return std::nullopt;
  for (const auto& one : runs) {
    std::vector<Figure> row = {one.run.id, name_of_run(one.run)};
    for (const auto& name : shown) {
      const auto average = mean_of_series(one.run, name);
      const auto highest = highest_of_series(one.run, name).value_or(average.value_or(0));
      const auto* info = find_metric(name);
      const std::string_view unit = info ? info->unit : std::string_view{};
      if (!average) {
        row.emplace_back();
        continue;
      }
      row.emplace_back(fmt::format("{} ({})", format_value(*average, unit), format_value(highest, unit)), *average);
      row.back().parts = {{"max", highest}};
    }
    table.rows.push_back(std::move(row));
  }
  return Section{.id = "resources", .title = "Resources", .blocks = {std::move(table)}, .in_terminal = false};
}

}  // namespace assay
