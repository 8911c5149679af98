#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "backup/backup_receiver.h"
#include "base/byte_stream.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// Backups of a data folder whose stores are open in this process. One at a time, since each needs as much room beside
/// the stores as those take. Any thread. Must outlive the sources it gave.
class BackupDesk {
 public:
  struct Options {
    fs::path data;
    std::vector<fs::path> open;  ///< what `copy_open` copies, relative to the data folder
    /// Copies the open stores to the same places below the folder it is given, while whoever uses them goes on.
    std::function<Result<void>(const fs::path& folder)> copy_open;
  };

  /// Removes what a process that was killed has left.
  BackupDesk(Options options, const Clock& clock);
  BackupDesk(const BackupDesk&) = delete;
  BackupDesk& operator=(const BackupDesk&) = delete;

  /// Copies the stores, which may take minutes, and answers with the archive of everything. `busy` as long as the
  /// source of another backup is there; `io` if the disk has no room for the copies.
  Result<std::shared_ptr<ByteSource>> begin();
  /// The same into a new folder of this machine; see `BackupReceiver`. `interrupted` soon after a stop was requested,
  /// once the stores are copied.
  Result<BackupSummary> make(const fs::path& folder, const std::stop_token& stop = {});

 private:
  /// Where the copies are, until it goes away.
  class Turn;
  Result<void> check_room() const;

  const Options options_;
  const Clock& clock_;
  const fs::path copies_;
  std::atomic<bool> taken_ = false;
};

}  // namespace assay
