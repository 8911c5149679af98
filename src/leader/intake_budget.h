#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace assay {

/// How much of the leader's work one node may ask for. The unit is what one sample in order costs, some microseconds
/// with everything around it.
struct IntakeLimits {
  /// Some hundred times what a node with eight GPUs sends: one that fills in a day takes minutes, and a forger a
  /// fraction of one core.
  double work_per_second = 200'000;
  /// That may be asked for at once by one that was modest before.
  double burst = 2'000'000;
};

/// What taking in a request amounted to.
struct IntakeWork {
  std::size_t bytes = 0;
  std::size_t samples = 0;
  std::size_t rewritten = 0;   ///< minutes made again for late samples
  std::size_t new_series = 0;  ///< that were named, known or not
  std::size_t hellos = 0;      ///< each may make the leader look through all series of the node
  std::size_t saves = 0;       ///< times that a disk had to write for it, and all others who save waited

  double units() const {
    constexpr double kBytesPerUnit = 16;
    constexpr double kRewriting = 500;
    constexpr double kNaming = 20;
    constexpr double kHello = 2000;
    constexpr double kSaving = 20'000;
    return static_cast<double>(bytes) / kBytesPerUnit + static_cast<double>(samples) +
           kRewriting * static_cast<double>(rewritten) + kNaming * static_cast<double>(new_series) +
           kHello * static_cast<double>(hellos) + kSaving * static_cast<double>(saves);
  }
};

/// What a node has cost since the leader started.
struct IntakeTotals {
  std::uint64_t bytes = 0;
  std::uint64_t rewritten = 0;  ///< minutes made again for late samples
  Nanos processor_time{};
};

/// Fills up as time passes, up to the burst. One may go into debt: what a batch costs is known when it was taken in.
/// Not thread-safe.
class IntakeBudget {
 public:
  /// How long until something is left; zero: now.
  Nanos wait(const IntakeLimits& limits, SteadyTime now) {
    fill(limits, now);
    if (left_ > 0) return Nanos{};
    return Nanos(static_cast<std::int64_t>((1 - left_) / limits.work_per_second * 1e9));
  }
  void spend(double units, const IntakeLimits& limits, SteadyTime now) {
    fill(limits, now);
    left_ -= units;
  }

 private:
  void fill(const IntakeLimits& limits, SteadyTime now) {
    if (!begun_) left_ = limits.burst;
    const double earned = begun_ ? seconds_of(std::max(now - filled_, Nanos{})) * limits.work_per_second : 0;
    left_ = std::min(left_ + earned, limits.burst);
    filled_ = now;
    begun_ = true;
  }

  double left_ = 0;
  SteadyTime filled_{};
  bool begun_ = false;
};

}  // namespace assay
