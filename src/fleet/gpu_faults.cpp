#include "fleet/gpu_faults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

using Kind = FleetFault::Kind;

constexpr double kHotRise_c = 30;
constexpr double kHotRiseSeconds = 60;
constexpr double kThrottleFrom_c = 87;
constexpr double kThrottledClock = 0.75;
constexpr double kSlowClock = 0.7;
constexpr double kSlowPower = 0.8;
constexpr double kCappedClock = 0.95;
constexpr double kIdlePower = 0.18;
constexpr double kIdleCooler_c = 25;

bool is_activity(std::string_view metric) {
  return metric == "gpu.util" || metric == "gpu.memory_util" || metric == "gpu.sm_occupancy" ||
         metric.ends_with("_active");
}

bool is_throttle(const SeriesKey& key, std::string_view reason) {
  const auto label = key.labels.find("reason");
  return key.name == "gpu.throttle" && label != key.labels.end() && label->second == reason;
}

double ailing_clock(const GpuAilment& ailment) {
  return ailment.slow ? kSlowClock : ailment.throttled ? kThrottledClock : ailment.capped ? kCappedClock : 1;
}

}  // namespace

GpuAilment ailment_at(std::span<const FleetFault> faults, std::size_t gpu, Nanos since_start, double hottest_c) {
  GpuAilment ailment;
  for (const auto& fault : faults) {
    if (!is_of_gpu(fault.kind) || (fault.gpu && *fault.gpu != gpu) || !fault.active_at(since_start)) continue;
    const double seconds = seconds_of(since_start - fault.from);
    switch (fault.kind) {
      case Kind::hot: ailment.heat_c = kHotRise_c * std::min(1.0, seconds / kHotRiseSeconds); break;
      case Kind::slow: ailment.slow = true; break;
      case Kind::dead: ailment.dead = true; break;
      case Kind::leak: ailment.leaked_bytes = std::floor(seconds * kLeakBytesPerSecond); break;
      case Kind::capped: ailment.capped = true; break;
      case Kind::idle: ailment.idle = true; break;
      case Kind::ecc: ailment.ecc_error = true; break;
      case Kind::remap: ailment.row_waits = true; break;
      default: break;
    }
    ailment.loaded = ailment.loaded || (fault.kind != Kind::ecc && fault.kind != Kind::remap);
  }
  ailment.throttled = ailment.heat_c > 0 && hottest_c + ailment.heat_c >= kThrottleFrom_c;
  return ailment;
}

double ailing_value(const GpuAilment& ailment, const SeriesKey& key, double value, double memory_bytes) {
  const std::string_view metric = key.name;
  if (metric == "gpu.temperature_c" || metric == "gpu.memory_temperature_c") {
    return value + ailment.heat_c - (ailment.idle ? kIdleCooler_c : 0);
  }
  if (metric == "gpu.sm_clock_mhz") return value * ailing_clock(ailment);
  if (metric == "gpu.power_w") return value * (ailment.idle ? kIdlePower : ailment.slow ? kSlowPower : 1);
  if (metric == "gpu.memory_used_bytes") return std::min(value + ailment.leaked_bytes.value_or(0), memory_bytes);
  if (metric == "gpu.ecc_uncorrected") return value + (ailment.ecc_error ? 1 : 0);
  if (metric == "gpu.row_remap_pending") return ailment.row_waits ? 1 : value;
  if (ailment.idle && is_activity(metric)) return 0;
  if (ailment.throttled && is_throttle(key, "sw_thermal")) return 1;
  if (ailment.capped && is_throttle(key, "sw_power")) return 1;
  return value;
}

std::vector<TelemetryEvent> events_between(const GpuAilment& before, const GpuAilment& now, const std::string& gpu) {
  std::vector<TelemetryEvent> events;
  const auto add = [&](std::string kind, std::string message, std::map<std::string, double> values = {}) {
    events.push_back({.time = WallTime(),
                      .kind = std::move(kind),
                      .about = gpu,
                      .message = std::move(message),
                      .values = std::move(values)});
  };
  if (now.dead && !before.dead) {
    add("xid", "XID 79: the GPU has fallen off the bus", {{"xid", 79}});
    add("gpu_lost", "the GPU has fallen off the bus (NVML 15)", {{"nvml_code", 15}});
  }
  if (before.dead && !now.dead) add("gpu_found", "the GPU is there again, or new");
  if (now.throttled != before.throttled) {
    add("throttle",
        now.throttled ? "slowed by temperature, by the driver (sw_thermal)"
                      : "no longer slowed by temperature, by the driver (sw_thermal)",
        {{"active", now.throttled ? 1 : 0}});
  }
  if (now.ecc_error && !before.ecc_error) {
    add("ecc_uncorrected", "1 more uncorrected memory error, 1 in all", {{"increase", 1}, {"total", 1}});
  }
  if (now.row_waits && !before.row_waits) add("row_remap", "a row waits to be remapped: the GPU needs a reset");
  return events;
}

}  // namespace assay
