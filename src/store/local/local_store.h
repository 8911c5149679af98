#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"

namespace assay {

class RunStore;

/// How the data folder's file system may be used.
enum class Sharing {
  local,    ///< write-ahead log: readers and a writer side by side
  network,  ///< memory shared between hosts is not safe: rollback journal, one writer at a time by a lock file
};

struct LocalStoreOptions {
  std::optional<Sharing> sharing;  ///< by the kind of file system unless it is given
  const Clock* clock = nullptr;    ///< that leases run by; the machine's unless it is given
  /// Looks for what a process that was killed has left: runs that are not in the index, remains of runs that were half
  /// made or half removed. Costs a look at the name of every run; for services, which then live long.
  bool tidy = false;
  /// What a run may record, its files included; a leader must not let one fill its disk.
  std::optional<Bytes> most_of_a_run;
};

/// The most files that a run may have where there is a `most_of_a_run`.
inline constexpr std::size_t kMostFilesOfRun = 10'000;

/// The store in a folder of this machine (or of a network file system): one folder per run, an SQLite index beside
/// them. Makes the folder if it is missing. A folder that cannot be written can still be read. README.md of src/store
/// shows the layout.
Result<std::unique_ptr<RunStore>> open_local_store(const fs::path& folder, const LocalStoreOptions& options = {});

}  // namespace assay
