#pragma once

#include <string>

#include "context.h"
#include "leader_place.h"

namespace assay {

/// Everything that somebody who was called about a node wants to see first: state, machine, GPUs, open alerts, what is
/// under way and what happened last.
int show_node(const Context& context, Connection& client, const std::string& node);

/// A table of events as GET /api/v1/events gives them; empty without any.
std::string events_table(const json::value& events, bool with_node, const TerminalStyle& style);

}  // namespace assay
