#pragma once

#include <string>
#include <vector>

#include "backup/backup_receiver.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

struct RestoreSummary : BackupSummary {
  WallTime made{};                    ///< when the copy was made
  std::vector<std::string> warnings;  ///< what is not as it was, in words
};

/// Puts a copy that `BackupReceiver` made into a new or empty data folder, with the modes of all files and, for root,
/// their owners by name. Everything is read and held against its sum before the first byte is written, and again on the
/// way; what was written goes again if that fails. `usage` if the data folder has something in it; `bad_file`, with the
/// name of the file, for a copy that is damaged. A copy of an earlier version, which has no sums, is taken with a
/// warning, and everything in it becomes private to its owner.
Result<RestoreSummary> restore_data_folder(const fs::path& backup, const fs::path& data);

}  // namespace assay
