#pragma once

#include <cstdint>
#include <string>

#include "model/series.h"

namespace assay {

/// A series of an open store, good until it is forgotten or the store is closed: after a restart, ask again.
using SeriesId = std::uint32_t;

/// One reading, on the hot path.
struct SeriesSample {
  SeriesId series = 0;
  std::int64_t time_ns = 0;
  double value = 0;
};

struct SeriesInfo {
  SeriesId id = 0;
  SeriesKey key;
  std::string unit;
};

}  // namespace assay
