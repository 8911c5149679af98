#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/series_bucket.h"
#include "store/series_types.h"

namespace assay {

/// What a query gives, bucket by bucket.
/// `problems`: what could not be read, in words; the rest of the answer is right.
struct SeriesAnswer {
  struct Row {
    SeriesInfo series;
    std::vector<SeriesBucket> buckets;  ///< in order of time; empty ones are left out
  };
  TimeRange range;            ///< what the buckets really cover
  std::int64_t width_ns = 0;  ///< their real width
  SeriesTier tier = SeriesTier::raw;
  std::vector<Row> rows;
  std::vector<std::string> problems;
};

}  // namespace assay
