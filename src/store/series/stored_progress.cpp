#include "store/series/stored_progress.h"

namespace assay {

Result<StoredProgress> StoredProgress::read(SeriesFile& file) {
  StoredProgress stored;
  ASSAY_TRY(stored.complete_, file.each_progress([&](SeriesId id, const std::optional<SeriesProgress>& progress) {
    if (progress) {
      stored.known_[id] = *progress;
    } else {
      stored.damaged_.insert(id);
    }
  }));
  return stored;
}

Result<std::optional<SeriesProgress>> StoredProgress::of(SeriesFile& file, SeriesId series) const {
  if (const auto known = known_.find(series); known != known_.end()) return std::optional(known->second);
  if (complete_ && !damaged_.contains(series)) return std::optional(SeriesProgress{});
  // A chunk ends where its series was stored up to; only the last one will do.
  const auto newest = file.raw().newest(series);
  if (!newest.ok() && newest.error().kind != ErrorKind::bad_file) return newest.error();
  if (!newest.ok()) return std::optional<SeriesProgress>();
  if (!*newest) return std::optional(SeriesProgress{});
  return std::optional(SeriesProgress{.stored_until = (*newest)->time_ns, .newest = **newest});
}

}  // namespace assay
