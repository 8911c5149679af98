#pragma once

#include <string>

#include "model/series.h"

namespace assay {

/// One value that a source read.
struct Sample {
  SeriesKey key;  ///< "host.cpu_util"; labels tell several devices apart: {"device": "nvme0n1"}
  std::string unit;
  double value = 0;
};

}  // namespace assay
