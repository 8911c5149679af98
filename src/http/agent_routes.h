#pragma once

#include "http/api_table.h"

namespace assay {

class Leader;
class Router;

/// What agents ask of their leader: docs/reference/agent-protocol.md. Leader and gatekeeper must outlive the router.
void add_agent_routes(Router& router, Leader& leader, Gatekeeper& gatekeeper);

}  // namespace assay
