#pragma once

#include <memory>

#include "store/account_tables.h"
#include "store/cluster/connections.h"

namespace assay {

/// The connections must outlive it.
std::unique_ptr<AccountTables> make_account_rows(ClusterConnections& connections);

}  // namespace assay
