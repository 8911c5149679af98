#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

ServingNode serving_node(const Run& run) {
  ServingNode node{.name = run.provenance.hostname.empty() ? run.name : run.provenance.hostname};
  node.asked = static_cast<std::int64_t>(metric_of(run, "samples_asked").value_or(0));
  node.done = static_cast<std::int64_t>(metric_of(run, "samples_done").value_or(0));
  node.stated_samples_per_second = metric_of(run, "stated_samples_per_second");
  node.mean_latency_s = metric_of(run, "mean_latency_seconds");
  node.tokens_per_second = metric_of(run, "sample_tokens_per_second");
  if (!node.tokens_per_second) node.tokens_per_second = metric_of(run, "tokens_per_second");
  node.run_seconds = metric_of(run, "duration_seconds");
  node.memory_used_bytes = metric_of(run, "gpu_memory_peak_bytes");
  for (const auto& gpu : run.provenance.gpus) {
    if (gpu.memory_bytes > 0)
      node.memory_capacity_bytes = node.memory_capacity_bytes.value_or(0) + static_cast<double>(gpu.memory_bytes);
  }
  return node;
}

std::optional<double> milliseconds(std::optional<double> seconds) {
  return seconds ? std::optional(*seconds * 1000) : std::nullopt;
}

FigureTable serving_nodes_table(const ServingAnswer& answer) {
  FigureTable table{
      .id = "serving_nodes",
      .title = "Per node",
      .columns = {{"node", "Node", "", Align::left, false},
                  {"asked", "Asked", "", Align::right, false},
                  {"done", "Done", "", Align::right, false},
                  {"lost", "Lost", "", Align::right, false},
                  {"success_percent", "Success", " %", Align::right, false},
                  {"samples_per_second", "Samples/s", "", Align::right, false},
                  {"stated_samples_per_second", "Stated", "", Align::right, false},
                  {"mean_latency_ms", "Mean latency (ms)", "", Align::right, false},
                  {"stated_tokens_per_second", "Tokens/s, stated", "", Align::right, false},
                  {"memory_gb", "Memory (GB)", "", Align::right, false}},
      .notes = {"Samples/s: finished samples over the node's own run time. Stated: as the node reported it."}};
  for (std::size_t i = 0; i < answer.report.nodes.size(); ++i) {
    const auto& row = answer.report.nodes[i];
    const auto& node = answer.run.nodes[i];
    table.rows.push_back(
        {row.name, count_figure(static_cast<double>(row.asked)), count_figure(static_cast<double>(row.done)),
         Figure(fmt::format("{}", row.lost), static_cast<double>(row.lost), row.lost > 0 ? Tone::bad : Tone::plain),
         percent_figure(row.success, 0), fixed_figure(row.samples_per_second, 3),
         rate_figure(node.stated_samples_per_second), fixed_figure(milliseconds(node.mean_latency_s), 0),
         rate_figure(node.tokens_per_second),
         node.memory_used_bytes ? fixed_figure(*node.memory_used_bytes / 1e9, 2) : Figure()});
  }
  return table;
}

FigureTable serving_total_table(const ServingAnswer& answer) {
  const ServingAggregate& total = answer.report.total;
  FigureTable table{.id = "serving_total",
                    .title = "All nodes together",
                    .columns = {{"figure", "Figure", "", Align::left, false},
                                {"value", "Value", "", Align::right, false},
                                {"how", "How it is computed", "", Align::left, true}},
                    .notes = answer.report.notes};
  const auto add = [&](std::string name, std::optional<double> value, std::string text, std::string how,
                       Tone tone = Tone::plain) {
    if (value)
      table.rows.push_back(
          {std::move(name), Figure(std::move(text), *value, tone), Figure(std::move(how), Tone::muted)});
  };
  const bool lost = total.lost > 0;
  add("Samples", static_cast<double>(total.done),
      fmt::format("{} of {}{}", total.done, total.asked,
                  total.success ? fmt::format(" ({})", percent_text(*total.success, 0)) : ""),
      lost ? fmt::format("{} lost", total.lost) : "none lost", lost ? Tone::bad : Tone::good);
  const auto rate = total.samples_per_second;
  add("Throughput", rate, rate ? fmt::format("{:.3f} samples/s", *rate) : "",
      fmt::format("{} finished samples over {:.2f} s of wall clock", total.done, answer.run.wall_seconds));
  const auto latency = milliseconds(total.mean_latency_s);
  add("Mean latency", latency, latency ? fmt::format("{:.0f} ms", *latency) : "", "weighted by finished samples");
  add("Output tokens", total.tokens_per_second,
      total.tokens_per_second ? rate_text(*total.tokens_per_second) + " tok/s" : "",
      "mean output tokens × samples/s over the wall clock");
  if (const auto in = answer.mean_input_tokens, out = answer.run.mean_output_tokens; in && out) {
    add("Tokens per sample", *in + *out, fmt::format("{:.1f} in + {:.1f} out = {:.1f}", *in, *out, *in + *out),
        "means");
  }
  const auto gap = milliseconds(total.latency_gap_s);
  add("Latency gap", gap, gap ? fmt::format("{:.0f} ms", *gap) : "", "slowest node's mean less the fastest one's");
  add("Throughput gap", total.throughput_gap, total.throughput_gap ? percent_text(*total.throughput_gap) : "",
      "stated rates, highest over lowest");
  add("Token-rate spread", total.token_rate_spread,
      total.token_rate_spread ? percent_text(*total.token_rate_spread) : "", "stated rates, range over mean");
  add("Speed-up", total.speedup, total.speedup ? fmt::format("{:.2f}×", *total.speedup) : "",
      "against the measured rate of one node");
  add("Efficiency", total.efficiency, total.efficiency ? percent_text(*total.efficiency) : "", "speed-up over nodes");
  return table;
}

