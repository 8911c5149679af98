#include "leader/event_budget.h"

#include <algorithm>
#include <chrono>

namespace assay {
namespace {

constexpr std::int64_t kMinutesPerWeek = 7 * 24 * 60;

/// The minute that an event counts for.
std::int64_t minute_of(WallTime time, WallTime now) {
  const auto minutes = [](WallTime t) {
    return std::chrono::duration_cast<std::chrono::minutes>(t.time_since_epoch()).count();
  };
  return std::clamp(minutes(time), minutes(now) - kMinutesPerWeek, minutes(now));
}

/// A full hour's worth may come at once.
IntakeLimits arrival_limits(std::size_t per_hour) {
  const auto events = static_cast<double>(per_hour);
  return {.work_per_second = events / 3600, .burst = events};
}

}  // namespace

bool EventBudget::has_room(WallTime time, Heartbeat now, std::size_t per_hour) {
  if (arrived_.wait(arrival_limits(per_hour), now.at) > Nanos{}) return false;
  const auto kept = kept_.find(minute_of(time, now.wall));
  return kept == kept_.end() || kept->second < kMaxPerMinute;
}

void EventBudget::count(WallTime time, Heartbeat now, std::size_t per_hour) {
  arrived_.spend(1, arrival_limits(per_hour), now.at);
  ++kept_[minute_of(time, now.wall)];
  // Also those ahead, where the clock was set back.
  kept_.erase(kept_.begin(), kept_.lower_bound(minute_of(WallTime::min(), now.wall)));
  kept_.erase(kept_.upper_bound(minute_of(WallTime::max(), now.wall)), kept_.end());
}

}  // namespace assay
