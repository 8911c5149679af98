#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/inference.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

constexpr std::string_view kPlainLatency = "latency_p99_seconds";

/// One line of the chart: loads that differ in their weight alone.
struct LoadSweep {
  std::string name;
  std::vector<LoadPoint> points;
  std::vector<const Arm*> arms;  ///< of each point; empty for the probes of a search
  LoadCurve curve;
};

/// Loads of several weights, and how their latency is measured.
struct LoadSweeps {
  LoadKind kind = LoadKind::by_rate;
  std::string metric = std::string(kPlainLatency);
  std::optional<double> limit;  ///< of `metric`, where all have the same
  std::vector<LoadSweep> sweeps;
};

std::optional<double> number_at(const Run& run, std::string_view key) {
  const auto* value = run.spec.if_contains(key);
  return value != nullptr && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
}

/// "ttft_p99" → "ttft_p99_seconds", "e2e_p99.9" → "latency_p99_9_seconds"
std::string metric_of_limit(std::string_view limit) {
  std::string name(limit);
  if (name.starts_with("e2e_")) name = "latency_" + name.substr(4);
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_seconds";
}

/// The limits of a load by the metrics that they are about.
std::map<std::string, double> limits_of(const Run& run) {
  std::map<std::string, double> limits;
  const auto* group = run.spec.if_contains("limits");
  if (group == nullptr || !group->is_object()) return limits;
  for (const auto& [name, at_most] : group->get_object()) {
    if (at_most.is_number()) limits[metric_of_limit(name)] = at_most.to_number<double>();
  }
  return limits;
}

/// Measured as it was asked for. That a limit was missed makes a run invalid, and is what a load curve is there to
/// show.
bool load_was_measured(const Run& run) {
  const auto by_limit = [](const Flag& flag) { return flag.kind == "limit_missed" || flag.kind == "limit_not_shown"; };
  const auto otherwise = [&](const Flag& flag) { return invalidates(flag) && !by_limit(flag); };
  return usable(run) || (run.verdict == Verdict::invalid && std::any_of(run.flags.begin(), run.flags.end(), by_limit) &&
                         std::none_of(run.flags.begin(), run.flags.end(), otherwise));
}

/// The measured ones; where there is none, those that may not be used: they are drawn, and marked.
std::vector<const RecordedRun*> shown_runs(const Arm& arm) {
  auto runs = arm.usable;
  for (const auto* one : arm.others) {
    if (load_was_measured(one->run)) runs.push_back(one);
  }
  return runs.empty() ? arm.others : runs;
}

bool load_was_measured(const Arm& arm) { return load_was_measured(shown_runs(arm).front()->run); }

std::optional<double> shown_mean(const Arm& arm, std::string_view metric) {
  const auto values = values_of(shown_runs(arm), metric);
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

bool keeps_limits(const Arm& arm) {
  const auto limits = limits_of(arm.any());
  return std::all_of(limits.begin(), limits.end(), [&](const auto& limit) {
    const auto value = shown_mean(arm, limit.first);
    return !value || *value <= limit.second;
  });
}

/// Which setting makes these loads heavier; none where they are all alike.
std::optional<LoadKind> swept_setting(std::span<const Arm> arms) {
  std::set<double> rates;
  std::set<double> concurrencies;
  for (const auto& arm : arms) {
    if (arm.any().kind != "serve") continue;
    if (const auto rate = number_at(arm.any(), "rate")) rates.insert(*rate);
    if (const auto under_way = number_at(arm.any(), "concurrency")) concurrencies.insert(*under_way);
  }
  if (rates.size() > 1) return LoadKind::by_rate;
  return concurrencies.size() > 1 ? std::optional(LoadKind::by_concurrency) : std::nullopt;
}

/// What else a load is, beside its weight: loads that share it make one line.
std::map<std::string, std::string> beside_weight(const Run& run) {
  auto settings = settings_beside_size(run);
  for (const char* weight : {"rate", "concurrency", "samples", "min_duration"}) settings.erase(weight);
  return settings;
}

/// "model.name=a, target.slots=8": the settings in which the lines differ.
void name_sweeps(std::vector<LoadSweep>& sweeps) {
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& sweep : sweeps) {
    for (const auto& [key, value] : beside_weight(sweep.arms.front()->any())) seen[key].insert(value);
  }
  for (auto& sweep : sweeps) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : beside_weight(sweep.arms.front()->any())) {
      if (seen[key].size() > 1) parts.push_back(fmt::format("{}={}", key, value));
    }
    sweep.name = parts.empty() ? sweep.arms.front()->any().name : join(parts, ", ");
  }
}

std::optional<LoadSweeps> sweeps_of_study(std::span<const Arm> arms) {
  const auto kind = swept_setting(arms);
  if (!kind) return std::nullopt;
  LoadSweeps all{.kind = *kind};
  std::set<std::map<std::string, double>> limits;
  for (const auto& arm : arms) {
    if (arm.any().kind == "serve") limits.insert(limits_of(arm.any()));
  }
  // The latency that is limited is the one that counts; where loads have different limits there is none of them all.
  if (limits.size() == 1 && !limits.begin()->empty()) {
    all.metric = limits.begin()->begin()->first;
    all.limit = limits.begin()->begin()->second;
  }
  std::map<std::map<std::string, std::string>, std::size_t> place;
  for (const auto& arm : arms) {
    const auto offered = number_at(arm.any(), *kind == LoadKind::by_rate ? "rate" : "concurrency");
    const auto completed = shown_mean(arm, "samples_per_second");
    const auto latency = shown_mean(arm, all.metric);
    if (arm.any().kind != "serve" || !offered || !completed || !latency) continue;
    const auto [known, added] = place.emplace(beside_weight(arm.any()), all.sweeps.size());
    if (added) all.sweeps.emplace_back();
    LoadSweep& sweep = all.sweeps[known->second];
    sweep.points.push_back({*offered, *completed, *latency, keeps_limits(arm), load_was_measured(arm)});
    sweep.arms.push_back(&arm);
  }
  std::erase_if(all.sweeps, [](const LoadSweep& sweep) { return sweep.points.size() < 2; });
  if (all.sweeps.empty()) return std::nullopt;
  name_sweeps(all.sweeps);
  return all;
}

