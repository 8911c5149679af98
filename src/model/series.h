#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// Which series a point belongs to.
struct SeriesKey {
  std::string name;                           ///< "loss", "host.cpu_util"
  std::map<std::string, std::string> labels;  ///< {"rank": "1"}; mostly empty
  auto operator<=>(const SeriesKey&) const = default;
};

/// One value of a series. `step` is kNoStep where only time matters (telemetry).
struct SeriesPoint {
  std::int64_t time_ns = 0;  ///< since the Unix epoch
  std::int64_t step = -1;
  double value = 0;
};
constexpr std::int64_t kNoStep = -1;

}  // namespace assay
