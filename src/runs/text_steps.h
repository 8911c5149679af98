#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runs/text_metrics.h"

namespace assay {

/// Gives the figures of ordinary text their place on the axis of steps. Programs count in several ways; whatever they
/// do, a curve does not run backwards because counting began again with an epoch. Ranks count on their own.
class TextSteps {
 public:
  /// Also for lines without metrics: `Epoch 2/5` alone on its line is where the next ones are.
  void see(const TextMetrics::Line& line);
  /// The step of the line's figures; call after `see`.
  std::int64_t step_of(const TextMetrics::Line& line);

  /// What it remembers, by rank, and how another one goes on from there. What makes no sense is left out.
  json::object state() const;
  void restore(const json::object& state);

 private:
  struct Count {
    std::optional<std::int64_t> step;  ///< of the figures before
    std::int64_t offset = 0;           ///< steps of the epochs before, where each counts from the beginning
    std::int64_t raw = 0;              ///< the last number as it was printed
    bool counted = false;              ///< the program has said where it is by more than epochs
    bool new_epoch = false;            ///< since the last number
    std::optional<std::int64_t> epoch;
    std::int64_t first_epoch = 0;             ///< programs count them from 0 or from 1
    std::vector<std::string_view> at_step{};  ///< metrics that have a value at `step`
  };
  static bool stands_still(const Count& count, const TextMetrics::Counter& counter);
  static std::int64_t from_counter(Count& count, const TextMetrics::Counter& counter, bool within_epoch);
  static std::int64_t counted_on(Count& count, const TextMetrics::Line& line);

  std::map<int, Count> counts_;               ///< by rank; 0 where none is said
  std::set<std::string, std::less<>> names_;  ///< of restored metrics
};

}  // namespace assay
