#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "store/series_rules.h"
#include "store/series_store.h"

namespace assay {

struct SeriesAnswer;

/// Series in memory: every point as long as its hour would be kept, and minutes and hours made when somebody asks.
/// Called by tests alone. Keeps the contract of SeriesStore, except that there is nothing to back up.
class SeriesMemory final : public SeriesStore {
 public:
  /// The clock must outlive it.
  explicit SeriesMemory(const Clock& clock, const SeriesLimits& limits = {}) : clock_(clock), limits_(limits) {}

  using SeriesStore::append;
  using SeriesStore::erase;
  using SeriesStore::intern;
  std::vector<Result<SeriesId>> intern(std::span<const SeriesInfo> series) override;
  Result<AppendOutcome> append(std::span<const SeriesSample> samples) override;
  Result<void> sync() override { return {}; }
  Result<UpkeepOutcome> maintain(WallTime now) override;
  Result<void> flush() override { return {}; }
  Result<std::size_t> erase(const SeriesSelector& selector, TimeRange range) override;
  /// `unsupported`.
  Result<void> backup_to(const fs::path& folder) override;

  Result<SeriesAnswer> query(const SeriesQuery& query) const override;
  Result<SeriesPoints> points(SeriesId series, TimeRange range, std::size_t limit) const override;
  Result<std::vector<LatestValue>> latest(const SeriesSelector& selector) const override;
  Result<std::vector<SeriesInfo>> list(const SeriesSelector& selector) const override;
  SeriesPage page(const SeriesSelector& selector, std::optional<SeriesId> after, std::size_t limit) const override;

  std::vector<std::string> problems() const override;
  SeriesStoreStats stats() const override;
  SeriesHolding holding(std::string_view owner) const override;
  SeriesLimits limits() const override { return limits_; }

  /// What whoever writes is told from now on, as of a disk that is full; absent: all is well again.
  void fail_writes(std::optional<Error> error);
  /// Damage that it is to speak of.
  void find_damage(std::string what);

 private:
  struct Series {
    SeriesInfo info;
    std::map<std::int64_t, double> points;
  };
  /// With the mutex.
  Result<SeriesId> intern_one(const SeriesKey& key, std::string_view unit);
  void forget_key(const SeriesInfo& series);
  std::uint64_t bytes_of(std::string_view owner) const;
  /// In order of id; with the mutex.
  Result<std::vector<const Series*>> select(const SeriesSelector& selector) const;

  const Clock& clock_;
  const SeriesLimits limits_;
  mutable std::mutex mutex_;
  std::map<SeriesId, Series> series_;
  std::map<SeriesKey, SeriesId> ids_;
  std::map<std::string, SeriesHolding, std::less<>> holdings_;
  SeriesId next_id_ = 1;
  SeriesFloors floors_{};
  std::int64_t newest_sample_ = 0;
  std::optional<Error> failure_;
  std::vector<std::string> damage_;
};

}  // namespace assay
