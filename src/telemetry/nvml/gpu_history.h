#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/clock.h"
#include "telemetry/nvml/gpu_reader.h"

namespace assay {
struct TelemetryEvent;
}  // namespace assay

namespace assay::nvml {

/// What was last known of one GPU, to make events of what has changed. Outlives the GPU's loss and a restart of NVML.
class GpuHistory {
 public:
  explicit GpuHistory(std::string uuid) : uuid_(std::move(uuid)) {}

  /// Compares, remembers, and appends an event for each change: `ecc`, `row_remap`, `throttle`. Counters that went
  /// back (a new driver was loaded) start anew.
  void note(const GpuCondition& now, SteadyTime time, WallTime wall, std::vector<TelemetryEvent>& events);

 private:
  struct Throttle {
    bool active = false;
    SteadyTime last_seen{};
  };

  void note_throttle(std::uint64_t reasons, SteadyTime time, WallTime wall, std::vector<TelemetryEvent>& events);
  TelemetryEvent event(WallTime wall, std::string kind, std::string message) const;

  std::string uuid_;
  GpuCondition last_;
  std::array<Throttle, kThrottleReasons.size()> throttle_{};
};

}  // namespace assay::nvml
