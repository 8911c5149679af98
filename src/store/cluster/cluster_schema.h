#pragma once

#include "store/sqlite/sqlite.h"

namespace assay {

/// Makes the tables, or brings those of an older version up to date with all that is in them.
Result<void> update_cluster_tables(Database& database);

}  // namespace assay
