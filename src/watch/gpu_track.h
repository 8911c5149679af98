#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "watch/condition.h"
#include "watch/rule_view.h"
#include "watch/steady_rise.h"

namespace assay {

/// How much a new value counts in smoothed ones, by the time since the last look.
struct Smoothing {
  double minute = 1;
  double five_minutes = 1;
  double share = 0;  ///< of a minute, in shares of the time: one moment must not stand for a minute that nobody saw
};

/// An exponentially smoothed value. Not known while the newest value is not.
class Smoothed {
 public:
  Smoothed() = default;
  /// Starts from a value instead of the first one that comes.
  explicit Smoothed(double start) : mean_(start) {}
  void add(double value, double weight) {
    known_ = std::isfinite(value);
    if (known_) mean_ = std::isnan(mean_) ? value : mean_ + weight * (value - mean_);
  }
  double value() const { return known_ ? mean_ : std::numeric_limits<double>::quiet_NaN(); }

 private:
  double mean_ = std::numeric_limits<double>::quiet_NaN();
  bool known_ = false;
};

/// What is kept of one GPU between looks.
struct GpuTrack {
  std::string uuid;
  SteadyRise memory;
  Smoothed use;         ///< over a minute, as all but the next
  Smoothed steady_use;  ///< over five minutes
  Smoothed temperature;
  Smoothed power;
  Smoothed clock;
  Smoothed thermal{0};
  Smoothed capped{0};
  Smoothed hardware{0};
  bool allocated = false;
  bool fresh = true;  ///< not judged yet
  std::array<RuleCondition, kGpuRules> conditions;
  WallTime last_reported;  ///< kept by the caller

  /// One look; a GPU that was not reported is one with nothing known.
  void add(const GpuView& gpu, const Smoothing& smoothing, WallTime now);
  /// At work: what its clock and temperature say can be compared.
  bool busy() const { return use.value() >= kBusy; }
  void pause();

  static constexpr double kBusy = 0.5;
};

/// What each rule compares with its level, by RuleId. NaN: not known. Where a rule does not apply, a value on its
/// good side (0, or infinity for rules whose bad side is below).
using GpuLevels = std::array<double, kGpuRules>;

/// `node` holds all GPUs of the node, `place` is that of the GPU; `idle_level` is where `under_use` ends and
/// `allocated_but_idle` begins.
GpuLevels gpu_levels(const GpuView& gpu, std::span<const GpuTrack> node, std::size_t place, double idle_level);

}  // namespace assay
