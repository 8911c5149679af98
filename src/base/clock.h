#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

using Nanos = std::chrono::nanoseconds;
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Nanos>;  ///< for every duration
using WallTime = std::chrono::sys_time<Nanos>;  ///< for people and for joins across hosts

inline double seconds_of(Nanos duration) { return std::chrono::duration<double>(duration).count(); }

/// Where time comes from. Code that measures or waits takes one of these, so that tests own the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual SteadyTime now() const = 0;
  virtual WallTime wall() const = 0;
};

/// The machine's clocks. Stateless; any number of threads.
class SystemClock final : public Clock {
 public:
  SteadyTime now() const override;
  WallTime wall() const override;
};

/// A clock that stands still until told to move. Any number of threads may look at it and move it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(std::chrono::hours(24 * 365 * 56))) : start_(start) {}
  SteadyTime now() const override { return SteadyTime(std::chrono::hours(1)) + moved_.load(); }
  WallTime wall() const override { return start_ + moved_.load(); }
  void advance(Nanos by) {
    Nanos moved = moved_.load();
    while (!moved_.compare_exchange_weak(moved, moved + by)) {
    }
  }

 private:
  WallTime start_;
  std::atomic<Nanos> moved_{Nanos(0)};  ///< one value for both times, so that they never part
};

/// `2026-11-15T04:05:06.789Z`: UTC, milliseconds.
std::string iso8601(WallTime time);
/// Reads what `iso8601` writes (with up to nanoseconds). Other forms are an error of kind bad_file.
Result<WallTime> parse_iso8601(std::string_view text);
/// `2026-11-15 04:05:06` in the local time zone, for terminals.
std::string local_time(WallTime time);

}  // namespace assay
