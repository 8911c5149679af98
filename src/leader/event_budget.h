#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "leader/intake_budget.h"
#include "leader/node_clock.h"

namespace assay {

/// Keeps a machine that reports errors without end from filling the disk: so many events for each minute in which they
/// happened, whenever they arrive, and so many for each hour in which they arrive, whenever they are said to have
/// happened. Those from outside of the last week count as of now or of a week ago.
class EventBudget {
 public:
  /// Whether one more of that time may be kept.
  bool has_room(WallTime time, Heartbeat now, std::size_t per_hour);
  /// Counts one that was kept.
  void count(WallTime time, Heartbeat now, std::size_t per_hour);

  static constexpr std::size_t kMaxPerMinute = 600;

 private:
  std::map<std::int64_t, std::size_t> kept_;  ///< by minute
  IntakeBudget arrived_;
};

}  // namespace assay
