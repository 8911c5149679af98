#pragma once

#include "leader/node_registry.h"
#include "watch/rule_view.h"

namespace assay {

/// What the rules look at, from the newest values of every node. A value that is older than `kStaleAfter` by the node's
/// own clock is not known.
ClusterView view_of(const NodeRegistry& registry, const Clock& clock);

/// Some values are read once a minute only.
inline constexpr Nanos kStaleAfter = std::chrono::seconds(150);

}  // namespace assay
