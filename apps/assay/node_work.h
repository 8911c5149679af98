#pragma once

#include <string>

#include "context.h"
#include "leader_place.h"

namespace assay {

/// What a node's agent is asked to do, by the leader.
struct NodeWork {
  std::string node;
  std::string kind;    ///< "doctor", "run", "stop"
  std::string spec;    ///< of a run: the file
  std::string name;    ///< of a run; empty: the file's
  std::string id;      ///< of what is stopped
  bool force = false;  ///< a run: also on a node that is draining
  bool no_wait = false;
};

/// Sends it, waits for its end if asked to, and says what came of it. The exit code is that of the work itself.
int do_node_work(const Context& context, Connection& client, const NodeWork& work);

}  // namespace assay
