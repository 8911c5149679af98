#pragma once

#include <memory>

#include "store/cluster_store.h"

namespace assay {

/// The embedded one: one SQLite file, brought up to date where an older version wrote it. `unsupported` if a newer one
/// did.
Result<std::unique_ptr<ClusterStore>> open_cluster_store(const fs::path& file);

}  // namespace assay
