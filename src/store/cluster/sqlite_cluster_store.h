#pragma once

#include <memory>

#include "store/sqlite/repair.h"

namespace assay {

class ClusterStore;

/// The embedded one: one SQLite file, brought up to date where an older version wrote it. `unsupported` if a newer one
/// did.
Result<std::unique_ptr<ClusterStore>> open_cluster_store(const fs::path& file);

/// Looks at every page of a file that no process has open, and saves what can be saved of a damaged one; see
/// `repair_database`. Whatever cannot be read is lost: nodes come back when their agents say hello.
Result<DatabaseRepair> repair_cluster_store(const fs::path& file, bool mend);

}  // namespace assay
