#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "fleet/fleet_fault.h"
#include "model/series.h"

namespace assay {

struct TelemetryEvent;

/// Memory that a leaking GPU loses: visible within a minute, not full before the rule about it has waited its time.
inline constexpr double kLeakBytesPerSecond = double{1 << 30} / 60;

/// What its faults make of one GPU at one moment.
struct GpuAilment {
  bool dead = false;
  bool loaded = false;  ///< at the constant load under which its faults show, whatever was recorded
  double heat_c = 0;    ///< above the temperature under load
  bool throttled = false;
  bool slow = false;
  bool capped = false;
  bool idle = false;
  bool ecc_error = false;
  bool row_waits = false;
  std::optional<double> leaked_bytes;
};

/// `hottest_c`: its temperature under load, NaN where that is not known.
GpuAilment ailment_at(std::span<const FleetFault> faults, std::size_t gpu, Nanos since_start, double hottest_c);

/// A value of a GPU with its faults; `memory_bytes` is all that it has.
double ailing_value(const GpuAilment& ailment, const SeriesKey& key, double value, double memory_bytes);

/// What a GPU reports when one ailment follows on another; the caller adds the time.
std::vector<TelemetryEvent> events_between(const GpuAilment& before, const GpuAilment& now, const std::string& gpu);

}  // namespace assay
