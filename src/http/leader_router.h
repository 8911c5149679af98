#pragma once

#include <span>

#include "dashboard/embedded_files.h"
#include "http/api_routes.h"
#include "http/api_table.h"
#include "leader/leader.h"
#include "net/router.h"

namespace assay {

/// The API alone. The leader must outlive it.
ApiTable make_leader_api(Leader& leader, BeginBackup backup);

/// Everything that a leader answers. Leader, gatekeeper and the files of the dashboard must outlive the router.
Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, BeginBackup backup,
                          std::span<const DashboardFile> dashboard = {});

}  // namespace assay
