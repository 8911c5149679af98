#include <fmt/format.h>

#include <algorithm>

#include "analysis/inference.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct LatencyColumn {
  const char* title;
  const char* metric;
};
constexpr LatencyColumn kLatencyColumns[] = {{"Mean", "mean_latency_seconds"}, {"p50", "latency_p50_seconds"},
                                             {"p90", "latency_p90_seconds"},   {"p95", "latency_p95_seconds"},
                                             {"p99", "latency_p99_seconds"},   {"p99.9", "latency_p99_9_seconds"},
                                             {"Max", "latency_max_seconds"}};

constexpr LatencyColumn kLatenessColumns[] = {{"Mean", "mean_lateness_seconds"},
                                              {"p50", "lateness_p50_seconds"},
                                              {"p90", "lateness_p90_seconds"},
                                              {"p99", "lateness_p99_seconds"},
                                              {"Max", "lateness_max_seconds"}};

bool has_latency(const Run& run) {
  return metric_of(run, "latency_p50_seconds") || metric_of(run, "latency_p99_seconds");
}

FigureTable latency_table(const std::vector<const Run*>& measured) {
  FigureTable table{.id = "latency",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, true},
                                {"verdict", "Verdict", "", Align::left, false},
                                {"samples_per_second", "Samples/s", "", Align::right, false}}};
  for (const auto& column : kLatencyColumns) {
    table.columns.push_back({column.metric, column.title, "", Align::right, false});
  }
  for (const Run* run : measured) {
    std::vector<Figure> cells = {row_label(*run), Figure(std::string(verdict_name(*run)), tone_of(run->verdict)),
                                 rate_figure(metric_of(*run, "samples_per_second"))};
    for (const auto& column : kLatencyColumns) cells.push_back(value_figure(metric_of(*run, column.metric), "s"));
    table.rows.push_back(std::move(cells));
  }
  drop_empty_columns(table);
  return table;
}

/// The client's own part of the latency.
FigureTable lateness_table(const std::vector<const Run*>& measured) {
  FigureTable table{.id = "lateness",
                    .title = "How late the client sent its requests",
                    .columns = {{"run", "Run", "", Align::left, true}}};
  for (const auto& column : kLatenessColumns) {
    table.columns.push_back({column.metric, column.title, "", Align::right, false});
  }
  for (const Run* run : measured) {
    if (!metric_of(*run, "lateness_p99_seconds")) continue;
    std::vector<Figure> cells = {row_label(*run)};
    for (const auto& column : kLatenessColumns) cells.push_back(value_figure(metric_of(*run, column.metric), "s"));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Of runs that left percentiles alone, as imported ones do.
std::optional<ChartBlock> percentile_chart(const std::vector<const Run*>& measured) {
  XyChart chart{.x = {.label = "Latency", .unit = "s"},
                .y = {.label = "Share of samples", .unit = "ratio", .from_zero = true}};
  constexpr std::pair<const char*, double> kShares[] = {{"latency_min_seconds", 0},       {"latency_p50_seconds", 0.5},
                                                        {"latency_p90_seconds", 0.9},     {"latency_p95_seconds", 0.95},
                                                        {"latency_p97_seconds", 0.97},    {"latency_p99_seconds", 0.99},
                                                        {"latency_p99_9_seconds", 0.999}, {"latency_max_seconds", 1}};
  for (const Run* run : measured) {
    ChartSeries line{.name = row_label(*run), .stroke = Stroke::line};
    for (const auto& [metric, share] : kShares) {
      if (const auto value = metric_of(*run, metric))
        line.points.push_back({.x = *value, .y = share, .marked = !usable(*run)});
    }
    if (line.points.size() > 2) chart.series.push_back(std::move(line));
  }
  if (chart.series.empty()) return std::nullopt;
  return ChartBlock{.id = "latency_cdf",
                    .title = "Distribution of latencies",
                    .caption = "Between the percentiles that were recorded, the line is a guide.",
                    .chart = std::move(chart)};
}

ChartSeries distribution_line(std::string name, const TimeDistribution& times) {
  std::vector<double> seconds;
  seconds.reserve(times.quantiles_ns.size());
  for (const auto ns : times.quantiles_ns) seconds.push_back(static_cast<double>(ns) * 1e-9);
  ChartSeries line{.name = std::move(name), .stroke = Stroke::steps};
  for (const auto& point : latency_cdf(seconds)) line.points.push_back({.x = point.value, .y = point.share});
  return line;
}

}  // namespace

std::string row_label(const Run& run) { return run.variant.empty() ? run.name : run.variant; }

std::optional<ChartBlock> distribution_chart(std::span<const Arm> arms, TimeDistribution LoadProfile::* times,
                                             std::string id, std::string what) {
  constexpr std::size_t kMostLines = 8;
  XyChart chart{.x = {.label = what, .unit = "s"}, .y = {.label = "Share", .unit = "ratio", .from_zero = true}};
  std::size_t left_out = 0;
  bool repeats = false;
  for (const auto& arm : arms) {
    const auto& runs = arm.usable.empty() ? arm.others : arm.usable;
    const auto has = [&](const RecordedRun* one) { return one->load && ((*one->load).*times).count > 0; };
    const auto first = std::find_if(runs.begin(), runs.end(), has);
    if (first == runs.end()) continue;
    if (chart.series.size() == kMostLines) {
      ++left_out;
      continue;
    }
    repeats |= runs.size() > 1;
    const std::string name = usable((*first)->run) ? arm.name : arm.name + " (not usable)";
    chart.series.push_back(distribution_line(name, *(*first)->load.*times));
  }
  // Values that are all the same are in the table.
  const auto varies = [](const ChartSeries& line) { return line.points.size() > 1; };
  if (std::none_of(chart.series.begin(), chart.series.end(), varies)) return std::nullopt;
  std::string caption = "From every request that ended well; shares to 0.1 %.";
  if (repeats) caption += " The first run of each configuration.";
  if (left_out > 0) caption += fmt::format(" {} further configurations are not drawn.", left_out);
  return ChartBlock{
      .id = std::move(id), .title = "Distribution: " + what, .caption = std::move(caption), .chart = std::move(chart)};
}

std::optional<Section> latency_section(const Answers& answers) {
  std::vector<const Run*> measured;
  for (const auto& one : answers.input.runs) {
    if (has_latency(one.run)) measured.push_back(&one.run);
  }
  if (measured.empty()) return std::nullopt;
  Section section{.blocks = {latency_table(measured)}};
  auto chart = distribution_chart(answers.arms, &LoadProfile::latency, "latency_cdf", "Latency");
  if (!chart) chart = percentile_chart(measured);
  if (chart) section.blocks.emplace_back(std::move(*chart));
  if (auto lateness = lateness_table(measured); !lateness.rows.empty())
    section.blocks.emplace_back(std::move(lateness));
  return section;
}

}  // namespace assay
