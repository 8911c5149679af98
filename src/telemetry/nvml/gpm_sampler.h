#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "telemetry/nvml/gpu_fields.h"
#include "telemetry/nvml/nvml_api.h"

namespace assay::nvml {

/// Ratios of the hardware's own counters (GPM; Hopper and later), over the time between two calls.
class GpmSampler {
 public:
  /// Null where the driver or the device has no GPM. `parent` and `gpu_instance` for a MIG instance.
  static std::unique_ptr<GpmSampler> make(const Api& api, Device device, Device parent, unsigned gpu_instance);
  GpmSampler(const GpmSampler&) = delete;
  GpmSampler& operator=(const GpmSampler&) = delete;
  ~GpmSampler();

  struct Ratio {
    Field field;
    double value;  ///< in the unit of the field's metric
  };
  /// Empty the first time, and where the last sample is younger than the hardware renews its counters.
  /// `code` is what the driver said.
  std::vector<Ratio> read(SteadyTime now, Code& code);

 private:
  GpmSampler(const Api& api, Device device, unsigned gpu_instance, std::array<GpmSample, 2> samples)
      : api_(api), device_(device), gpu_instance_(gpu_instance), samples_(samples) {}

  const Api& api_;
  Device device_;
  unsigned gpu_instance_;             ///< kNoInstance for a whole GPU
  std::array<GpmSample, 2> samples_;  ///< the older one first
  std::optional<SteadyTime> last_;
};

}  // namespace assay::nvml
