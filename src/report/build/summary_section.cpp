#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

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

}  // namespace

std::optional<Section> summary_section(const Answers& answers) {
  Section section;
  for (auto& line : headlines(answers)) section.blocks.emplace_back(Paragraph{std::move(line), Tone::strong});
  const auto problems = std::count_if(answers.issues.begin(), answers.issues.end(),
                                      [](const auto& issue) { return issue.severity == Severity::problem; });
  const auto warnings = std::count_if(answers.issues.begin(), answers.issues.end(),
                                      [](const auto& issue) { return issue.severity == Severity::warning; });
  if (problems + warnings > 0) {
    section.blocks.emplace_back(Paragraph{fmt::format("{} problem{} and {} warning{}: see Issues.", problems,
                                                      problems == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s"),
                                          problems > 0 ? Tone::bad : Tone::warning});
  }
  return section;
}

}  // namespace assay
