#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ablation.h"
#include "report/build/goals.h"
#include "report/build/recorded.h"
#include "report/document.h"

namespace assay {

/// One figure of every side of a comparison.
struct Outcome {
  std::string metric;  ///< its name, or what it is called where it was derived
  std::string unit;
  std::optional<Direction> better;  ///< none: no way is better, and nothing is tested
  bool headline = false;
  bool one_seed = false;                    ///< the repeats share a seed that decides it
  std::vector<std::vector<double>> values;  ///< by side, one for each usable run that has it
  std::vector<ArmComparison> against;       ///< by side; empty where nothing is tested
};

/// Tests what has a direction, known or not, all of it together: see `compare_metrics`. Gives the number of families
/// among which the level was shared.
std::size_t test_outcomes(std::vector<Outcome>& outcomes, std::size_t baseline, std::size_t other_families = 0);

/// What the verdicts below a table are worth: which tests, how they were corrected, and what that promises.
std::vector<std::string> verdict_notes(std::span<const Outcome> outcomes, bool speed_tested_apart = false);

/// The verdict of one figure in a cell.
Figure verdict_figure(const ArmComparison& comparison);

/// How long each configuration took to get as far as runs of the baseline do.
struct TimeToLevel {
  std::string metric;
  double level = 0;
  std::vector<std::size_t> reached;  ///< by arm: runs that got there
  Outcome seconds;
};

/// Configurations of one size, and what came out of them beside their speed.
struct OutcomesAnswer {
  std::vector<const Arm*> arms;
  std::size_t baseline = 0;
  /// Settings differ and samples a second were reported: the matrix compares the speed, as a family of its own.
  bool speed_apart = false;
  std::vector<Outcome> outcomes;       ///< headlines first
  std::optional<std::size_t> quality;  ///< index into outcomes
  std::optional<TimeToLevel> to_level;
  std::size_t families = 1;                      ///< of tests among which the level is shared, that of speed included
  std::vector<std::vector<std::string>> missed;  ///< by arm: expectations that it misses
  /// By the first headline alone; what has a matrix is recommended there.
  AblationRecommendation recommendation;
};
/// Needs two configurations of one size.
std::optional<OutcomesAnswer> outcomes_answer(std::span<const Arm> arms, const Goals& goals,
                                              const ReportOptions& options);

/// What was expected of a configuration and not met, by the means of its repeats.
std::vector<ExpectationMiss> misses_of(const Arm& arm, const Goals& goals);

}  // namespace assay
