#include "report/build/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct Counts {
  std::size_t valid = 0;
  std::size_t flagged = 0;
  std::size_t failed = 0;
  std::size_t invalid = 0;
  std::size_t other = 0;
};

Counts count_verdicts(std::span<const RecordedRun> runs) {
  Counts counts;
  for (const auto& one : runs) {
    switch (one.run.verdict) {
      case Verdict::valid: ++counts.valid; break;
      case Verdict::flagged: ++counts.flagged; break;
      case Verdict::failed: ++counts.failed; break;
      case Verdict::invalid: ++counts.invalid; break;
      case Verdict::interrupted:
      case Verdict::none: ++counts.other; break;
    }
  }
  return counts;
}

void set_verdict(Document& document, const ReportInput& input) {
  const Counts counts = count_verdicts(input.runs);
  const std::size_t total = input.runs.size();
  std::vector<std::string> parts = {total == 1 ? std::string(verdict_name(input.runs.front().run))
                                               : fmt::format("{} of {} runs valid", counts.valid, total)};
  if (total > 1) {
    if (counts.flagged > 0) parts.push_back(fmt::format("{} flagged", counts.flagged));
    if (counts.invalid > 0) parts.push_back(fmt::format("{} invalid", counts.invalid));
    if (counts.failed > 0) parts.push_back(fmt::format("{} failed", counts.failed));
    if (counts.other > 0) parts.push_back(fmt::format("{} not finished", counts.other));
  }
  document.verdict = join(parts, ", ");
  const std::size_t bad = counts.invalid + counts.failed + counts.other;
  document.verdict_tone = bad == total ? Tone::bad : bad + counts.flagged > 0 ? Tone::warning : Tone::good;
}

std::string short_minutes(double seconds) {
  return seconds < 60 * 0.95 ? fmt::format("{} s", seconds_figure(seconds).text)
                             : fmt::format("{:.1f} min", seconds / 60);
}

/// "Single GPU 6.0 min · 4 GPUs (1 node) 1.6 min, 3.8× (95 %) · …"
std::string scaling_sentence(const ScalingAnswer& scaling, const ScalingAnalysis& curve) {
  std::vector<std::string> parts;
  for (const auto& row : curve.rows) {
    std::string part = row.configuration;
    if (row.seconds) part += " " + short_minutes(*row.seconds);
    if (row.speedup && row.band != ScalingBand::baseline)
      part += fmt::format(", {:.1f}× ({:.0f} %)", *row.speedup, row.efficiency.value_or(0) * 100);
    parts.push_back(std::move(part));
  }
  for (const Arm* arm : scaling.unusable)
    parts.push_back(fmt::format("{} {}", size_name(arm->any()), verdict_name(arm->any())));
  return (curve.group.empty() ? "" : curve.group + ": ") + join(parts, " · ");
}

std::vector<std::string> headlines(const Answers& answers) {
  std::vector<std::string> lines;
  if (answers.scaling) {
    for (const auto& curve : answers.scaling->curves) lines.push_back(scaling_sentence(*answers.scaling, curve));
  }
  if (answers.matrix) {
    const auto& recommendation = answers.matrix->ablation.recommendation;
    const std::string name = recommendation.arm ? answers.matrix->configurations[*recommendation.arm].name + ": " : "";
    lines.push_back(name + recommendation.reason);
  } else if (answers.outcomes && !answers.scaling && !answers.nodes && !answers.serving) {
    const auto& recommendation = answers.outcomes->recommendation;
    const std::string name = recommendation.arm ? answers.outcomes->arms[*recommendation.arm]->name + ": " : "";
    if (!recommendation.reason.empty()) lines.push_back(name + recommendation.reason);
  }
  if (answers.nodes && answers.nodes->table.speed_variation) {
    const auto off = std::count_if(answers.nodes->table.rows.begin(), answers.nodes->table.rows.end(),
                                   [](const auto& row) { return !row.within; });
    lines.push_back(
        fmt::format("{} nodes, coefficient of variation {}: {}.", answers.nodes->figures.size(),
                    percent_text(*answers.nodes->table.speed_variation, 2),
                    off == 0 ? std::string("all within tolerance") : fmt::format("{} outside tolerance", off)));
  }
  if (answers.serving) {
    const auto& total = answers.serving->report.total;
    lines.push_back(fmt::format(
        "{} of {} samples finished{}{}{}.", total.done, total.asked,
        total.success ? fmt::format(" ({})", percent_text(*total.success, 0)) : "",
        total.samples_per_second ? fmt::format(", {:.3f} samples/s over the wall clock", *total.samples_per_second)
                                 : "",
        total.mean_latency_s ? fmt::format(", mean latency {:.0f} ms", *total.mean_latency_s * 1000) : ""));
  }
  for (const auto& one : degraded_hosts(answers.input.runs)) {
    lines.push_back(fmt::format("{} has become {:.1f} % slower at the same work.", one.host, one.percent));
  }
  return lines;
}

