#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/series.h"

namespace assay {

/// One value that a source read.
struct Sample {
  SeriesKey key;  ///< "host.cpu_util"; labels tell several devices apart: {"device": "nvme0n1"}
  std::string unit;
  double value = 0;
};

struct Reading {
  std::vector<Sample> samples;
  std::vector<std::string> missing;  ///< names that could not be read this time, each once
};

/// Where telemetry comes from: /proc, NVML, a recording. New sources go into a folder of their own beside this file.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  virtual std::string_view name() const = 0;
  /// Reads everything once. Blocks up to `deadline`; one caller at a time.
  /// Partial success is success: what could not be read is listed in `missing`. Rates (CPU, disk, network) need two
  /// readings: the first one leaves them out.
  virtual Result<Reading> read(SteadyTime deadline) = 0;
};

}  // namespace assay
