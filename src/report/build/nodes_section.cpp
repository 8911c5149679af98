#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/cost.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

GpuHealth health_of(const Run& run) {
  GpuHealth health;
  health.temperature_c = mean_of_series(run, "gpu.temperature_c");
  health.sm_clock_mhz = mean_of_series(run, "gpu.sm_clock_mhz");
  health.memory_clock_mhz = mean_of_series(run, "gpu.memory_clock_mhz");
  return health;
}

Figure marked(Figure figure, const ConsistencyCell& cell) {
  if (cell.mark == ConsistencyMark::low || cell.mark == ConsistencyMark::high) figure.tone = Tone::bad;
  return figure;
}

Figure row_verdict(const ConsistencyRow& row) {
  if (row.within) return {"within tolerance", Tone::good};
  std::string text;
  const auto add = [&](std::string_view what, const ConsistencyCell& cell) {
    if (cell.mark != ConsistencyMark::low && cell.mark != ConsistencyMark::high) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, name_of(cell.mark));
  };
  add("speed", row.speed);
  add("memory", row.memory);
  add("temperature", row.temperature);
  return {text.empty() ? "not measured" : text, Tone::bad};
}

FigureTable nodes_table(const NodesAnswer& answer, const ReportOptions& options) {
  FigureTable table{.id = "nodes",
                    .title = "",
                    .columns = {{"node", "Node", "", Align::left, false},
                                {"samples_per_second", "Samples/s", "", Align::right, false},
                                {"deviation_percent", "vs median", " %", Align::right, false},
                                {"tokens_per_second", "Tokens/s", "", Align::right, false},
                                {"memory_gb", "Memory (GB)", "", Align::right, false},
                                {"temperature_c", "Temperature (°C)", "", Align::right, false},
                                {"cost_per_1000_samples", "Cost/1,000", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false}}};
  for (std::size_t i = 0; i < answer.runs.size(); ++i) {
    const Run& run = *answer.runs[i];
    const ConsistencyRow& row = answer.table.rows[i];
    const NodeFigures& node = answer.figures[i];
    std::optional<Money> cost;
    if (const auto price = price_of(run, options)) {
      cost = cost_of(*price, allocation_of(run),
                     {.seconds = {}, .samples_per_second = node.samples_per_second, .tokens_per_second = {}})
                 .per_1000_samples;
    }
    table.rows.push_back(
        {row.node, marked(rate_figure(node.samples_per_second), row.speed), percent_figure(row.speed.deviation),
         token_rate_figure(metric_of(run, "tokens_per_second")),
         marked(node.gpu_memory_bytes ? fixed_figure(*node.gpu_memory_bytes / 1e9, 2) : Figure(), row.memory),
         marked(fixed_figure(node.temperature_c, 0), row.temperature), money_figure(cost), row_verdict(row)});
  }
  if (answer.table.speed_variation) {
    table.notes.push_back(fmt::format("Coefficient of variation between nodes: {} (n−1).",
                                      percent_text(*answer.table.speed_variation, 2)));
  }
  table.notes.push_back(
      "Tolerances against the median of the nodes: samples/s ±5 %, GPU memory ±2 %, temperature ±10 °C.");
  return table;
}

}  // namespace

std::optional<NodesAnswer> nodes_answer(std::span<const RecordedRun> runs) {
  // The work that most nodes did. A node that ran it several times is there once, with its last run.
  std::map<std::string, std::map<std::string, const Run*>> hosts_of_work;
  for (const auto& one : runs) {
    const Run& run = one.run;
    if (!usable(run) || run.nodes != 1 || run.provenance.hostname.empty()) continue;
    if (!metric_of(run, "samples_per_second") || metric_of(run, "samples_asked")) continue;
    hosts_of_work[work_of(run)][run.provenance.hostname] = &run;
  }
  const auto most = std::max_element(hosts_of_work.begin(), hosts_of_work.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == hosts_of_work.end() || most->second.size() < 2) return std::nullopt;
  NodesAnswer answer;
  for (const auto& [host, run] : most->second) {
    const auto memory = peak_memory(*run);
    answer.figures.push_back(
        {.node = host,
         .samples_per_second = metric_of(*run, "samples_per_second"),
         .gpu_memory_bytes = memory && memory->on_gpu ? std::optional(memory->bytes) : std::nullopt,
         .temperature_c = mean_of_series(*run, "gpu.temperature_c"),
         .health = health_of(*run)});
    answer.runs.push_back(run);
  }
  answer.table = check_consistency(answer.figures);
  return answer;
}

std::optional<Section> nodes_section(const Answers& answers) {
  if (!answers.nodes) return std::nullopt;
  const NodesAnswer& answer = *answers.nodes;
  Section section;
  section.blocks.emplace_back(nodes_table(answer, answers.input.options));
  BarChart chart{.value = {.label = "Throughput", .unit = "samples/s", .from_zero = true}};
  for (std::size_t i = 0; i < answer.figures.size(); ++i) {
    chart.bars.push_back({.name = answer.figures[i].node,
                          .value = answer.figures[i].samples_per_second,
                          .marked = !answer.table.rows[i].within});
  }
  if (answer.table.median_speed) {
    chart.references.push_back({"median", *answer.table.median_speed});
    chart.band = std::pair(*answer.table.median_speed * 0.95, *answer.table.median_speed * 1.05);
  }
  section.blocks.emplace_back(ChartBlock{.id = "node_bars",
                                         .title = "Throughput per node",
                                         .caption = "Shaded: within 5 % of the median.",
                                         .chart = std::move(chart)});
  return section;
}

}  // namespace assay
