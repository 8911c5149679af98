#include "store/series_store.h"

namespace assay {

Result<SeriesId> SeriesStore::intern(const SeriesKey& key, std::string_view unit) {
  const SeriesInfo series[] = {{.key = key, .unit = std::string(unit)}};
  return std::move(intern(series).front());
}

Result<AppendOutcome> SeriesStore::append(std::span<const SeriesBatch> batch) {
  std::vector<SeriesSample> samples;
  for (const auto& series : batch) {
    ASSAY_TRY(const auto id, intern(series.key, series.unit));
    for (const auto& point : series.points) samples.push_back({id, point.time_ns, point.value});
  }
  return append(samples);
}

}  // namespace assay
