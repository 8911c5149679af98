#pragma once

#include <cmath>

#include "model/series.h"
#include "model/series_summary.h"

namespace assay {

/// Sums up a series as its points come in.
class SeriesTally {
 public:
  void add(double value) {
    ++points_;
    if (!std::isfinite(value)) return;
    if (finite_++ == 0) first_ = min_ = max_ = value;
    last_ = value;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    sum_ += value;
  }

  bool empty() const { return points_ == 0; }
  bool any_finite() const { return finite_ > 0; }
  double last() const { return last_; }

  SeriesSummary summary(const SeriesKey& key, std::string_view unit) const {
    return {.name = key.name,
            .labels = key.labels,
            .unit = std::string(unit),
            .points = points_,
            .non_finite = points_ - finite_,
            .first = first_,
            .last = last_,
            .min = min_,
            .max = max_,
            .mean = finite_ > 0 ? sum_ / static_cast<double>(finite_) : 0};
  }

 private:
  std::int64_t points_ = 0;
  std::int64_t finite_ = 0;
  double first_ = 0;
  double last_ = 0;
  double min_ = 0;
  double max_ = 0;
  double sum_ = 0;
};

}  // namespace assay
