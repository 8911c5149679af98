#pragma once

#include <chrono>
#include <functional>

#include "parallel/peer_failure.h"

namespace assay::engine {

/// How patient the control channel is. The defaults notice a dead process at once and a vanished host in 15 s.
struct ControlLimits {
  std::chrono::milliseconds join = std::chrono::seconds(60);      ///< until all ranks are there
  std::chrono::milliseconds heartbeat = std::chrono::seconds(2);  ///< between two signs of life
  std::chrono::milliseconds silence = std::chrono::seconds(15);   ///< without one: lost
  std::chrono::milliseconds grace = std::chrono::seconds(5);      ///< for the main thread to notice a lost rank
};

struct ControlOptions {
  ControlLimits limits;
  int listening_fd = -1;  ///< rank 0: already listening (from `run_local_ranks`), now owned by the channel
  /// Called on the channel's thread, at most once, if the process is still there some time after a rank was lost: the
  /// main thread is stuck, say in a collective that cannot be interrupted, or in a destructor after it threw. Must
  /// end the process, and must not write a second `error` event if the main thread has just written one.
  std::function<void(const PeerFailure&)> when_stuck;
};

}  // namespace assay::engine
