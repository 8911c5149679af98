#include "store/series/series_store.h"

#include "store/series/engine.h"

namespace assay {

SeriesStore::SeriesStore(std::unique_ptr<SeriesEngine> engine) : engine_(std::move(engine)) {}
SeriesStore::SeriesStore(SeriesStore&&) noexcept = default;
SeriesStore& SeriesStore::operator=(SeriesStore&&) noexcept = default;
SeriesStore::~SeriesStore() = default;

Result<SeriesStore> SeriesStore::open(const fs::path& folder, SeriesStoreOptions options) {
  ASSAY_TRY(auto engine, SeriesEngine::open(folder, options));
  return SeriesStore(std::move(engine));
}

Result<SeriesId> SeriesStore::intern(const SeriesKey& key, std::string_view unit) { return engine_->intern(key, unit); }

Result<AppendOutcome> SeriesStore::append(std::span<const SeriesSample> samples) { return engine_->append(samples); }

Result<AppendOutcome> SeriesStore::append(std::span<const SeriesBatch> batch) {
  std::vector<SeriesSample> samples;
  for (const auto& series : batch) {
    ASSAY_TRY(const auto id, engine_->intern(series.key, series.unit));
    for (const auto& point : series.points) samples.push_back({id, point.time_ns, point.value});
  }
  return engine_->append(samples);
}

Result<void> SeriesStore::sync() { return engine_->sync(); }
Result<UpkeepOutcome> SeriesStore::maintain(WallTime now) { return engine_->maintain(now); }
Result<void> SeriesStore::flush() { return engine_->flush(); }
Result<std::size_t> SeriesStore::erase(const SeriesSelector& selector, TimeRange range) {
  return engine_->erase(selector, range);
}
Result<void> SeriesStore::backup_to(const fs::path& folder) { return engine_->backup_to(folder); }

Result<SeriesAnswer> SeriesStore::query(const SeriesQuery& query) const { return engine_->query(query); }
Result<SeriesPoints> SeriesStore::points(SeriesId series, TimeRange range, std::size_t limit) const {
  return engine_->points(series, range, limit);
}
Result<std::vector<LatestValue>> SeriesStore::latest(const SeriesSelector& selector) const {
  return engine_->latest(selector);
}
Result<std::vector<SeriesInfo>> SeriesStore::list(const SeriesSelector& selector) const {
  return engine_->list(selector);
}
std::vector<std::string> SeriesStore::problems() const { return engine_->problems(); }
SeriesStoreStats SeriesStore::stats() const { return engine_->stats(); }

}  // namespace assay
