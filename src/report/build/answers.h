#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ablation.h"
#include "analysis/consistency.h"
#include "analysis/scaling.h"
#include "analysis/serving_report.h"
#include "report/build/goals.h"
#include "report/build/outcomes.h"
#include "report/build/recorded.h"
#include "report/document.h"

namespace assay {

// What the runs of a report say, before it is laid out in sections. Each answer is absent where they have nothing for
// it. Pure.

/// Sizes of one workload against each other.
struct ScalingAnswer {
  std::vector<ScalingPoint> points;
  std::vector<const Arm*> arms;      ///< of each point
  std::vector<const Arm*> unusable;  ///< sizes without one usable run
  std::vector<ScalingAnalysis> curves;
};
std::optional<ScalingAnswer> scaling_answer(std::span<const Arm> arms, const ReportOptions& options);

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

/// Several nodes that did the same work, each by itself.
struct NodesAnswer {
  std::vector<NodeFigures> figures;
  std::vector<const Run*> runs;
  ConsistencyTable table;
};
std::optional<NodesAnswer> nodes_answer(std::span<const RecordedRun> runs);

/// Samples asked and answered on several nodes.
struct ServingAnswer {
  ServingRun run;
  bool known_to_mlperf = true;  ///< else its rules do not apply
  std::optional<double> mean_input_tokens;
  ServingReport report;
};
std::optional<ServingAnswer> serving_answer(std::span<const RecordedRun> runs);

/// A host that History finds slower than it was.
struct DegradedHost {
  std::string host;
  double percent = 0;  ///< by how much
  std::string run;     ///< at which it was seen
};
std::vector<DegradedHost> degraded_hosts(std::span<const RecordedRun> runs);

/// Everything that sections are built from, and that the rules of issues look at.
struct Answers {
  const ReportInput& input;
  std::vector<Arm> arms;
  Goals goals;
  std::optional<ScalingAnswer> scaling;
  std::optional<OutcomesAnswer> outcomes;
  std::optional<MatrixAnswer> matrix;
  std::optional<NodesAnswer> nodes;
  std::optional<ServingAnswer> serving;
  std::vector<Finding> issues;  ///< by the rules of docs/reference/report-rules.md; problems first
};
/// The input must outlive the answers.
Answers answers_to(const ReportInput& input);

/// Without the issues, which are what it looks for.
std::vector<Finding> issues_in(const Answers& answers);

/// `Single GPU`, `4 GPUs (1 node)`; on CPUs `Single rank`, `4 ranks (1 node)`.
std::string size_name(const Run& run);

}  // namespace assay
