#pragma once

#include "store/cluster/connections.h"
#include "store/job_table.h"

namespace assay {

class JobRows final : public JobTable {
 public:
  explicit JobRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<Stored<JobRecord>>> list() override;
  Result<Revision> put(const Stored<JobRecord>& job) override;
  Result<void> remove(std::string_view run) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
