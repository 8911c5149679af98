#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/series/tier_table.h"
#include "store/series_types.h"
#include "store/sqlite/sqlite.h"

namespace assay {

/// How far a series is in chunks, and what its newest stored point is.
struct SeriesProgress {
  std::int64_t stored_until = kNever;  ///< nothing later is in chunks
  TimedValue newest{kNever, 0};        ///< kNever: no point is stored
};

/// One connection to `series.db`. The writer has one, each reader at work another. Not thread-safe.
class SeriesFile {
 public:
  /// Makes the tables of a new file and brings those of an older version up to date. `unsupported` if a newer version
  /// wrote it, `bad_file` if it is no database.
  static Result<std::unique_ptr<SeriesFile>> open(const fs::path& path, bool write_ahead_log);

  Database& database() { return database_; }
  PointTable& raw() { return *raw_; }
  BucketTable& minutes() { return *minutes_; }
  BucketTable& hours() { return *hours_; }

  /// Adds points and brings minutes and hours up to date. `stored_until` is what it was before them.
  Result<void> store(SeriesId series, std::span<const TimedValue> points, std::int64_t stored_until,
                     std::vector<std::string>& problems);
  /// Takes points away. Minutes are made again from `raw_floor` on, where all raw points still exist.
  Result<void> erase(SeriesId series, TimeRange range, std::int64_t raw_floor, std::vector<std::string>& problems);
  Result<void> forget(SeriesId series);

  Result<void> put_series(const SeriesInfo& series);
  Result<void> put_progress(SeriesId series, const SeriesProgress& progress);
  /// Every series that can be read, in order of id.
  Result<void> each_series(const std::function<void(const SeriesInfo&)>& visit, std::vector<std::string>& problems);
  /// Every progress there is; nothing instead of one that is damaged. False: there may be more on pages that cannot be
  /// read.
  Result<bool> each_progress(const std::function<void(SeriesId, const std::optional<SeriesProgress>&)>& visit);

  /// A change of rows, whose growth is counted anew.
  Result<Transaction> begin();
  /// Last in a change: writes down by how much the rows of series have grown, and says it. A size that cannot be
  /// written since its page is damaged is measured when the store is next opened.
  Result<SeriesGrowth> save_growth();
  /// How many bytes the rows of series take, as far as that was written down and can be read.
  Result<void> each_size(const std::function<void(SeriesId, std::int64_t)>& visit);
  /// Measures it, looking at every row that can be read.
  Result<std::int64_t> measure(SeriesId series);
  Result<void> put_size(SeriesId series, std::int64_t bytes);

  /// Named numbers; 0 where it was never set.
  Result<std::int64_t> setting(const std::string& name);
  Result<void> put_setting(const std::string& name, std::int64_t value);

 private:
  explicit SeriesFile(Database database) : database_(std::move(database)) {}
  Result<void> migrate();
  Result<void> prepare();
  /// Calls `visit` with every row of a statement that takes the id to start after; jumps over what cannot be read, and
  /// no further.
  Result<void> walk(const std::string& sql, const std::function<void(const Statement&)>& visit,
                    const std::function<void(std::string)>& on_damage);
  /// Makes the minutes again that begin at the given times, and the hours they are in.
  Result<void> renew_minutes(SeriesId series, std::span<const std::int64_t> starts, std::vector<std::string>& problems);
  Result<void> renew_hours(SeriesId series, std::span<const std::int64_t> starts, std::vector<std::string>& problems);

  SeriesGrowth growth_;
  Database database_;
  std::optional<PointTable> raw_;
  std::optional<BucketTable> minutes_;
  std::optional<BucketTable> hours_;
  std::optional<Statement> put_series_;
  std::optional<Statement> put_progress_;
  std::optional<Statement> grow_;
};

}  // namespace assay
