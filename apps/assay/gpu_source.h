#pragma once

#include <memory>

#include "base/files.h"
#include "telemetry/metric_source.h"

namespace assay {

/// Whether GPUs of NVIDIA are in this machine, also while their driver is not. `root`: where dev/, proc/ and sys/ are.
bool has_nvidia_gpu(const fs::path& root = "/");

/// The GPUs of this machine, read by a sensor: this program, started again, since drivers hang and crash.
std::unique_ptr<MetricSource> make_gpu_source();

/// First argument that makes the program such a sensor.
inline constexpr const char* kSensorArgument = "__sensor";
int sensor_main();

}  // namespace assay
