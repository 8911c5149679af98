#include "store/series_store.h"

namespace assay {

Result<AppendOutcome> SeriesStore::append(std::span<const SeriesBatch> batch) {
  std::vector<SeriesSample> samples;
  for (const auto& series : batch) {
    ASSAY_TRY(const auto id, intern(series.key, series.unit));
    for (const auto& point : series.points) samples.push_back({id, point.time_ns, point.value});
  }
  return append(samples);
}

}  // namespace assay
