#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "telemetry/metric_source.h"
#include "telemetry/nvml/nvml_api.h"

namespace assay {

struct NvmlOptions {
  const Clock* clock = nullptr;                    ///< the machine's if null; must outlive the source
  Nanos calm_period = std::chrono::seconds(10);    ///< between readings of error counters, links and processes
  Nanos costly_period = std::chrono::seconds(60);  ///< between readings of what takes the driver milliseconds
  Nanos lost_retry = std::chrono::seconds(30);     ///< until a lost GPU, or a driver, is looked for; then ever longer
};

/// Every GPU and MIG instance of this machine, through NVML, in this process. A reading blocks as long as the driver
/// does, `deadline` notwithstanding, and that may be for ever: outside of tests this belongs into a sensor.
/// A GPU that is lost is an event and the others go on. Errors: `no_device` (no driver, no GPU).
/// NVML is started by the first reading.
std::unique_ptr<MetricSource> make_nvml_source(nvml::Api api, const NvmlOptions& options = {});

/// The same with a library that is loaded by the first reading that finds it; until then readings fail with
/// `no_device`. This is what a sensor serves: `run_sensor(kSensorChannel, kSensorChannel, *make_nvml_source())`.
std::unique_ptr<MetricSource> make_nvml_source(const std::string& library = "libnvidia-ml.so.1",
                                               const NvmlOptions& options = {});

}  // namespace assay
