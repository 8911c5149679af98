#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace assay {

/// One series of numbers of a run, summed up. The points are in the run's journal.
struct SeriesSummary {
  std::string name;                           ///< "loss", "host.cpu_util"
  std::map<std::string, std::string> labels;  ///< {"rank": "1"}; mostly empty
  std::string unit;                           ///< "", "s", "B", "1/s", "W", "°C"
  std::int64_t points = 0;
  std::int64_t non_finite = 0;  ///< NaN and infinity among `points`; left out of the figures below
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  bool operator==(const SeriesSummary&) const = default;
};

json::object to_json(const SeriesSummary& series);

}  // namespace assay
