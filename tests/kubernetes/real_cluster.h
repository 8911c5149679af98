#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster_calls.h"
#include "launch/kubernetes/kube_config.h"
#include "net/authority_fixture.h"
#include "stand_in_kubelet.h"

namespace assay {

/// A real control plane on loopback: etcd, API server with RBAC, controllers and scheduler, each as a process of this
/// machine, in a temporary folder; and two nodes of 32 CPUs and eight GPUs each, `gpu01` and `gpu02`, whose kubelets
/// are played (stand_in_kubelet.h). Everything it started is ended with it. One thread.
class RealCluster {
 public:
  /// The folder that ASSAY_TEST_KUBERNETES names, if it has the three programs, and etcd and kubectl are on the PATH.
  /// Else why there is no cluster.
  static Result<fs::path> programs();
  /// Blocks until both nodes are ready. `program`: what pods run in the place of `assay`.
  static Result<std::unique_ptr<RealCluster>> start(const fs::path& programs, const fs::path& program);
  ~RealCluster();

  /// A namespace of its own, in which the user `ada` has the role of packaging/kubernetes and nothing else.
  std::string make_namespace();
  /// Ends the jobs of a namespace, and waits until their GPUs are free.
  void clear(const std::string& name_space);
  /// A kubeconfig with a certificate of `user`, who need not be anybody.
  fs::path kubeconfig(const std::string& user, const std::string& name_space);
  /// From such a file.
  KubeAccess access(const std::string& user, const std::string& name_space);

  ClusterCalls& admin() { return *admin_; }
  StandInKubelet& kubelet() { return *kubelet_; }
  /// Blocks until the scheduler may use both nodes.
  Result<void> wait_for_nodes();
  /// What kubectl prints as administrator; fails the test where it fails.
  std::string kubectl(std::vector<std::string> arguments);

  /// kill -9, and starting it again on the same port.
  void kill_api_server();
  void start_api_server();

 private:
  explicit RealCluster(fs::path programs);
  Result<void> start_daemon(const std::string& name, std::vector<std::string> command);
  void end_daemon(const std::string& name, int signal);
  Result<void> start_controllers();
  bool is_ready();
  fs::path file(const std::string& name) const { return folder_.path() / name; }
  std::string log_tail(const std::string& name) const;

  const fs::path programs_;
  TemporaryFolder folder_;
  TestAuthority authority_;
  int etcd_port_, port_;
  int namespaces_ = 0;
  Url server_;
  std::vector<std::pair<std::string, pid_t>> daemons_;  ///< in the order of their start
  std::unique_ptr<ClusterCalls> admin_;
  std::unique_ptr<StandInKubelet> kubelet_;
};

/// That of this test program, started when it is first needed. The error says why there is none here.
Result<RealCluster*> shared_cluster();

}  // namespace assay
