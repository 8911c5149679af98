#pragma once

#include <memory>

#include "http/api_routes.h"
#include "http/api_table.h"
#include "leader/leader.h"
#include "net/router.h"

namespace assay {

/// The API alone. The leader must outlive it.
ApiTable make_leader_api(Leader& leader, MakeBackup backup);

/// Lets in whom the book knows and whom the leader has accounts for, and has the leader keep who changed what. Both
/// must outlive it.
std::unique_ptr<Gatekeeper> make_gatekeeper(Leader& leader, TokenBook& book);

/// Everything that a leader answers. Leader and gatekeeper must outlive the router.
Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, MakeBackup backup);

}  // namespace assay
