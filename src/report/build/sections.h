#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/build/answers.h"

namespace assay {

// The sections of a report: each is built in the file of its name (summary_section.cpp) and stands in one table, which
// also makes docs/reference/report-sections.md. Pure.

struct ReportSection {
  std::string_view id;     ///< for scripts and links
  std::string_view title;  ///< for people
  std::string_view when;   ///< it appears
  std::string_view says;
  /// None where the runs have nothing for it. Title and id are given by the table.
  std::optional<Section> (*build)(const Answers& answers);
};

/// Every section, in the order in which a report has them.
std::span<const ReportSection> report_sections();

/// docs/reference/report-sections.md, made from the same table.
std::string section_reference();

std::optional<Section> summary_section(const Answers& answers);
std::optional<Section> serving_section(const Answers& answers);
std::optional<Section> latency_section(const Answers& answers);
std::optional<Section> load_curve_section(const Answers& answers);
std::optional<Section> load_maps_section(const Answers& answers);
std::optional<Section> token_times_section(const Answers& answers);
std::optional<Section> endpoints_section(const Answers& answers);
std::optional<Section> clients_section(const Answers& answers);
std::optional<Section> answers_section(const Answers& answers);
std::optional<Section> nodes_section(const Answers& answers);
std::optional<Section> scaling_section(const Answers& answers);
std::optional<Section> matrix_section(const Answers& answers);
std::optional<Section> configurations_section(const Answers& answers);
std::optional<Section> metrics_section(const Answers& answers);
std::optional<Section> history_section(const Answers& answers);
std::optional<Section> leaderboard_section(const Answers& answers);
std::optional<Section> runs_section(const Answers& answers);
std::optional<Section> cost_section(const Answers& answers);
std::optional<Section> tokens_section(const Answers& answers);
std::optional<Section> roofline_section(const Answers& answers);
std::optional<Section> curves_section(const Answers& answers);
std::optional<Section> resources_section(const Answers& answers);
std::optional<Section> settings_section(const Answers& answers);
std::optional<Section> environment_section(const Answers& answers);
std::optional<Section> preflight_section(const Answers& answers);
std::optional<Section> issues_section(const Answers& answers);
std::optional<Section> recommendations_section(const Answers& answers);
std::optional<Section> method_section(const Answers& answers);

// What sections share with each other and with `compare` and `plot`.

/// Whether configurations of one size are told apart, by their speed or by whatever else came out of them.
bool has_configurations(const Answers& answers);
/// What came out of configurations: settings against figures, each figure with its verdict, the time to a level, the
/// metric over two settings, expectations that were missed.
std::vector<Block> outcome_blocks(const Answers& answers, std::string_view metric,
                                  const std::optional<std::size_t>& recommended);

/// Joules of GPUs and what follows from them, mean of the usable runs; none where no GPU was read, or where others than
/// this machine's did the work.
std::optional<EnergyFigures> energy_of_arm(const Arm& arm, const ReportOptions& options);

/// Where exactly two settings vary between these: the metric over both.
std::optional<ChartBlock> heat_chart(std::span<const Arm* const> chosen, std::string_view metric, std::string id);

/// What tells a run apart in tables of single runs: its variant, or its name.
std::string row_label(const Run& run);
/// A distribution function of each configuration, from its first run that has one, since overlaid repeats would hide
/// each other; of the first eight. None where there is nothing to draw.
std::optional<ChartBlock> distribution_chart(std::span<const Arm> arms, TimeDistribution LoadProfile::* times,
                                             std::string id, std::string what);

/// The course of one metric over steps, or over time where it has none: one line per arm, from its first run, since
/// overlaid repeats would hide each other.
std::optional<ChartBlock> curve_chart(std::span<const Arm> arms, const std::string& metric);
/// Every metric of learning that these arms have a curve of.
std::optional<Section> curves_over(std::span<const Arm> arms);

}  // namespace assay
