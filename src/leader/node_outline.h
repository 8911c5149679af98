#pragma once

#include <cstddef>
#include <cstdint>

#include "model/node_state.h"

namespace assay {

/// The little that a list shows of a node.
struct NodeOutline {
  NodeState state = NodeState::offline;
  bool simulated = false;
  std::size_t gpus = 0;
  std::uint64_t changes = 0;  ///< the count of changes of its values
  std::uint64_t told = 0;     ///< how often its agent or an administrator has said something of it
};

}  // namespace assay
