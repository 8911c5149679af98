#pragma once

#include <string>
#include <vector>

#include "api/cluster_types.h"
#include "context.h"
#include "leader_place.h"

namespace assay {

/// Everything that somebody who was called about a node wants to see first: state, machine, GPUs, open alerts, what is
/// under way and what happened last.
int show_node(const Context& context, Connection& client, const std::string& node);

/// Empty without any.
std::string events_table(const std::vector<ClusterEvent>& events, bool with_node, const TerminalStyle& style);

}  // namespace assay
