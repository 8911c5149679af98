#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/significance.h"
#include "report/build/recorded.h"

namespace assay {

/// What a study is about, and which way each metric is better: as the command line says, else as the specifications of
/// the runs do (`goals`), else as the name tells.
class Goals {
 public:
  Goals(std::span<const RecordedRun> runs, const ReportOptions& options);

  /// None of what counts or sets something: no way is better. `unknown` where nobody says.
  std::optional<Direction> direction_of(std::string_view metric) const;
  /// `unknown` where there is none: a value that is off either way is off.
  Direction direction_or_unknown(std::string_view metric) const;

  /// The metrics that comparisons are about: the goals; else the rate that was reported, and how well it learnt.
  /// Chosen by name alone, never by value.
  const std::vector<std::string>& headlines() const { return headlines_; }
  bool is_headline(std::string_view metric) const;
  /// The metric that says how well the runs learnt, if they reported one.
  const std::optional<std::string>& quality() const { return quality_; }

 private:
  std::map<std::string, Direction, std::less<>> stated_;
  std::vector<std::string> headlines_;
  std::optional<std::string> quality_;
};

/// Measured on data that was not learnt from; of such a curve the best point counts.
bool is_validation(std::string_view metric);
/// Known to be a cross entropy, in nats: differences of a hundredth say nothing.
bool is_cross_entropy(std::string_view metric);
/// How fast, or how long: not how well.
bool is_speed(std::string_view metric);
/// What a seed decides: how well something learnt, and what only the workload knows; not speeds, shares and memory.
bool decided_by_seed(std::string_view metric);

}  // namespace assay
