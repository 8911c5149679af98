#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// A real Slurm on this machine: munged, slurmctld and `nodes` slurmd of two CPUs each, all in a temporary folder and
/// on loopback. Needs root (slurmd starts jobs as other users). Everything it started is ended with it.
class SlurmCluster {
 public:
  /// Blocks until every node is idle. Error `unsupported` where Slurm is not installed or we are not root.
  static Result<std::unique_ptr<SlurmCluster>> start(int nodes);
  ~SlurmCluster();

  /// What clients (srun, sbatch …) need to find this cluster.
  std::map<std::string, std::string> environment() const;

 private:
  SlurmCluster() = default;
  Result<void> start_munge();
  Result<void> start_daemons(int nodes);
  Result<void> wait_until_idle(int nodes) const;
  Result<void> start_daemon(const std::vector<std::string>& command);

  TemporaryFolder folder_;
  std::vector<pid_t> daemons_;
};

}  // namespace assay
