#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ablation.h"
#include "analysis/consistency.h"
#include "analysis/scaling.h"
#include "analysis/serving_report.h"
#include "report/build/outcomes.h"
#include "report/build/recorded.h"
#include "report/document.h"

namespace assay {

// The parts of a report. Each is absent where the runs have nothing for it. Pure.

/// Sizes of one workload against each other.
struct ScalingAnswer {
  std::vector<ScalingPoint> points;
  std::vector<const Arm*> arms;      ///< of each point
  std::vector<const Arm*> unusable;  ///< sizes without one usable run
  std::vector<ScalingAnalysis> curves;
};
std::optional<ScalingAnswer> scaling_answer(std::span<const Arm> arms, const ReportOptions& options);
/// `Single GPU`, `4 GPUs (1 node)`; on CPUs `Single rank`, `4 ranks (1 node)`.
std::string size_name(const Run& run);
Section scaling_section(const ScalingAnswer& answer);

/// Speed of configurations against a baseline.
struct MatrixAnswer {
  std::vector<AblationArm> configurations;
  std::vector<const Arm*> arms;
  std::size_t baseline = 0;
  QualityMeasure quality;
  Ablation ablation;
};
/// Needs a configuration that differs, and one that reported samples a second.
std::optional<MatrixAnswer> matrix_answer(const OutcomesAnswer& outcomes, const ReportOptions& options);
Section matrix_section(const MatrixAnswer& answer);
/// Where exactly two settings vary: the metric over both.
std::optional<ChartBlock> heat_chart(std::span<const Arm* const> arms, std::string_view metric);

/// Several nodes that did the same work, each by itself.
struct NodesAnswer {
  std::vector<NodeFigures> figures;
  std::vector<const Run*> runs;
  ConsistencyTable table;
};
std::optional<NodesAnswer> nodes_answer(std::span<const RecordedRun> runs);
Section nodes_section(const NodesAnswer& answer, const ReportOptions& options);

/// Samples asked and answered on several nodes.
struct ServingAnswer {
  ServingRun run;
  std::optional<double> mean_input_tokens;
  ServingReport report;
};
std::optional<ServingAnswer> serving_answer(std::span<const RecordedRun> runs);
Section serving_section(const ServingAnswer& answer);
/// Latency figures of load tests: LoadGen's summaries.
std::optional<Section> latency_section(std::span<const RecordedRun> runs);

/// Hosts that did the same work ten times or more: trend, change of level, beside Hunter's method and a fixed rule.
std::optional<Section> history_section(std::span<const RecordedRun> runs);
/// A host that History finds slower than it was.
struct DegradedHost {
  std::string host;
  double percent = 0;  ///< by how much
  std::string run;     ///< at which it was seen
};
std::vector<DegradedHost> degraded_hosts(std::span<const RecordedRun> runs);
/// Where models, devices or software differ: who is fastest, and at which cost.
std::optional<Section> leaderboard_section(std::span<const Arm> arms, const ReportOptions& options);
/// The devices of these runs that are in the catalogue, beside what was measured on them.
std::optional<FigureTable> device_table(std::span<const RecordedRun> runs);

Section runs_section(std::span<const RecordedRun> runs);
/// Every setting with its value, or its values where runs differ.
std::optional<Section> settings_section(std::span<const RecordedRun> runs);
std::optional<Section> preflight_section(std::span<const PreflightCheck> checks);
std::optional<Section> environment_section(std::span<const RecordedRun> runs);
/// The course of one metric over steps, or over time where it has none: one line per arm, from its first run, since
/// overlaid repeats would hide each other.
std::optional<ChartBlock> curve_chart(std::span<const Arm> arms, const std::string& metric);
std::optional<Section> curves_section(std::span<const Arm> arms);
std::optional<Section> tokens_section(std::span<const Arm> arms);
std::optional<Section> resources_section(std::span<const RecordedRun> runs);
std::optional<Section> roofline_section(std::span<const Arm> arms);
std::optional<Section> cost_section(std::span<const Arm> arms, const ReportOptions& options);

/// Everything that the rules of issues.cpp look at.
struct Answers {
  const ReportInput& input;
  std::span<const Arm> arms;
  const Goals& goals;
  const std::optional<ScalingAnswer>& scaling;
  const std::optional<OutcomesAnswer>& outcomes;
  const std::optional<MatrixAnswer>& matrix;
  const std::optional<NodesAnswer>& nodes;
  const std::optional<ServingAnswer>& serving;
};
Section method_section(const Answers& answers);
/// By the rules of docs/reference/report-rules.md; problems first.
std::vector<Finding> issues_in(const Answers& answers);
/// What to do next, each from an issue or an answer.
std::vector<Finding> recommendations_from(const Answers& answers, std::span<const Finding> issues);

}  // namespace assay
