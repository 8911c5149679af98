#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace assay {

/// How long to wait after each failure in a row: twice as long every time up to the longest, and never quite as long as
/// the neighbours, so that a fleet does not come back all at once. Not thread-safe.
class Pauses {
 public:
  Pauses(Nanos first, Nanos longest, std::uint64_t seed)
      : first_(first), longest_(longest), next_(first), random_(seed, "pauses") {}

  Nanos next() {
    const Nanos whole = std::exchange(next_, std::min(next_ * 2, longest_));
    return Nanos(static_cast<Nanos::rep>(static_cast<double>(whole.count()) * random_.uniform(0.5, 1.0)));
  }
  /// Something went well.
  void reset() { next_ = first_; }

 private:
  Nanos first_;
  Nanos longest_;
  Nanos next_;
  Random random_;
};

}  // namespace assay
