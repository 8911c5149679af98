#pragma once

#include <string_view>

namespace assay {

enum class NodeState {
  online,
  late,      ///< a heartbeat is overdue
  offline,   ///< silent for three heartbeats
  draining,  ///< online, but gets no new work: an administrator said so
};
std::string_view name_of(NodeState state);

}  // namespace assay
