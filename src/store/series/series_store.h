#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "store/series/series_types.h"

namespace assay {

class SeriesEngine;

/// The telemetry of a cluster, in one folder that belongs to one process at a time.
///
/// **What is kept**: for each series one value per time stamp; of several, the last one appended. Points may come in
/// any order. Those after what is already in chunks wait in memory (the head) and are cheap; a late one costs the
/// rewriting of its chunk, minute and hour. Minutes and hours are made from the points as they are written to chunks.
///
/// **What a crash costs**: nothing that `append` returned for, if the process dies; up to `sync_every` if the machine
/// does.
///
/// **Threads**: any thread may call anything. Writers wait for each other; readers wait for nobody but the moment in
/// which a batch enters the head or a group of chunks is committed.
///
/// **Failure**: a full disk is an error of the call that met it; nothing is damaged, memory is not touched and the call
/// may be repeated. Damaged bytes are skipped, named in `problems()` and in the answer that met them.
class SeriesStore {
 public:
  /// `busy`, with the owner's name, if another process has the folder; `unsupported` if a newer version wrote it.
  static Result<SeriesStore> open(const fs::path& folder, SeriesStoreOptions options = {});
  SeriesStore(SeriesStore&&) noexcept;
  SeriesStore& operator=(SeriesStore&&) noexcept;
  /// Syncs the log. What is in the head stays there: the next `open` reads it back.
  ~SeriesStore();

  // --- writing ---

  /// The id of a series, new or known. `usage` if it is known with another unit, or its name or labels are too long.
  Result<SeriesId> intern(const SeriesKey& key, std::string_view unit);
  /// `not_found` if an id is unknown or was forgotten: then nothing of the batch is stored.
  Result<AppendOutcome> append(std::span<const SeriesSample> samples);
  Result<AppendOutcome> append(std::span<const SeriesBatch> batch);
  /// Makes sure that everything appended survives a crash of the machine.
  Result<void> sync();
  /// A slice of upkeep: full series to chunks, sync, retention, log files and free pages. Call it about once a second,
  /// and again at once while it says `more`. After a failure the rest of the slice was done all the same.
  ///
  /// Retention does not believe a clock that has just jumped or that has been watched for less than an hour: until then
  /// it counts back from the newest sample of before.
  Result<UpkeepOutcome> maintain(WallTime now);
  /// Writes the whole head to chunks.
  Result<void> flush();
  /// Deletes the points in `range` of every selected series, and with the unlimited range the series themselves; says
  /// how many series were touched. Roll-ups are made again where raw points still exist; older ones lose the minutes
  /// and hours that lie wholly inside.
  Result<std::size_t> erase(const SeriesSelector& selector, TimeRange range = {});
  /// A copy of the store as it is at some moment during the call, into a new or empty folder; writers go on meanwhile.
  Result<void> backup_to(const fs::path& folder);

  // --- reading: everything that was appended, in the head or not ---

  /// Buckets start at multiples of their width. A width that follows from `max_points` is one that people would choose
  /// (1 s, 5 s, 2 min …); every width is rounded up to a multiple of the tier's (raw: as it is), and
  /// the tier is the coarsest that fits the width and still has the whole first bucket. Minimum, maximum and counts are
  /// exact, means to rounding. `usage` if the answer would exceed its limits.
  Result<SeriesAnswer> query(const SeriesQuery& query) const;
  /// Raw points in order of time, the first `limit` of the range; at most `max_answer_points`.
  Result<SeriesPoints> points(SeriesId series, TimeRange range, std::size_t limit) const;
  /// The newest point of each selected series that has one, whatever its age.
  Result<std::vector<LatestValue>> latest(const SeriesSelector& selector) const;
  Result<std::vector<SeriesInfo>> list(const SeriesSelector& selector) const;

  /// Damage that was found since it was opened, in words, each once; at most a hundred.
  std::vector<std::string> problems() const;
  SeriesStoreStats stats() const;

 private:
  explicit SeriesStore(std::unique_ptr<SeriesEngine> engine);
  std::unique_ptr<SeriesEngine> engine_;
};

}  // namespace assay
