#include "report/chart/sample_charts_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text/hostile_text_fixture.h"

namespace assay {
namespace {

ChartBlock speedup_chart() {
  XyChart chart;
  chart.x = {.label = "GPUs", .unit = "", .logarithmic = true};
  chart.y = {.label = "Speed-up", .unit = "×", .logarithmic = true};
  ChartSeries measured{.name = "measured", .stroke = Stroke::line, .points = {}};
  for (const auto& [n, s] : {std::pair(1.0, 1.0), {2.0, 1.94}, {4.0, 3.79}, {8.0, 7.1}, {16.0, 12.6}, {32.0, 20.9}})
    measured.points.push_back({n, s, std::pair(s * 0.97, s * 1.03), n == 16});
  chart.series = {measured,
                  {.name = "ideal", .stroke = Stroke::dashed, .points = {{1, 1}, {32, 32}}},
                  {.name = "Amdahl fit, serial share 1.6 %",
                   .stroke = Stroke::dashed,
                   .points = {{1, 1}, {2, 1.97}, {4, 3.82}, {8, 7.2}, {16, 12.9}, {32, 21.4}}}};
  return {.id = "speedup",
          .title = "Speed-up against one GPU",
          .caption = "Whiskers: 95 % interval over 5 runs.",
          .chart = chart};
}

ChartBlock efficiency_chart() {
  XyChart chart;
  chart.x = {.label = "GPUs", .unit = "", .logarithmic = true};
  chart.y = {.label = "Efficiency", .unit = "ratio", .from_zero = true};
  ChartSeries weak{.name = "weak scaling",
                   .stroke = Stroke::line,
                   .points = {{1, 1}, {2, 0.985}, {4, 0.97}, {8, 0.952}, {16, 0.91}, {32, 0.87}}};
  ChartSeries strong{.name = "strong scaling",
                     .stroke = Stroke::line,
                     .points = {{1, 1}, {2, 0.97}, {4, 0.948}, {8, 0.888}, {16, 0.788}, {32, 0.653}}};
  ChartSeries expected{.name = "expected range", .stroke = Stroke::expected_range, .points = {}};
  for (const auto& [n, e] : {std::pair(1.0, 1.0), {2.0, 0.97}, {4.0, 0.94}, {8.0, 0.9}, {16.0, 0.84}, {32.0, 0.76}})
    expected.points.push_back({n, 0, std::pair(e - 0.06, std::min(e + 0.06, 1.0)), false});
  chart.series = {expected, weak, strong};
  chart.references = {{"75 %", 0.75}};
  return {.id = "efficiency", .title = "Scaling efficiency", .caption = "", .chart = chart};
}

ChartBlock loss_chart() {
  XyChart chart;
  chart.x = {.label = "Step", .unit = ""};
  chart.y = {.label = "Loss", .unit = ""};
  for (int s = 0; s < 3; ++s) {
    ChartSeries series{.name = fmt::format("seed {}", s), .stroke = Stroke::line, .points = {}};
    for (int i = 0; i <= 5000; ++i)
      series.points.push_back({i * 1.0, 2.1 + 5.0 * std::exp(-i / (700.0 + 160 * s)) +
                                            0.12 * std::sin(i * (0.7 + s)) * std::exp(-i / 3000.0)});
    chart.series.push_back(std::move(series));
  }
  return {.id = "loss", .title = "Training loss", .caption = "Three seeds, 5,001 steps each.", .chart = chart};
}

ChartBlock latency_chart() {
  XyChart chart;
  chart.x = {.label = "Time to first token", .unit = "s", .logarithmic = true};
  chart.y = {.label = "Requests", .unit = "ratio", .from_zero = true};
  for (const double load : {4.0, 8.0, 12.0}) {
    ChartSeries series{.name = fmt::format("{} requests/s", load), .stroke = Stroke::steps, .points = {}};
    for (int i = 1; i <= 300; ++i) {
      const double p = i / 301.0;
      series.points.push_back({0.03 * (1 + load / 10) * std::pow(p / (1 - p), 0.16 + load / 60), i / 300.0});
    }
    chart.series.push_back(std::move(series));
  }
  chart.references = {{"p95", 0.95}};
  return {
      .id = "latency", .title = "Time to first token, cumulative", .caption = "", .chart = chart, .in_terminal = false};
}

ChartBlock roofline_chart() {
  XyChart chart;
  chart.x = {.label = "Arithmetic intensity", .unit = "FLOP/B", .logarithmic = true};
  chart.y = {.label = "Performance", .unit = "FLOP/s", .logarithmic = true};
  ChartSeries roof{.name = "HBM 4.8 TB/s", .stroke = Stroke::dashed, .points = {{0.1, 4.8e11}, {206, 9.89e14}}};
  ChartSeries peak{
      .name = "BF16 peak 989 TFLOP/s", .stroke = Stroke::dashed, .points = {{206, 9.89e14}, {10000, 9.89e14}}};
  ChartSeries kernels{
      .name = "kernels",
      .stroke = Stroke::points,
      .points = {{0.25, 9.1e11}, {1.9, 6.2e12}, {38, 1.1e14}, {410, 6.9e14}, {2100, 7.4e14, std::nullopt, true}}};
  chart.series = {roof, peak, kernels};
  return {.id = "roofline", .title = "Roofline, H200", .caption = "", .chart = chart, .in_terminal = false};
}

ChartBlock node_chart() {
  BarChart chart;
  chart.value = {.label = "Throughput", .unit = "samples/s", .from_zero = true};
  for (int i = 1; i <= 12; ++i) {
    Bar bar{.name = fmt::format("gpu{:02}", i), .value = 1380 + 9 * std::sin(i * 1.7), .range = {}, .marked = i == 7};
    if (i == 7) bar.value = 1204;
    if (i == 10) bar.value = std::nullopt;
    if (bar.value) bar.range = std::pair(*bar.value - 14, *bar.value + 14);
    chart.bars.push_back(bar);
  }
  chart.references = {{"median of the fleet", 1381}};
  chart.band = std::pair(1312.0, 1450.0);
  return {.id = "nodes", .title = "Throughput by node", .caption = "Shaded: 5 % around the median.", .chart = chart};
}

ChartBlock precision_chart() {
  BarChart chart;
  chart.value = {.label = "Peak memory", .unit = "B", .from_zero = true};
  chart.bars = {{"fp32", 61.2e9, {}, false},
                {"tf32", 61.2e9, {}, false},
                {"fp16", 38.9e9, {}, false},
                {"bf16", 38.7e9, std::pair(37e9, 40e9), false},
                {"fp8", std::nullopt, {}, false}};
  return {.id = "memory", .title = "Peak memory by precision", .caption = "", .chart = chart, .in_terminal = false};
}

ChartBlock latency_heat_chart() {
  HeatChart chart{.row_label = "Batch size",
                  .column_label = "Requests per second",
                  .unit = "s",
                  .rows = {"1", "4", "16", "64"},
                  .columns = {"1", "2", "4", "8", "16", "32"},
                  .cells = {}};
  for (int r = 0; r < 4; ++r) {
    std::vector<std::optional<double>> row;
    row.reserve(6);
    for (int c = 0; c < 6; ++c)
      row.emplace_back(r + c > 7 ? std::optional<double>() : 0.021 * (1 + r * 0.8) * (1 + c * c * 0.35));
    chart.cells.push_back(row);
  }
  return {.id = "heat", .title = "p95 latency by batch size and load", .caption = "", .chart = chart};
}

}  // namespace

std::vector<ChartBlock> sample_charts() {
  return {speedup_chart(), efficiency_chart(), node_chart(),         precision_chart(),
          loss_chart(),    latency_chart(),    latency_heat_chart(), roofline_chart()};
}

ChartBlock sample_chart(std::string_view id) {
  const auto charts = sample_charts();
  return *std::find_if(charts.begin(), charts.end(), [&](const ChartBlock& chart) { return chart.id == id; });
}

std::vector<ChartBlock> hostile_charts() {
  const std::string evil = hostile_text();
  XyChart xy{.x = {evil, evil},
             .y = {evil, evil, true},
             .series = {{evil, Stroke::line, {{1, 1}, {2, -3}, {3, 4, std::pair(1.0, 5.0), true}}},
                        {evil, Stroke::points, {{1, 2}}}},
             .references = {{evil, 2}, {"<b>", 3}}};
  BarChart bars{.value = {evil, evil},
                .bars = {{evil, 2.0, {}, true}, {"<i>", std::nullopt, {}, false}},
                .references = {{evil, 1}},
                .band = {}};
  HeatChart heat{evil, evil, evil, {evil, "<r>"}, {evil, "<c>"}, {{1.0, std::nullopt}, {2.0}}};
  return {{evil, evil, evil, xy}, {evil, evil, evil, bars}, {evil, evil, evil, heat}};
}

}  // namespace assay
