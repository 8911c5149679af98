#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/series.h"

namespace assay {

/// What a chart wants to know of a run's series.
struct CurveQuestion {
  enum class Axis { step, time };
  std::vector<std::string> names;  ///< empty: every series
  Axis axis = Axis::step;
  std::optional<std::int64_t> from;  ///< steps, or nanoseconds since the Unix epoch; absent: from the first point on
  std::optional<std::int64_t> to;    ///< up to here, without it; absent: to the last point
  std::size_t width = 1000;          ///< at most so many buckets a series; fewer where there are thousands of series
};

/// The points of a stretch of the axis. The figures are exact; NaN and infinity are counted and left out of them.
struct CurveBucket {
  std::int64_t begin = 0;  ///< where it starts; it reaches to `begin + span`
  std::int64_t points = 0;
  std::int64_t finite = 0;  ///< of `points`; with none, the figures below mean nothing
  double min = 0;
  double max = 0;
  double sum = 0;
  double last = 0;  ///< the last finite one
  bool operator==(const CurveBucket&) const = default;
};

struct RunCurve {
  SeriesKey key;
  std::string unit;
  std::int64_t span = 1;             ///< of every bucket: steps or nanoseconds
  std::vector<CurveBucket> buckets;  ///< that have points, in order
};

/// More buckets would be more than any screen has columns.
inline constexpr std::size_t kMostBuckets = 20'000;

}  // namespace assay
