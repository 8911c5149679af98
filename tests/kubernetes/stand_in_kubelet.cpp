#include "stand_in_kubelet.h"
#include "net/server_options.h"

#include <fmt/format.h>

#include <csignal>

#include "bytes/base64.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "net/http_message.h"
#include "net/server_fixture.h"
#include "support/free_port.h"

namespace assay {
namespace {

constexpr Nanos kBeat = std::chrono::seconds(1);
constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

std::string now_text() { return iso8601(SystemClock().wall()); }

std::string target_of(const json::object& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", kube_text(pod, {"metadata", "namespace"}),
                     kube_text(pod, {"metadata", "name"}));
}

json::object condition(std::string_view type, bool holds) {
  return {{"type", type}, {"status", holds ? "True" : "False"}};
}

}  // namespace

StandInKubelet::StandInKubelet(Options options)
    : options_(std::move(options)),
      meeting_port_(free_port()),
      calls_(options_.server, options_.authority, options_.token) {
  Router router;
  router.get("/containerLogs/{namespace}/{pod}/{container}",
             [this](const HttpRequest& request) { return log_of(request); });
  server_ = start_server(std::move(router), {.listen = {}, .tls = options_.tls});
  worker_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      work();
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  });
}

StandInKubelet::~StandInKubelet() {
  worker_.request_stop();
  worker_.join();
  server_.reset();
}

void StandInKubelet::add_node(const std::string& name, int gpus) {
  const json::object capacity{
      {"cpu", "32"}, {"memory", "64Gi"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  const auto made =
      calls_.post("/api/v1/nodes", {{"apiVersion", "v1"},
                                    {"kind", "Node"},
                                    {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}}});
  EXPECT_TRUE(made.ok()) << made.text();
  tell_ready(name, {{"capacity", capacity},
                    {"allocatable", capacity},
                    {"addresses", json::array{json::object{{"type", "InternalIP"}, {"address", "127.0.0.1"}}}},
                    {"daemonEndpoints", {{"kubeletEndpoint", {{"Port", port_of(*server_)}}}}}});
  const std::lock_guard lock(mutex_);
  nodes_.insert(name);
  beaten_ = {};
}

void StandInKubelet::tell_ready(const std::string& node, const json::object& more) {
  json::object ready = condition("Ready", true);
  ready["reason"] = "KubeletReady";
  ready["lastHeartbeatTime"] = ready["lastTransitionTime"] = now_text();
  json::object status = more;
  status["conditions"] = json::array{std::move(ready)};
  const auto told = calls_.patch(fmt::format("/api/v1/nodes/{}/status", node), {{"status", std::move(status)}});
  EXPECT_TRUE(told.ok()) << told.text();
}

void StandInKubelet::lose_node(const std::string& name) {
  const std::lock_guard lock(mutex_);
  lost_.insert(name);
  for (auto& [uid, pod] : pods_) {
    if (pod.node == name && pod.process) pod.process->kill();
  }
}

void StandInKubelet::find_node(const std::string& name) {
  const std::lock_guard lock(mutex_);
  lost_.erase(name);
  beaten_ = {};
  tell_ready(name, {});
}

void StandInKubelet::cut_logs() {
  const std::lock_guard lock(mutex_);
  logs_.cut();
}

void StandInKubelet::rotate_logs() {
  const std::lock_guard lock(mutex_);
  for (auto& [uid, pod] : pods_) {
    if (pod.process) pod.process->throw_log_away();
  }
}

HttpResponse StandInKubelet::log_of(const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, pod] : pods_) {
    if (!pod.process || pod.process->folder().filename() != request.capture("pod") || lost_.contains(pod.node))
      continue;
    if (!pod.process->started()) break;
    return HttpResponse::streaming(logs_.follow(pod.process), "text/plain");
  }
  return HttpResponse::text(404, fmt::format("pod \"{}\" not found", request.capture("pod")));
}

void StandInKubelet::work() {
  const auto pods = calls_.get("/api/v1/pods?fieldSelector=spec.nodeName!%3D");
  const std::lock_guard lock(mutex_);
  beat();
  for (const auto& pod : kube_array(pods.body, {"items"})) look_after(pod.as_object());
  logs_.feed();
}

