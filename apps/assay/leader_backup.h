#pragma once

#include "base/files.h"
#include "base/result.h"
#include "leader_stores.h"

namespace assay {

/// Copies a data folder, with what its leader keeps, into a new or empty folder, while everything goes on. `usage` if
/// the folder has something in it, or lies inside the data folder.
Result<void> back_up(const fs::path& data, LeaderData& leader, const fs::path& folder);

/// Puts such a copy into a new or empty data folder. `usage` if that has something in it; `bad_file` if `backup` is no
/// backup.
Result<void> restore(const fs::path& backup, const fs::path& data);

}  // namespace assay
