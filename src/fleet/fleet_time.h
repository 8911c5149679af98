#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "net/io.h"

namespace assay {

/// The time in which a fleet lives, since its start. Everything on one I/O thread.
class FleetTime {
 public:
  virtual ~FleetTime() = default;
  /// Begins at 0. Once, before everything else.
  virtual void start(const IoExecutor& executor) { executor_ = executor; }
  virtual Nanos now() const = 0;
  /// What clocks on the wall showed at 0.
  virtual WallTime wall_at_start() const = 0;
  /// Returns when that time has come, or early after `wake_all`.
  virtual IoTask<void> wait_until(Nanos time) = 0;
  /// Ends all waits that are under way.
  virtual void wake_all() = 0;

  /// Once for each coroutine that will wait, before any of them begins, and again when it has ended (see SteppedTime).
  virtual void enter() {}
  virtual void leave() {}

 protected:
  const IoExecutor& executor() const { return *executor_; }

 private:
  std::optional<IoExecutor> executor_;
};

/// The machine's time.
class RealTime final : public FleetTime {
 public:
  void start(const IoExecutor& executor) override;
  Nanos now() const override;
  WallTime wall_at_start() const override { return wall_at_start_; }
  IoTask<void> wait_until(Nanos time) override;
  void wake_all() override;

 private:
  SteadyTime start_;
  WallTime wall_at_start_;
  std::set<Wakeup*> waiting_;
};

/// Time for tests: it stands still while anybody is busy, and jumps to the next moment somebody waits for once all
/// wait. What happens is then the same on a fast and on a slow machine.
class SteppedTime final : public FleetTime {
 public:
  Nanos now() const override { return now_; }
  /// Between two whole seconds, as usual.
  WallTime wall_at_start() const override { return WallTime(std::chrono::milliseconds(1'800'000'000'300)); }
  IoTask<void> wait_until(Nanos time) override;
  void wake_all() override;
  void enter() override { ++members_; }
  void leave() override;

 private:
  void step_if_all_wait();

  Nanos now_{};
  std::size_t members_ = 0;
  std::multimap<Nanos, Wakeup*> waiting_;
};

}  // namespace assay
