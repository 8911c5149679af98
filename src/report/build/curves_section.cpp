#include <fmt/format.h>

#include <algorithm>

#include "model/metric.h"
#include "report/build/goals.h"
#include "report/build/sections.h"

namespace assay {
namespace {

constexpr std::size_t kMostCurves = 12;

}  // namespace

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

std::optional<Section> curves_over(std::span<const Arm> arms) {
  Section section{.in_terminal = false};
  const auto drawn = metrics_shown(&MetricInfo::Places::curve);
  std::vector<std::string> metrics(drawn.begin(), drawn.end());
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

std::optional<Section> curves_section(const Answers& answers) { return curves_over(answers.arms); }

}  // namespace assay
