#pragma once

#include <stop_token>

#include "serving/carried_load.h"
#include "sharing/load_follower.h"

namespace assay {

/// A client that is not the first: carries its share of one load after the other, as the coordinator orders, and hands
/// in what it recorded. Blocks until there is no further load. A target that cannot be put under load is told to the
/// coordinator, which ends the run. Errors: `lost_peer` (the coordinator is gone), `interrupted`.
Result<void> follow_loads(const ServeSettings& settings, const LoadCarrier& carrier, LoadFollower& follower,
                          const std::stop_token& stopping);

}  // namespace assay
