#include "telemetry/nvml/gpu_history.h"

#include <fmt/format.h>

#include <utility>

#include "telemetry/telemetry_event.h"

namespace assay::nvml {
namespace {

/// A GPU at its power limit goes in and out of it every second. It counts as out after this long.
constexpr Nanos kThrottleSettles = std::chrono::seconds(10);

}  // namespace

TelemetryEvent GpuHistory::event(WallTime wall, std::string kind, std::string message) const {
  return {.time = wall, .kind = std::move(kind), .about = uuid_, .message = std::move(message), .values = {}};
}

void GpuHistory::note(const GpuCondition& now, SteadyTime time, WallTime wall, std::vector<TelemetryEvent>& events) {
  // What a reading did not look at keeps its last value.
  const auto increase = [](std::optional<double>& last, std::optional<double> value) {
    if (!value) return 0.0;
    const auto before = std::exchange(last, value);
    return before && *value > *before ? *value - *before : 0.0;
  };
  const auto report = [&](const char* kind, double by, std::optional<double> total, std::string_view one,
                          std::string_view several) {
    if (by <= 0) return;
    auto found = event(wall, kind, fmt::format("{} more {}, {} in all", by, by == 1 ? one : several, *total));
    found.values = {{"increase", by}, {"total", *total}};
    events.push_back(std::move(found));
  };
  const double corrected = increase(last_.ecc_corrected, now.ecc_corrected);
  report("ecc", corrected, now.ecc_corrected, "corrected memory error", "corrected memory errors");
  const double uncorrected = increase(last_.ecc_uncorrected, now.ecc_uncorrected);
  report("ecc_uncorrected", uncorrected, now.ecc_uncorrected, "uncorrected memory error", "uncorrected memory errors");
  const double rows = increase(last_.remapped_corrected, now.remapped_corrected);
  report("row_remap", rows, now.remapped_corrected, "row remapped after corrected errors",
         "rows remapped after corrected errors");
  const double bad_rows = increase(last_.remapped_uncorrected, now.remapped_uncorrected);
  report("row_remap", bad_rows, now.remapped_uncorrected, "row remapped after uncorrected errors",
         "rows remapped after uncorrected errors");
  if (increase(last_.remap_pending, now.remap_pending) > 0) {
    events.push_back(event(wall, "row_remap", "a row waits to be remapped: the GPU needs a reset"));
  }
  if (increase(last_.remap_failed, now.remap_failed) > 0) {
    events.push_back(event(wall, "row_remap", "remapping a row has failed: the GPU should be replaced"));
  }
  if (now.throttle) note_throttle(*now.throttle, time, wall, events);
}

void GpuHistory::note_throttle(std::uint64_t reasons, SteadyTime time, WallTime wall,
                               std::vector<TelemetryEvent>& events) {
  for (std::size_t i = 0; i < kThrottleReasons.size(); ++i) {
    const auto& reason = kThrottleReasons[i];
    if (!reason.slows) continue;
    auto& state = throttle_[i];
    const bool set = (reasons & reason.bit) != 0;
    if (set) state.last_seen = time;
    const bool active = set || (state.active && time - state.last_seen < kThrottleSettles);
    if (active == std::exchange(state.active, active)) continue;
    auto change =
        event(wall, "throttle",
              fmt::format("{} {} ({})", active ? "slowed by" : "no longer slowed by", reason.meaning, reason.name));
    change.values = {{"active", active ? 1.0 : 0.0}, {"reason_bit", static_cast<double>(reason.bit)}};
    events.push_back(std::move(change));
  }
}

}  // namespace assay::nvml
