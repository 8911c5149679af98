#include "report/sample_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/files.h"
#include "base/json.h"
#include "report/render.h"
#include "report/svg.h"
#include "report/text_chart.h"

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

ChartBlock heat_chart() {
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

FigureTable scaling_table() {
  FigureTable table;
  table.id = "scaling";
  table.title = "Strong scaling, ResNet-50, global batch 2,048";
  table.columns = {{"gpus", "GPUs", "", Align::right},
                   {"samples_per_second", "Throughput", " samples/s", Align::right},
                   {"interval_percent", "95 % interval", " %", Align::right},
                   {"speedup", "Speed-up", "×", Align::right},
                   {"efficiency_percent", "Efficiency", " %", Align::right},
                   {"verdict", "Verdict", "", Align::left, true}};
  const auto add = [&](const char* gpus, double value, const char* rate, const char* interval, const char* speedup,
                       const char* efficiency, Tone tone, const char* verdict) {
    table.rows.push_back({Figure(gpus), Figure(rate, value), Figure(interval), Figure(speedup),
                          Figure(efficiency, tone), Figure(verdict)});
  };
  add("1", 1379.123456, "1,379", "±0.6", "1.00", "100", Tone::plain, "baseline");
  add("2", 2675.5, "2,676", "±0.8", "1.94", "97.0", Tone::good, "good");
  add("4", 5226.2, "5,226", "±1.1", "3.79", "94.8", Tone::good, "good");
  add("8", 9790.4, "9,790", "±1.0", "7.10", "88.8", Tone::good, "good");
  add("16", 17376.0, "17,376", "±2.9", "12.6", "78.8", Tone::warning, "noisy: one run of five was throttled");
  add("32", 28821.0, "28,821", "±1.4", "20.9", "65.3", Tone::bad, "below 75 %");
  table.rows.push_back(
      {Figure("64"), Figure(), Figure(), Figure(), Figure(), Figure("not run: out of nodes", Tone::muted)});
  table.rows[1][1].value = std::numeric_limits<double>::quiet_NaN();
  table.notes = {"Efficiency is the speed-up divided by the number of GPUs; the baseline is measured, not assumed.",
                 "Five runs per configuration, in seeded random order."};
  return table;
}

FindingList findings() {
  return {
      .id = "issues",
      .findings =
          {{Severity::problem, "slow_node", "gpu07", "12.8 % slower than its peers in every run",
            "1,204 samples/s against a median of 1,381 (11 nodes, 5 runs each); SM clock 1,410 MHz against 1,980 MHz.",
            "Look for a power cap: nvidia-smi -q -d POWER, and take the node out of the pool until it is gone."},
           {Severity::warning, "throttled", "16 GPUs, run 3", "Clocks fell during the measured part",
            "HW slowdown for 41 s of 300 s.", "Repeat the run when the rack is below 27 °C."},
           {Severity::note, "few_repeats", "",
            "Fewer than ten repeats: differences below 1.9 % cannot be told from noise", "", ""}},
      .if_empty = "Nothing was found wrong."};
}

}  // namespace

