#pragma once

#include "store/cluster/connections.h"
#include "store/cluster_store.h"

namespace assay {

class RunCommandRows final : public RunCommandTable {
 public:
  explicit RunCommandRows(ClusterConnections& connections) : connections_(connections) {}

  Result<Stored<RunCommand>> find(std::string_view id) override;
  Result<Revision> put(const Stored<RunCommand>& command) override;
  Result<void> forget_before(WallTime time) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
