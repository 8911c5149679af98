#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/series.h"

namespace assay {

// What sources of telemetry hand over. Values alone: whoever stores, sends or judges readings needs no source.

/// One value that a source read.
struct Sample {
  SeriesKey key;  ///< "host.cpu_util"; labels tell several devices apart: {"device": "nvme0n1"}
  std::string unit;
  double value = 0;
};

/// Something that happened, as opposed to a value that is. The kinds are listed in src/telemetry/README.md.
struct TelemetryEvent {
  WallTime time;
  std::string kind;                      ///< "xid", "ecc", "throttle", "gpu_lost", "source_failing", …
  std::string about;                     ///< a GPU's UUID, a source's name
  std::string message;                   ///< for people, without a final full stop
  std::map<std::string, double> values;  ///< {"xid": 79}
  bool operator==(const TelemetryEvent&) const = default;
};

/// A device that samples are about, and what does not change while it runs.
struct DeviceFacts {
  std::string id;                            ///< the UUID of a GPU: the value of the label `gpu`
  std::map<std::string, std::string> facts;  ///< {"name": "NVIDIA H200", "driver": "570.124.06"}
  bool operator==(const DeviceFacts&) const = default;
};

/// A process that uses a GPU.
struct GpuProcess {
  std::string gpu;                           ///< UUID
  std::int64_t pid = 0;                      ///< in the sensor's PID namespace
  std::optional<std::int64_t> memory_bytes;  ///< absent where the driver does not say
  bool operator==(const GpuProcess&) const = default;
};

struct Reading {
  std::vector<Sample> samples;
  std::vector<std::string> missing;  ///< names that could not be read this time, each once
  std::vector<TelemetryEvent> events;
  std::optional<std::vector<DeviceFacts>> devices;   ///< all of them; only in the first reading and after a change
  std::optional<std::vector<GpuProcess>> processes;  ///< all of them; absent where this reading did not look
};

}  // namespace assay
