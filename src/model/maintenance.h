#pragma once

#include "base/clock.h"

namespace assay {

/// A time in which nothing is to run on a node: no run begins there that would not have ended before, and the node is
/// drained while it lasts.
struct Maintenance {
  WallTime from;
  WallTime until;
  bool operator==(const Maintenance&) const = default;
};

}  // namespace assay
