#include "fleet/fleet_time.h"

namespace assay {

void RealTime::start(const IoExecutor& executor) {
  FleetTime::start(executor);
  start_ = std::chrono::steady_clock::now();
  wall_at_start_ = SystemClock().wall();
}

Nanos RealTime::now() const { return std::chrono::steady_clock::now() - start_; }

IoTask<void> RealTime::wait_until(Nanos time) {
  Wakeup wakeup(executor());
  waiting_.insert(&wakeup);
  co_await wakeup.wait_until(start_ + time);
  waiting_.erase(&wakeup);
}

void RealTime::wake_all() {
  for (Wakeup* wakeup : waiting_) wakeup->notify();
}

IoTask<void> SteppedTime::wait_until(Nanos time) {
  if (time <= now_) co_return;
  Wakeup wakeup(executor());
  waiting_.emplace(time, &wakeup);
  step_if_all_wait();
  // Whoever wakes it has taken it off the list.
  co_await wakeup.wait();
}

void SteppedTime::step_if_all_wait() {
  if (waiting_.empty() || waiting_.size() < members_) return;
  now_ = waiting_.begin()->first;
  while (!waiting_.empty() && waiting_.begin()->first <= now_) {
    waiting_.begin()->second->notify();
    waiting_.erase(waiting_.begin());
  }
}

void SteppedTime::wake_all() {
  for (const auto& [time, wakeup] : waiting_) wakeup->notify();
  waiting_.clear();
}

void SteppedTime::leave() {
  --members_;
  step_if_all_wait();
}

}  // namespace assay
