#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

struct Reading;

/// Where telemetry comes from: /proc, NVML, a recording. New sources go into a folder of their own beside this file.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  virtual std::string_view name() const = 0;
  /// Reads everything once. Blocks up to `deadline`; one caller at a time.
  /// Partial success is success: what could not be read is listed in `missing`. Rates (CPU, disk, network) need two
  /// readings: the first one leaves them out.
  virtual Result<Reading> read(SteadyTime deadline) = 0;
  /// Like `read`, with the fields that are too costly for every reading (total energy, throttle time): for the edges
  /// of a run, whose difference they are.
  virtual Result<Reading> read_everything(SteadyTime deadline);
};

}  // namespace assay