void StandInKubelet::beat() {
  if (SystemClock().now() - beaten_ < kBeat) return;
  beaten_ = SystemClock().now();
  for (const auto& node : nodes_) {
    if (lost_.contains(node)) continue;
    const json::object lease{{"apiVersion", "coordination.k8s.io/v1"},
                             {"kind", "Lease"},
                             {"metadata", {{"name", node}, {"namespace", "kube-node-lease"}}},
                             {"spec",
                              {{"holderIdentity", node},
                               {"leaseDurationSeconds", 40},
                               {"renewTime", now_text().substr(0, 19) + ".000000Z"}}}};
    const std::string target = fmt::format("{}/{}", kLeases, node);
    if (!calls_.patch(target, lease).ok()) calls_.post(std::string(kLeases), lease);
  }
}

void StandInKubelet::look_after(const json::object& pod) {
  const std::string node = kube_text(pod, {"spec", "nodeName"});
  if (!nodes_.contains(node) || lost_.contains(node) || kube_text(pod, {"metadata", "labels", kJobLabel}).empty()) {
    return;
  }
  Pod& known = pods_[kube_text(pod, {"metadata", "uid"})];
  const bool is_deleted = kube_value(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  if (!known.process) {
    known.node = node;
    known.process = std::make_shared<PodProcess>(options_.folder / kube_text(pod, {"metadata", "name"}));
  }
  if (!known.process->started() && !known.over) {
    if (is_deleted) known.over = true;
    if (!is_deleted) run(pod, known);
  }
  if (is_deleted) end(pod, known);
  auto code = known.process->look();
  // Its node was lost, and is there again.
  if (!code && known.process->ended() && !known.over) code = 128 + SIGKILL;
  if (!code) return;
  const std::string now = now_text();
  tell(pod, *code == 0 ? "Succeeded" : "Failed",
       {{"terminated",
         {{"exitCode", *code},
          {"reason", *code == 0 ? "Completed" : "Error"},
          {"startedAt", kube_text(pod, {"status", "startTime"})},
          {"finishedAt", now}}}});
  known.over = true;
}

void StandInKubelet::run(const json::object& pod, Pod& known) {
  // Its only volume that has to be there before it starts.
  std::string secret;
  for (const auto& volume : kube_array(pod, {"spec", "volumes"})) {
    if (auto name = kube_text(volume, {"secret", "secretName"}); !name.empty()) secret = std::move(name);
  }
  const auto found =
      calls_.get(fmt::format("/api/v1/namespaces/{}/secrets/{}", kube_text(pod, {"metadata", "namespace"}), secret));
  if (!found.ok()) return tell(pod, "Pending", {{"waiting", {{"reason", "ContainerCreating"}}}});
  const auto order = from_base64(kube_text(found.body, {"data", kOrderKey}));
  const auto started =
      known.process->start(command_of_pod(pod, options_.program, known.process->folder(), meeting_port_), *order);
  EXPECT_TRUE(started.ok()) << started.error().text();
  tell(pod, "Running", {{"running", {{"startedAt", now_text()}}}});
}

void StandInKubelet::end(const json::object& pod, Pod& known) {
  const auto grace = kube_integer(pod, {"metadata", "deletionGracePeriodSeconds"}).value_or(30);
  if (known.grace < 0 || grace < known.grace) {
    known.grace = grace;
    known.process->terminate(std::chrono::seconds(grace));
  }
  if (!known.over || kube_integer(pod, {"metadata", "deletionGracePeriodSeconds"}) == 0) return;
  if (!known.process->started()) tell(pod, "Failed", {{"waiting", {{"reason", "ContainerCreating"}}}});
  calls_.remove(target_of(pod),
                {{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", kube_text(pod, {"metadata", "uid"})}}}});
}

void StandInKubelet::tell(const json::object& pod, std::string_view phase, json::object state) {
  const bool is_ready = phase == "Running";
  const std::string image = kube_text(kube_array(pod, {"spec", "containers"}).front(), {"image"});
  json::object status{{"phase", phase},
                      {"conditions", json::array{condition("Initialized", true), condition("Ready", is_ready),
                                                 condition("ContainersReady", is_ready)}},
                      {"containerStatuses", json::array{json::object{{"name", "job"},
                                                                     {"image", image},
                                                                     {"imageID", ""},
                                                                     {"ready", is_ready},
                                                                     {"started", is_ready},
                                                                     {"restartCount", 0},
                                                                     {"state", std::move(state)}}}}};
  if (is_ready) status["startTime"] = now_text();
  const auto told =
      calls_.patch(target_of(pod) + "/status",
                   {{"metadata", {{"uid", kube_text(pod, {"metadata", "uid"})}}}, {"status", std::move(status)}});
  // It may have gone in the meantime.
  EXPECT_TRUE(told.ok() || told.status == 404 || told.status == 409) << told.text();
}

}  // namespace assay