Section summary_section(const Answers& answers, std::span<const Finding> issues) {
  Section section{.id = "summary", .title = "Summary"};
  for (auto& line : headlines(answers)) section.blocks.emplace_back(Paragraph{std::move(line), Tone::strong});
  const auto problems = std::count_if(issues.begin(), issues.end(),
                                      [](const auto& issue) { return issue.severity == Severity::problem; });
  const auto warnings = std::count_if(issues.begin(), issues.end(),
                                      [](const auto& issue) { return issue.severity == Severity::warning; });
  if (problems + warnings > 0) {
    section.blocks.emplace_back(Paragraph{fmt::format("{} problem{} and {} warning{}: see Issues.", problems,
                                                      problems == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s"),
                                          problems > 0 ? Tone::bad : Tone::warning});
  }
  return section;
}

/// Final figures of single runs, where no study answers anything.
Section metrics_section(const ReportInput& input) {
  FigureTable table{.id = "metrics", .title = "", .columns = {{"metric", "Metric", "", Align::left, true}}};
  constexpr std::size_t kMostRuns = 8;
  const std::size_t shown = std::min(input.runs.size(), kMostRuns);
  std::vector<std::string> names;
  for (const auto& metric : known_metrics()) names.emplace_back(metric.name);
  for (std::size_t i = 0; i < shown; ++i) {
    const Run& run = input.runs[i].run;
    const std::string title = usable(run) ? run.name : fmt::format("{} ({})", run.name, verdict_name(run));
    table.columns.push_back({run.id, shown == 1 ? "Value" : title, "", Align::right, false});
    for (const auto& [name, value] : run.metrics) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& name : names) {
    const auto* info = find_metric(name);
    std::vector<Figure> row = {Figure(name)};
    bool any = false;
    for (std::size_t i = 0; i < shown; ++i) {
      row.push_back(value_figure(metric_of(input.runs[i].run, name), info ? info->unit : "",
                                 usable(input.runs[i].run) ? Tone::plain : Tone::muted));
      any |= !row.back().text.empty();
    }
    if (any) table.rows.push_back(std::move(row));
  }
  if (input.runs.size() > shown)
    table.notes.push_back(fmt::format("The first {} of {} runs.", shown, input.runs.size()));
  return {.id = "metrics", .title = "Final figures", .blocks = {std::move(table)}};
}

std::string subtitle_of(const ReportInput& input) {
  std::set<std::string> kinds;
  std::set<std::string> hosts;
  WallTime last{};
  for (const auto& one : input.runs) {
    kinds.insert(one.run.kind);
    if (!one.run.provenance.hostname.empty()) hosts.insert(one.run.provenance.hostname);
    last = std::max(last, std::max(one.run.ended, one.run.created));
  }
  const std::string where = hosts.empty()       ? ""
                            : hosts.size() == 1 ? *hosts.begin()
                                                : fmt::format("{} hosts", hosts.size());
  std::vector<std::string> parts;
  if (input.study) parts.push_back("study " + input.study->id);
  parts.push_back(
      fmt::format("{} run{} of kind {}", input.runs.size(), input.runs.size() == 1 ? "" : "s", fmt::join(kinds, ", ")));
  if (!where.empty()) parts.push_back(where);
  if (last != WallTime{}) parts.push_back("last data of " + iso8601(last));
  return join(parts, " · ");
}

/// The speed of configurations where they reported it, and whatever else came out of them.
bool add_configurations(Document& document, const Answers& answers) {
  const auto& outcomes = answers.outcomes;
  if (!outcomes || (!answers.matrix && outcomes->outcomes.empty())) return false;
  // Nodes and serving that did the same everywhere have no configurations to tell apart.
  if (!answers.matrix && (answers.scaling || answers.nodes || answers.serving)) return false;
  const ReportOptions& options = answers.input.options;
  Section section = answers.matrix ? matrix_section(*answers.matrix) : outcomes_section(*outcomes, options);
  if (answers.matrix) {
    for (auto& block : outcome_blocks(*outcomes, options)) section.blocks.push_back(std::move(block));
  }
  const std::string metric = answers.matrix ? speed_metric(answers.input.runs) : outcomes->outcomes.front().metric;
  if (auto heat = heat_chart(outcomes->arms, metric)) section.blocks.emplace_back(std::move(*heat));
  const auto& recommendation = answers.matrix ? answers.matrix->ablation.recommendation : outcomes->recommendation;
  if (auto missed = expectations_table(*outcomes, answers.goals, recommendation.arm))
    section.blocks.emplace_back(std::move(*missed));
  document.sections.push_back(std::move(section));
  return true;
}

void add_results(Document& document, const Answers& answers) {
  auto& sections = document.sections;
  const ReportInput& input = answers.input;
  if (answers.serving) sections.push_back(serving_section(*answers.serving));
  if (auto latency = latency_section(input.runs)) sections.push_back(std::move(*latency));
  if (answers.nodes) sections.push_back(nodes_section(*answers.nodes, input.options));
  if (answers.scaling) sections.push_back(scaling_section(*answers.scaling));
  const bool configurations = add_configurations(document, answers);
  const bool answered = answers.serving || answers.nodes || answers.scaling || configurations;
  if (!answered || input.runs.size() <= 2) sections.push_back(metrics_section(input));
}

}  // namespace

