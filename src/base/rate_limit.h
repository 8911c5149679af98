#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"

namespace assay {

/// Lets so many through at once, and so many a second in the long run. One thread at a time.
class RateLimit {
 public:
  RateLimit(double at_once, double per_second) : at_once_(at_once), per_second_(per_second), left_(at_once) {}

  /// Whether one more may pass at this time, which never goes back.
  bool pass(SteadyTime now) {
    if (last_) left_ = std::min(at_once_, left_ + std::chrono::duration<double>(now - *last_).count() * per_second_);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double at_once_, per_second_, left_;
  std::optional<SteadyTime> last_;
};

}  // namespace assay