Document sample_document() {
  Document document;
  document.title = "ResNet-50 on 32 H200 GPUs: scaling study";
  document.subtitle = "Study s-4k2m · cluster alpha · 45 runs between 2026-11-02 and 2026-11-03";
  document.verdict = "44 of 45 runs valid, one node needs attention";
  document.verdict_tone = Tone::warning;
  document.sections = {
      {"summary",
       "Summary",
       {Paragraph{"Training scales well up to 8 GPUs (88.8 % efficiency) and falls below the 75 % line at 32. "
                  "Communication explains most of the loss: the all-reduce share of a step grows from 2 % to 27 %.",
                  Tone::plain},
        findings()}},
      {"scaling", "Scaling", {scaling_table(), speedup_chart(), efficiency_chart()}},
      {"nodes", "Nodes", {node_chart(), precision_chart()}},
      {"training", "Training and serving", {loss_chart(), latency_chart(), heat_chart(), roofline_chart()}},
      {"environment",
       "Environment",
       {FactList{"environment",
                 {{"GPU", "NVIDIA H200 141 GB HBM3e, 8 per node"},
                  {"Driver", "570.86.15"},
                  {"CUDA", "12.8"},
                  {"Framework", "PyTorch 2.7.0+cu128, NCCL 2.26.2"},
                  {"Network", "8 × 400 Gbit/s InfiniBand NDR, SHARP off"},
                  {"Container", ""}}}},
       true},
      {"method",
       "Method",
       {Paragraph{
           "Warm-up ends where MSER-5 puts it; figures are means over the steady part with batch-means intervals.",
           Tone::muted}},
       false},
  };
  document.data = {{"study", "s-4k2m"}};
  return document;
}

std::string hostile_text() {
  return "<script>alert('1')</script> & \"q\" | a|b\r\nnew\tline \xff\xc3 \x1b[31mred\x1b]0;t\x07 \xE2\x80\xAE"
         "evil "
         "שלום \xEF\xBF\xBF ]]> --> `c` *b* _e_ [l](http://x.test) $m$ " +
         std::string(300, 'w');
}

Document hostile_document() {
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
  Document document{
      .title = evil, .subtitle = evil, .verdict = evil, .verdict_tone = Tone::bad, .sections = {}, .data = {}};
  for (int i = 0; i < 5; ++i) {
    document.sections.push_back(
        {evil,
         evil,
         {Paragraph{evil, Tone::bad},
          FigureTable{evil,
                      evil,
                      {{evil, evil, evil}, {"n", "n", "", Align::right, true}},
                      {{Figure(evil), Figure("1", 1.0)}, {Figure(""), Figure(evil, Tone::warning)}},
                      {evil}},
          FactList{evil, {{evil, evil}, {"", ""}}},
          FindingList{evil, {{Severity::problem, evil, evil, evil, evil, evil}}, evil}, FindingList{evil, {}, evil},
          ChartBlock{evil, evil, evil, xy}, ChartBlock{evil, evil, evil, bars}, ChartBlock{evil, evil, evil, heat}},
         true});
  }
  return document;
}

namespace {

/// For looking at: ASSAY_REPORT_SAMPLES=folder keeps the files.
TEST(Samples, AreWrittenInEveryFormat) {
  const TemporaryFolder scratch;
  const char* kept = std::getenv("ASSAY_REPORT_SAMPLES");
  const fs::path folder = kept ? fs::path(kept) : scratch.path();
  const Document document = sample_document();
  ASSERT_TRUE(write_file_atomically(folder / "report.html", render_html(document)).ok());
  ASSERT_TRUE(write_file_atomically(folder / "hostile.html", render_html(hostile_document())).ok());
  ASSERT_TRUE(write_file_atomically(folder / "report.md", render_markdown(document)).ok());
  ASSERT_TRUE(write_file_atomically(folder / "report.json", pretty_json(render_json(document))).ok());
  for (const int width : {60, 100, 160}) {
    for (const bool unicode : {true, false}) {
      const auto name = fmt::format("report-{}{}.txt", width, unicode ? "" : "-ascii");
      ASSERT_TRUE(write_file_atomically(
                      folder / name, render_terminal(document, {.colour = false, .unicode = unicode, .width = width}))
                      .ok());
    }
  }
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* chart = std::get_if<ChartBlock>(&block);
      if (!chart) continue;
      ASSERT_TRUE(write_file_atomically(folder / (chart->id + ".svg"), svg_file(*chart)).ok());
      ASSERT_TRUE(write_file_atomically(folder / (chart->id + ".txt"), text_chart(*chart, {.width = 90})).ok());
    }
  }
  EXPECT_GT(fs::file_size(folder / "report.html"), 10000U);
}

}  // namespace
}  // namespace assay