Document report_on(const ReportInput& input) {
  const auto arms = arms_of(input.runs);
  const Goals goals(input.runs, input.options);
  const auto scaling = scaling_answer(arms, input.options);
  const auto outcomes = outcomes_answer(arms, goals, input.options);
  const auto matrix = outcomes ? matrix_answer(*outcomes, input.options) : std::nullopt;
  const auto nodes = nodes_answer(input.runs);
  const auto serving = serving_answer(input.runs);
  const Answers answers{input, arms, goals, scaling, outcomes, matrix, nodes, serving};
  const auto issues = issues_in(answers);

  Document document{.title = input.title, .subtitle = subtitle_of(input)};
  set_verdict(document, input);
  document.sections.push_back(summary_section(answers, issues));
  add_results(document, answers);
  const auto add = [&](std::optional<Section> section) {
    if (section) document.sections.push_back(std::move(*section));
  };
  add(history_section(input.runs));
  add(leaderboard_section(arms, input.options));
  document.sections.push_back(runs_section(input.runs));
  add(cost_section(arms, input.options));
  add(tokens_section(arms));
  add(roofline_section(arms));
  add(curves_section(arms));
  add(resources_section(input.runs));
  add(settings_section(input.runs));
  add(environment_section(input.runs));
  add(preflight_section(input.preflight));
  document.sections.push_back(
      {.id = "issues",
       .title = "Issues",
       .blocks = {
           FindingList{.id = "issues", .findings = issues, .if_empty = "None was found in what was recorded."}}});
  document.sections.push_back({.id = "recommendations",
                               .title = "Recommendations",
                               .blocks = {FindingList{.id = "recommendations",
                                                      .findings = recommendations_from(answers, issues),
                                                      .if_empty = "Nothing to recommend."}}});
  document.sections.push_back(method_section(answers));
  return document;
}

}  // namespace assay
