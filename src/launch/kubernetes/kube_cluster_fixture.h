#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "launch/kubernetes/kube_config.h"
#include "launch/kubernetes/pod_process_fixture.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/response_stream.h"
#include "net/router.h"

namespace assay {

/// A cluster of the tests: an API server with the objects that the launcher has to do with, a controller that makes
/// pods for Jobs, and a node that runs each pod's program as a process of this machine (PodOfTheTests in
/// kubernetes_launcher_test.cpp). Its answers have the form of a real one's as far as the launcher looks at them.
/// Nothing in it depends on speed.
class KubeCluster {
 public:
  /// `program`: what pods run in the place of `assay`; empty: this very program, as PodOfTheTests.
  explicit KubeCluster(fs::path program = {});
  KubeCluster(const KubeCluster&) = delete;
  KubeCluster& operator=(const KubeCluster&) = delete;
  ~KubeCluster();

  KubeAccess access() const;

  // How it misbehaves.

  /// Answers a request in the cluster's place. Called with the lock held.
  using Intercept = std::function<std::optional<HttpResponse>(const HttpRequest&)>;
  void intercept(Intercept answer);
  static constexpr const char* kNoPods = "none";
  /// From now on pods stay as this object of tests/fixtures/kubernetes says, or are not made; empty: they run.
  void hold_pods(const std::string& fixture);
  /// The events that there are: a list in tests/fixtures/kubernetes.
  void set_events(const std::string& fixture);
  /// Ends every watch, as servers do from time to time; `gone`: the versions are too old, too.
  void end_watches(bool gone);
  /// Breaks off every log that is followed.
  void cut_logs();
  /// What is in the logs so far is not to be had any more.
  void rotate_logs();
  /// As somebody else would.
  void delete_pods();
  void delete_jobs();
  /// The same without a word of the pod: `fixture` is what it looks like from now on, and its process is killed.
  void lose_pods(const std::string& fixture);

  // What is there.
  std::vector<json::object> objects(const std::string& kind);
  /// `POST jobs`, `PATCH jobs`, `GET pods/log`: each once.
  std::vector<std::string> asked() const;
  std::size_t watches() const;

 private:
  struct Watch {
    std::shared_ptr<ResponseStream> stream;
    std::string selector;
  };
  using Objects = std::map<std::string, json::object>;  ///< by kind/name

  HttpResponse answer(const HttpRequest& request);
  HttpResponse create(const std::string& kind, const HttpRequest& request);
  HttpResponse list(const std::string& kind, const HttpRequest& request);
  HttpResponse change(const std::string& kind, const std::string& name, const HttpRequest& request);
  HttpResponse follow(const std::string& pod);

  void work();
  void control_job(json::object& job);
  void make_pod(const json::object& job, std::int64_t index);
  void run_pod(json::object& pod);
  void look_after(json::object& pod);
  void delete_pod(json::object& pod, std::int64_t grace_seconds);
  void forget_pod(const std::string& name);
  /// Deletes a job and what belongs to it.
  void collect(const std::string& job);
  void publish(const std::string& type, json::object& pod);
  std::string next_version() { return std::to_string(++version_); }
  std::vector<std::string> names_of(const std::string& kind) const;

  std::vector<std::string> command_of(const json::object& pod, const fs::path& folder) const;
  PodProcess& process_of(const std::string& pod) const { return *processes_.at(pod); }

  const fs::path program_;
  const int meeting_port_;
  TemporaryFolder folder_;
  mutable std::mutex mutex_;
  Objects objects_;
  std::map<std::string, std::shared_ptr<PodProcess>> processes_;  ///< by pod, also of those that are gone
  std::vector<Watch> watches_;
  FollowedLogs logs_;
  std::vector<std::string> asked_;
  Intercept intercept_;
  std::string held_, events_ = "events_none.json";
  std::int64_t version_ = 48000;
  int made_ = 0;
  std::unique_ptr<HttpServer> server_;
  std::jthread worker_;
};

/// The text of a file of tests/fixtures/kubernetes.
std::string kube_fixture(const std::string& name);
json::object kube_fixture_object(const std::string& name);

/// An object as kubectl sees it: read into the types of the API, which drops what those do not have. Asks no server.
/// The error is why that cannot be tried: there is no kubectl, or it is older than 1.26.
Result<json::value> as_kubectl_sees(const std::string& text);

}  // namespace assay
