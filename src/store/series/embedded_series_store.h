#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "store/series_store.h"
#include "store/sqlite/repair.h"

namespace assay {

struct SeriesStoreOptions : SeriesLimits {
  /// How much a crash of the machine may cost.
  Nanos sync_every = std::chrono::seconds(1);
  std::size_t max_head_bytes = std::size_t{1} << 30;
  std::uint64_t log_file_bytes = std::uint64_t{64} << 20;
  /// Beyond this many, the oldest log file is emptied even of series that have few points.
  std::size_t max_log_files = 16;
  /// A series without news for this long is written out, however few points it has.
  Nanos idle_after = std::chrono::hours(1);
  /// Turned off by itself on network file systems, where SQLite's WAL is not safe.
  bool write_ahead_log = true;
  const Clock* clock = nullptr;  ///< the machine's if absent; must outlive the store
};

/// The store in one folder that belongs to one process at a time.
///
/// Points after what is already in chunks wait in memory (the head) and are cheap; a late one costs the rewriting of
/// its chunk, minute and hour. Minutes and hours are made from the points as they are written to chunks. When the store
/// goes away, its log is synced; what is in the head stays there, and the next `open` reads it back.
///
/// **What a crash costs**: nothing that `append` returned for, if the process dies; up to `sync_every` if the machine
/// does. Readers wait for the moment in which a batch enters the head or a group of chunks is committed.
///
/// `busy`, with the owner's name, if another process has the folder; `unsupported` if a newer version wrote it.
Result<std::unique_ptr<SeriesStore>> open_series_store(const fs::path& folder, const SeriesStoreOptions& options = {});

/// Keeps every process from opening the store in a folder, without opening or changing it: for whoever copies or mends
/// its files. Nothing where there is no store. `busy`, with the owner's name, if a process has it.
Result<std::optional<FileLock>> lock_series_store(const fs::path& folder);

/// Looks at every page of the database of a store that is locked, and saves what can be saved of a damaged one; see
/// `repair_database`. Logs are left alone: the store reads them around any damage. As long as the damaged file is
/// beside the new one, answers say that they may lack something.
Result<DatabaseRepair> repair_series_store(const fs::path& folder, bool mend);

}  // namespace assay
