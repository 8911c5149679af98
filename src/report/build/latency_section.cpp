#include <algorithm>

#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> latency_section(const Answers& answers) {
  struct Row {
    const char* title;
    const char* metric;
  };
  constexpr Row kRows[] = {
      {"Mean", "mean_latency_seconds"}, {"p50", "latency_p50_seconds"},   {"p90", "latency_p90_seconds"},
      {"p95", "latency_p95_seconds"},   {"p99", "latency_p99_seconds"},   {"p99.9", "latency_p99_9_seconds"},
      {"Max", "latency_max_seconds"},   {"TTFT p50", "ttft_p50_seconds"}, {"TTFT p99", "ttft_p99_seconds"},
      {"TPOT p50", "tpot_p50_seconds"}, {"TPOT p99", "tpot_p99_seconds"}};
  std::vector<const Run*> measured;
  for (const auto& one : answers.input.runs) {
    if (metric_of(one.run, "latency_p50_seconds") || metric_of(one.run, "latency_p99_seconds"))
      measured.push_back(&one.run);
  }
  if (measured.empty()) return std::nullopt;
  FigureTable table{.id = "latency",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, true},
                                {"verdict", "Verdict", "", Align::left, false},
                                {"samples_per_second", "Samples/s", "", Align::right, false}}};
  std::vector<const Row*> shown;
  for (const auto& row : kRows) {
    if (std::none_of(measured.begin(), measured.end(),
                     [&](const Run* run) { return metric_of(*run, row.metric).has_value(); }))
      continue;
    shown.push_back(&row);
    table.columns.push_back({row.metric, row.title, "", Align::right, false});
  }
  XyChart chart{.x = {.label = "Latency", .unit = "s"},
                .y = {.label = "Share of samples", .unit = "ratio", .from_zero = true}};
  for (const Run* run : measured) {
    std::vector<Figure> cells = {run->name, Figure(std::string(verdict_name(*run)), tone_of(run->verdict)),
                                 rate_figure(metric_of(*run, "samples_per_second"))};
    for (const Row* row : shown) cells.push_back(value_figure(metric_of(*run, row->metric), "s"));
    table.rows.push_back(std::move(cells));
    ChartSeries line{.name = run->name, .stroke = Stroke::line};
    const std::pair<const char*, double> shares[] = {{"latency_min_seconds", 0},       {"latency_p50_seconds", 0.5},
                                                     {"latency_p90_seconds", 0.9},     {"latency_p95_seconds", 0.95},
                                                     {"latency_p97_seconds", 0.97},    {"latency_p99_seconds", 0.99},
                                                     {"latency_p99_9_seconds", 0.999}, {"latency_max_seconds", 1}};
    for (const auto& [metric, share] : shares) {
      if (const auto value = metric_of(*run, metric))
        line.points.push_back({.x = *value, .y = share, .marked = !usable(*run)});
    }
    if (line.points.size() > 2) chart.series.push_back(std::move(line));
  }
  Section section{.blocks = {std::move(table)}};
  if (!chart.series.empty()) {
    section.blocks.emplace_back(
        ChartBlock{.id = "latency_cdf",
                   .title = "Distribution of latencies",
                   .caption = "Between the percentiles that were recorded, the line is a guide.",
                   .chart = std::move(chart)});
  }
  return section;
}

}  // namespace assay
