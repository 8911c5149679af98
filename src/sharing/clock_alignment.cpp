#include "sharing/clock_alignment.h"

#include <algorithm>

namespace assay {

void ClockQuestions::take(SteadyTime asked, SteadyTime theirs, SteadyTime heard) {
  const Nanos half = (heard - asked + Nanos(1)) / 2;
  if (best_ && best_->bound <= half) return;
  best_ = ClockAlignment{theirs - (asked + (heard - asked) / 2), half};
}

ClockAlignment with_drift(const ClockAlignment& before, const ClockAlignment& after) {
  const Nanos drift = after.offset - before.offset;
  return {before.offset, std::max(before.bound, (drift < Nanos(0) ? -drift : drift) + after.bound)};
}

}  // namespace assay