/// What searches for the highest rate probed.
std::optional<LoadSweeps> sweeps_of_searches(std::span<const RecordedRun> runs) {
  LoadSweeps all;
  for (const auto& one : runs) {
    if (!one.load || one.load->probes.size() < 2) continue;
    LoadSweep sweep{.name = row_label(one.run)};
    for (const auto& probe : one.load->probes) {
      if (probe.latency_p99_s)
        sweep.points.push_back(
            {probe.offered, probe.completed, *probe.latency_p99_s, probe.kept, !probe.client_limited});
    }
    if (sweep.points.size() > 1) all.sweeps.push_back(std::move(sweep));
  }
  return all.sweeps.empty() ? std::nullopt : std::optional(std::move(all));
}

/// "latency_p99_seconds" → "Latency p99"
std::string title_of(std::string_view metric) {
  std::string text(metric.substr(0, metric.size() - std::string_view("_seconds").size()));
  const auto split = text.find("_p");
  const std::string measure = text.substr(0, split);
  std::string percentile = split == std::string::npos ? "" : text.substr(split + 1);
  std::replace(percentile.begin(), percentile.end(), '_', '.');
  if (measure == "latency") return "Latency " + percentile;
  std::string upper = measure;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return upper + " " + percentile;
}

Figure remark_of(const LoadSweep& sweep, std::size_t index) {
  const LoadCurve& curve = sweep.curve;
  const LoadPoint& point = curve.points[index];
  if (!point.valid) return {"not usable", Tone::bad};
  if (curve.saturated[index]) return {"saturated", Tone::warning};
  if (!point.within_limits) return {"beyond a limit", Tone::warning};
  if (curve.best == index) return {curve.first_bad ? "knee" : "most that was tried", Tone::good};
  return {};
}

FigureTable curve_table(const LoadSweeps& all) {
  const bool by_rate = all.kind == LoadKind::by_rate;
  FigureTable table{.id = "load_curve",
                    .title = "",
                    .columns = {{"curve", "Load", "", Align::left, true},
                                {"offered", by_rate ? "Offered/s" : "Under way", "", Align::right, false},
                                {"completed_per_second", "Completed/s", "", Align::right, false},
                                {all.metric, title_of(all.metric), "", Align::right, false},
                                {"remark", "Remark", "", Align::left, false}}};
  for (const auto& sweep : all.sweeps) {
    for (std::size_t i = 0; i < sweep.curve.points.size(); ++i) {
      const LoadPoint& point = sweep.curve.points[i];
      table.rows.push_back({sweep.name, by_rate ? rate_figure(point.offered) : count_figure(point.offered),
                            rate_figure(point.completed), value_figure(point.latency, "s"), remark_of(sweep, i)});
    }
  }
  table.notes.push_back(by_rate ? "Saturated: completed less than 95 % of what was offered."
                                : "Saturated: with fewer requests under way at least 95 % as many were completed.");
  table.notes.push_back("Knee: the most that was completed, not saturated and within every limit.");
  return table;
}

ChartBlock curve_chart_of(const LoadSweeps& all) {
  XyChart chart{.x = {.label = "Completed", .unit = "1/s", .from_zero = true},
                .y = {.label = title_of(all.metric), .unit = "s"}};
  double least = INFINITY;
  double most = 0;
  ChartSeries knees{.name = "knee", .stroke = Stroke::points};
  for (const auto& sweep : all.sweeps) {
    // Beyond its knee a server completes less, and later.
    ChartSeries line{.name = sweep.name, .stroke = Stroke::line, .turns_back = true};
    for (const auto& point : sweep.curve.points) {
      line.points.push_back({.x = point.completed, .y = point.latency, .marked = !point.valid});
      least = std::min(least, point.latency);
      most = std::max(most, point.latency);
    }
    chart.series.push_back(std::move(line));
    if (sweep.curve.best && sweep.curve.first_bad) {
      const LoadPoint& knee = sweep.curve.points[*sweep.curve.best];
      knees.points.push_back({.x = knee.completed, .y = knee.latency});
    }
  }
  // A server that no longer keeps up is slower by powers of ten, beside which all else would be a flat line.
  constexpr double kWide = 20;
  chart.y.logarithmic = least > 0 && most > kWide * least;
  if (all.limit) chart.references.push_back({"limit", *all.limit});
  if (!knees.points.empty()) {
    std::sort(knees.points.begin(), knees.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    chart.series.push_back(std::move(knees));
  }
  return {.id = "load_curve_chart",
          .title = "Throughput against latency",
          .caption = "Each line goes from the lightest load to the heaviest. Hollow: not usable.",
          .chart = std::move(chart)};
}

}  // namespace

std::optional<Section> load_curve_section(const Answers& answers) {
  auto all = sweeps_of_study(answers.arms);
  if (!all) all = sweeps_of_searches(answers.input.runs);
  if (!all) return std::nullopt;
  for (auto& sweep : all->sweeps) sweep.curve = load_curve(sweep.points, all->kind);
  return Section{.blocks = {curve_table(*all), curve_chart_of(*all)}};
}

}  // namespace assay
