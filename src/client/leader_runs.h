#pragma once

#include <memory>

#include "client/connection.h"
#include "store/run_store.h"

namespace assay {

/// The runs of a leader. Leases that are good for as long as this process lives are short ones there, renewed as long
/// as something is recorded.
std::unique_ptr<RunStore> open_leader_runs(std::shared_ptr<Connection> connection);

}  // namespace assay
