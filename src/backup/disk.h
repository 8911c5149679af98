#pragma once

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// `usage` if there is something at the path that is no empty folder.
Result<void> check_new(const fs::path& folder);
/// `usage` if a folder is the data folder or lies inside of it.
Result<void> check_outside(const fs::path& folder, const fs::path& data);
/// Waits until everything that was written to the file system of this path is on the disk.
Result<void> sync_disk_of(const fs::path& path);

}  // namespace assay
