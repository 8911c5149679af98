#pragma once

#include <optional>

#include "base/clock.h"

namespace assay {

/// How far another machine's monotonic clock is from ours: theirs = ours + offset, right to ± bound.
struct ClockAlignment {
  Nanos offset{0};
  Nanos bound{0};
  bool operator==(const ClockAlignment&) const = default;
};

/// Estimates an offset from questions and answers: theirs was read between the moment we asked and the moment we heard,
/// so that the quickest answer bounds it best, whichever way took longer. Pure.
class ClockQuestions {
 public:
  /// We asked at `asked`, and at `heard` knew that their clock had said `theirs`.
  void take(SteadyTime asked, SteadyTime theirs, SteadyTime heard);
  std::optional<ClockAlignment> best() const { return best_; }

 private:
  std::optional<ClockAlignment> best_;
};

/// Of two alignments, before a load and after it, one that holds all the while: the bound covers how far the clocks
/// drifted apart. The offset is that of the beginning, by which the start was agreed.
ClockAlignment with_drift(const ClockAlignment& before, const ClockAlignment& after);

}  // namespace assay
