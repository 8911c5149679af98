#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

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

/// Loads of one machine are repeats or configurations of each other, which other sections tell apart: they are no nodes
/// that share the work.
bool share_the_work(std::span<const RecordedRun> runs) {
  std::set<std::string> hosts;
  return std::all_of(runs.begin(), runs.end(), [&](const RecordedRun& one) {
    return one.run.kind != "serve" || hosts.insert(one.run.provenance.hostname).second;
  });
}

/// Of an imported run it may be unknown: then it is taken for one of MLPerf's.
std::string scenario_of(const Run& run) {
  const auto* scenario = run.spec.if_contains("scenario");
  return scenario != nullptr && scenario->is_string() ? std::string(scenario->get_string()) : "";
}

bool known_to_mlperf(const std::string& scenario) {
  constexpr std::string_view kScenarios[] = {"", "single_stream", "multi_stream", "server", "offline"};
  return contains(kScenarios, scenario);
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

std::optional<ServingAnswer> serving_answer(std::span<const RecordedRun> runs) {
  const auto nodes = serving_runs(runs);
  if (nodes.empty() || !share_the_work(runs)) return std::nullopt;
  const std::string scenario = scenario_of(*nodes.front());
  ServingAnswer answer{.known_to_mlperf = known_to_mlperf(scenario)};
  // Only one of its scenarios asks for so many.
  if (!scenario.empty() && scenario != "offline") answer.run.fewest_samples = 0;
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

std::optional<Section> serving_section(const Answers& answers) {
  if (!answers.serving) return std::nullopt;
  const ServingAnswer& answer = *answers.serving;
  Section section;
  std::string verdict = answer.report.mlperf_valid ? "MLPerf: VALID" : "MLPerf: INVALID";
  for (std::size_t i = 0; i < answer.report.invalid_reasons.size(); ++i) {
    verdict += fmt::format("{}{}", i == 0 ? " – " : "; ", answer.report.invalid_reasons[i]);
  }
  if (answer.known_to_mlperf)
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

}  // namespace assay
