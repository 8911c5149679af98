#pragma once

#include <map>
#include <string>

#include "base/clock.h"

namespace assay {

/// Something that happened, as opposed to a value that is. The kinds are listed in src/telemetry/README.md.
struct TelemetryEvent {
  WallTime time;
  std::string kind;                      ///< "xid", "ecc", "throttle", "gpu_lost", "source_failing", …
  std::string about;                     ///< a GPU's UUID, a source's name
  std::string message;                   ///< for people, without a final full stop
  std::map<std::string, double> values;  ///< {"xid": 79}
  bool operator==(const TelemetryEvent&) const = default;
};

}  // namespace assay
