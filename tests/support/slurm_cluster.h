#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// A real Slurm on this machine: munged, slurmctld and `nodes` slurmd of 32 CPUs and two GPUs each (as far as Slurm
/// knows: the devices are /dev/null), all in a temporary folder and on loopback. Partitions: `normal`, `whole` that
/// gives out whole nodes, and `urgent`, whose jobs end those of others where there is no room. No accounts. Needs root
/// (slurmd starts jobs as other users). Everything it started is ended with it. One thread.
class SlurmCluster {
 public:
  /// Whether `start` has a chance: Slurm is installed, we are root, and the machine knows its own name. Else the
  /// reason.
  static Result<void> check_possible();
  /// Blocks until every node is idle. Error `unsupported` where Slurm is not installed or we are not root.
  static Result<std::unique_ptr<SlurmCluster>> start(int nodes);
  ~SlurmCluster();

  /// Whether a slurmrestd is installed, too, that speaks v0.0.38; then the cluster has one, which is at `rest()`.
  static bool has_rest();
  std::string rest() const;

  /// What clients (srun, sbatch …) need to find this cluster.
  std::map<std::string, std::string> environment() const;

  /// What a command of Slurm printed; a failure is its text.
  std::string run(const std::vector<std::string>& command) const;
  /// Ends every job, and waits until the nodes are free again; those that Slurm has drained meanwhile are taken back.
  void cancel_all() const;

  /// kill -9 of slurmctld, and starting it again with what it had saved some seconds ago. Jobs that it knows are
  /// cancelled.
  void kill_controller();
  void restart_controller();
  /// kill -9 of a slurmd (`node1` is the first); its jobs go on without it.
  void kill_node(const std::string& name);
  /// Starts it again; ends as `cancel_all` does.
  void restart_node(const std::string& name);

 private:
  SlurmCluster() = default;
  Result<void> start_munge();
  Result<void> start_daemons(int nodes);
  Result<void> start_rest();
  bool is_idle() const;
  Result<void> wait_until_idle() const;
  Result<pid_t> start_daemon(const std::vector<std::string>& command);
  void end_daemon(const std::string& name, int signal);

  TemporaryFolder folder_;
  int nodes_ = 0;
  std::vector<std::pair<std::string, pid_t>> daemons_;  ///< by name, in the order of their start
};

}  // namespace assay
