#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace assay {

/// A counter that one thread can sleep on and any number of threads add to. Adding costs one atomic addition as long as
/// nobody sleeps.
class WakeCounter {
 public:
  std::uint32_t value() const noexcept { return value_.load(std::memory_order_acquire); }
  void add(std::uint32_t n) noexcept;
  /// Returns once the value is not `seen` any more, or at the deadline. One thread at a time.
  void wait(std::uint32_t seen, SteadyTime deadline) noexcept;

 private:
  alignas(64) std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> waiting_{0};
};

/// How the load generator reads time and waits. The machine's own, or that of a simulation; one thread.
class LoadClock {
 public:
  virtual ~LoadClock() = default;
  virtual SteadyTime now() noexcept = 0;
  /// Returns at `until`, as soon after it as the machine can. A time that is over returns at once.
  virtual void wait_until(SteadyTime until) noexcept = 0;
  /// Returns once the counter is not `seen` any more, or at the deadline.
  virtual void wait_for_change(WakeCounter& counter, std::uint32_t seen, SteadyTime deadline) noexcept = 0;
};

/// Sleeps through most of a wait and spins through the rest: a thread that only sleeps wakes up 50 to 1,000 µs late.
/// How much is spun follows what the last sleeps were late by, between 30 µs and 1 ms. Used by the thread that made it.
class SpinningClock final : public LoadClock {
 public:
  SpinningClock();
  SteadyTime now() noexcept override;
  void wait_until(SteadyTime until) noexcept override;
  void wait_for_change(WakeCounter& counter, std::uint32_t seen, SteadyTime deadline) noexcept override;

 private:
  Nanos margin_;
};

}  // namespace assay