/// Runs of single nodes that belong together: those of one part of a suite, of the part with the most nodes.
std::vector<const Run*> serving_runs(std::span<const RecordedRun> runs) {
  std::vector<std::pair<std::string, std::vector<const Run*>>> parts;
  for (const auto& one : runs) {
    const Run& run = one.run;
    const bool counted = metric_of(run, "samples_asked") && metric_of(run, "samples_done");
    if (!counted || run.state != RunState::ended || run.verdict == Verdict::interrupted || run.nodes != 1) continue;
    const std::string part = run.study + '\n' + run.variant;
    auto known = std::find_if(parts.begin(), parts.end(), [&](const auto& other) { return other.first == part; });
    if (known == parts.end()) known = parts.insert(parts.end(), {part, {}});
    known->second.push_back(&run);
  }
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == parts.end() ? std::vector<const Run*>{} : most->second;
}

/// A summary over exactly these nodes: only it knows the wall clock of all of them.
const Run* summary_over(std::span<const RecordedRun> runs, const std::vector<const Run*>& nodes) {
  for (const auto& one : runs) {
    if (one.run.study == nodes.front()->study && one.run.nodes == static_cast<int>(nodes.size()) &&
        metric_of(one.run, "wall_seconds")) {
      return &one.run;
    }
  }
  return nullptr;
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

Section nodes_section(const NodesAnswer& answer, const ReportOptions& options) {
  Section section{.id = "nodes", .title = "Results per node"};
  section.blocks.emplace_back(nodes_table(answer, options));
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

std::optional<ServingAnswer> serving_answer(std::span<const RecordedRun> runs) {
  const auto nodes = serving_runs(runs);
  if (nodes.empty()) return std::nullopt;
  ServingAnswer answer;
  for (const Run* run : nodes) {
    answer.run.nodes.push_back(serving_node(*run));
    const double seconds = metric_of(*run, "wall_seconds").value_or(metric_of(*run, "duration_seconds").value_or(0));
    answer.run.wall_seconds = std::max(answer.run.wall_seconds, seconds);
  }
  const Run* summary = summary_over(runs, nodes);
  const Run& told_by = summary ? *summary : *nodes.front();
  if (summary) answer.run.wall_seconds = *metric_of(*summary, "wall_seconds");
  answer.run.mean_output_tokens = metric_of(told_by, "mean_output_tokens");
  answer.mean_input_tokens = metric_of(told_by, "mean_input_tokens");
  answer.report = report_serving(answer.run);
  return answer;
}

Section serving_section(const ServingAnswer& answer) {
  Section section{.id = "serving", .title = "Inference results"};
  std::string verdict = answer.report.mlperf_valid ? "MLPerf: VALID" : "MLPerf: INVALID";
  for (std::size_t i = 0; i < answer.report.invalid_reasons.size(); ++i) {
    verdict += fmt::format("{}{}", i == 0 ? " – " : "; ", answer.report.invalid_reasons[i]);
  }
  section.blocks.emplace_back(Paragraph{std::move(verdict), answer.report.mlperf_valid ? Tone::good : Tone::bad});
  section.blocks.emplace_back(serving_total_table(answer));
  section.blocks.emplace_back(serving_nodes_table(answer));
  if (answer.run.nodes.size() > 1) {
    BarChart chart{.value = {.label = "Finished samples", .unit = "", .from_zero = true}};
    for (const auto& node : answer.report.nodes) {
      chart.bars.push_back({.name = fmt::format("{} ({} asked)", node.name, node.asked),
                            .value = static_cast<double>(node.done),
                            .marked = node.lost > 0});
    }
    section.blocks.emplace_back(ChartBlock{.id = "samples_per_node",
                                           .title = "Samples per node",
                                           .caption = "Hollow: the node lost samples.",
                                           .chart = std::move(chart),
                                           .in_terminal = false});
  }
  return section;
}

std::optional<Section> latency_section(std::span<const RecordedRun> runs) {
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
  for (const auto& one : runs) {
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
  Section section{.id = "latency", .title = "Latency", .blocks = {std::move(table)}};
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
