#pragma once

#include "http/api_routes.h"
#include "http/api_table.h"
#include "leader/leader.h"
#include "net/router.h"

namespace assay {

/// The API alone. The leader must outlive it.
ApiTable make_leader_api(Leader& leader, BeginBackup backup);

/// Everything that a leader answers. Leader and gatekeeper must outlive the router.
Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, BeginBackup backup);

}  // namespace assay
