#pragma once

#include <map>
#include <optional>
#include <set>

#include "base/result.h"
#include "store/series/series_file.h"

namespace assay {

/// How far each series is in chunks, as far as a damaged database can still say. Used while a store is opened.
class StoredProgress {
 public:
  static Result<StoredProgress> read(SeriesFile& file);

  /// Nothing where the database cannot say any more: whatever a log has of the series may be in chunks already.
  Result<std::optional<SeriesProgress>> of(SeriesFile& file, SeriesId series) const;
  /// Of those series that still have one, whether or not they have a name.
  const std::map<SeriesId, SeriesProgress>& known() const { return known_; }

 private:
  std::map<SeriesId, SeriesProgress> known_;
  std::set<SeriesId> damaged_;
  bool complete_ = true;  ///< no page was skipped: a series without progress has no chunks
};

}  // namespace assay
