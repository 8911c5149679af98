#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "telemetry/nvml/gpu_reader.h"
#include "telemetry/nvml/nvml_api.h"

namespace assay {
struct TelemetryEvent;
}  // namespace assay

namespace assay::nvml {

/// XIDs: the numbers under which the driver reports what went wrong with a GPU.
class XidEvents {
 public:
  /// Null where the driver reports no events.
  static std::unique_ptr<XidEvents> make(const Api& api, std::vector<GpuHandle> gpus);
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;
  ~XidEvents();

  /// Appends those that have come since the last call, as events of kind `xid`, at most as many as `kMostAtOnce`.
  /// Does not block.
  void collect(WallTime wall, std::vector<TelemetryEvent>& events);

  static constexpr int kMostAtOnce = 64;

 private:
  XidEvents(const Api& api, EventSet set, std::vector<GpuHandle> gpus) : api_(api), set_(set), gpus_(std::move(gpus)) {}

  const Api& api_;
  EventSet set_;
  std::vector<GpuHandle> gpus_;
};

}  // namespace assay::nvml
