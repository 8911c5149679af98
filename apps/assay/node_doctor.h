#pragma once

#include <string>

#include "context.h"
#include "leader_place.h"

namespace assay {

/// Asks a node's agent, by the leader, whether its machine is ready, waits for the answer and shows it. The exit code
/// is that of `assay doctor` there.
int ask_for_doctor(const Context& context, Connection& client, const std::string& node);

}  // namespace assay
