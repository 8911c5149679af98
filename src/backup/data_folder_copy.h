#pragma once

#include <functional>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// What a leader keeps below its data folder, in `leader/`.
struct LeaderParts {
  std::vector<fs::path> files;  ///< and folders that may be copied as they are, relative to the data folder
  /// Copies what is open to the same places below the data folder it is given, while whoever uses it goes on.
  std::function<Result<void>(const fs::path& data)> copy_open;
};

/// Copies a data folder, with what its leader keeps, into a new or empty folder, while everything goes on. `usage` if
/// the folder has something in it, or lies inside the data folder.
Result<void> copy_data_folder(const fs::path& data, const LeaderParts& leader, const fs::path& folder);

/// Puts such a copy into a new or empty data folder, without the index of its runs. `usage` if that has something in
/// it; `bad_file` if `backup` is no such copy.
Result<void> restore_data_folder(const fs::path& backup, const fs::path& data);

}  // namespace assay
