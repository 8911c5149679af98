#pragma once

#include "store/cluster/connections.h"
#include "store/node_table.h"

namespace assay {

class NodeRows final : public NodeTable {
 public:
  explicit NodeRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<Stored<NodeRecord>>> list(std::string_view after, std::size_t limit) override;
  Result<Stored<NodeRecord>> find(std::string_view name) override;
  Result<Revision> put(const Stored<NodeRecord>& node) override;
  Result<void> note_seen(std::span<const Seen> seen) override;
  Result<void> remove(std::string_view name) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
