#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "cluster_calls.h"
#include "launch/kubernetes/pod_process_fixture.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/router.h"
#include "net/tls_files.h"
#include "net/url.h"

namespace assay {

/// Plays the kubelets of several nodes for a real API server, on a machine without a container runtime: registers the
/// nodes and keeps their leases alive, runs the program of each pod that was bound to one of them as a process of this
/// machine, tells the API server of its phases as a kubelet does, ends and removes pods that are deleted, and serves
/// their logs over TLS to the API server. It pulls no images, and mounts the Secret of a job alone.
class StandInKubelet {
 public:
  struct Options {
    Url server;          ///< the API server
    fs::path authority;  ///< whom it and this trust
    std::string token;   ///< as whom it asks
    TlsFiles tls;        ///< for 127.0.0.1
    fs::path program;    ///< what pods run in the place of `assay`
    fs::path folder;     ///< empty, for what the pods have
  };
  explicit StandInKubelet(Options options);
  StandInKubelet(const StandInKubelet&) = delete;
  StandInKubelet& operator=(const StandInKubelet&) = delete;
  ~StandInKubelet();

  /// A node that is ready, with so many GPUs.
  void add_node(const std::string& name, int gpus);
  /// From now on the node says nothing any more, and what ran there has ended.
  void lose_node(const std::string& name);
  /// It is there again.
  void find_node(const std::string& name);
  /// Breaks off every log that is followed.
  void cut_logs();
  /// What is in the logs so far is not to be had any more.
  void rotate_logs();

 private:
  struct Pod {
    std::shared_ptr<PodProcess> process;
    std::string node;
    std::int64_t grace = -1;  ///< that was obeyed last
    bool over = false;        ///< its ending was told
  };

  void tell_ready(const std::string& node, const json::object& more);
  HttpResponse log_of(const HttpRequest& request);
  void work();
  void beat();
  void look_after(const json::object& pod);
  void run(const json::object& pod, Pod& known);
  void end(const json::object& pod, Pod& known);
  void tell(const json::object& pod, std::string_view phase, json::object state);

  const Options options_;
  const int meeting_port_;
  ClusterCalls calls_;
  std::mutex mutex_;
  std::map<std::string, Pod> pods_;  ///< by uid
  std::set<std::string> nodes_, lost_;
  FollowedLogs logs_;
  SteadyTime beaten_;
  std::unique_ptr<HttpServer> server_;
  std::jthread worker_;
};

}  // namespace assay
