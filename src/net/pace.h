#pragma once

#include <algorithm>
#include <cstddef>

#include "base/clock.h"

namespace assay {

/// How long a peer may keep us waiting for bytes to move: a while at a time, and on the whole not longer than the bytes
/// are worth at the least rate. Who has been fast has no more in store than who begins, so that nobody can hold a
/// worker with a trickle.
class Pace {
 public:
  Pace(Nanos patience, std::size_t bytes_per_second)
      : patience_(patience),
        bytes_per_second_(static_cast<double>(std::max<std::size_t>(bytes_per_second, 1))),
        left_(patience) {}

  /// For the next wait; not above zero once the peer was too slow.
  Nanos left() const { return left_; }
  void waited(Nanos time, std::size_t bytes) {
    const std::chrono::duration<double> worth(static_cast<double>(bytes) / bytes_per_second_);
    left_ = std::min(patience_, left_ - time + std::chrono::duration_cast<Nanos>(worth));
  }

 private:
  Nanos patience_;
  double bytes_per_second_;
  Nanos left_;
};

}  // namespace assay
