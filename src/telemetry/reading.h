#pragma once

#include <optional>
#include <string>
#include <vector>

#include "telemetry/devices.h"
#include "telemetry/sample.h"
#include "telemetry/telemetry_event.h"

namespace assay {

// What sources of telemetry hand over. Values alone: whoever stores, sends or judges readings needs no source.

struct Reading {
  std::vector<Sample> samples;
  std::vector<std::string> missing;  ///< names that could not be read this time, each once
  std::vector<TelemetryEvent> events;
  std::optional<std::vector<DeviceFacts>> devices;   ///< all of them; only in the first reading and after a change
  std::optional<std::vector<GpuProcess>> processes;  ///< all of them; absent where this reading did not look
};

}  // namespace assay
