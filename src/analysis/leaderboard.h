#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/cost.h"
#include "analysis/significance.h"

namespace assay {

// Results of models × devices × serving software in order. Pure.

struct LeaderboardEntry {
  std::string model;
  std::string device;
  std::string software;
  std::vector<double> values;  ///< of the metric that ranks, one per repeat
  bool valid = true;           ///< the runs were; invalid ones are listed last, without a rank
  std::string remark;          ///< why not valid
  std::optional<Money> cost;   ///< per million tokens or 1,000 samples, one unit for the whole board
  std::optional<double> joules_per_token;
};

struct LeaderboardRow {
  std::size_t entry = 0;            ///< index into the input
  std::optional<std::size_t> rank;  ///< from 1; equal values share one; none where not valid or not measured
  std::optional<double> value;      ///< mean
  std::optional<Interval> interval;
  /// The row above is better, but not by more than the noise of the repeats, or there are too few of them to say.
  bool close_to_above = false;
  /// No other valid entry is both faster and cheaper; only where all valid entries have a cost in one currency.
  bool on_cost_front = false;
};

std::vector<LeaderboardRow> leaderboard(std::span<const LeaderboardEntry> entries,
                                        Direction better = Direction::higher_is_better);

}  // namespace assay
