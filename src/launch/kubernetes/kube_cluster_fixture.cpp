#include "launch/kubernetes/kube_cluster_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/subprocess.h"
#include "base/text.h"
#include "bytes/base64.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "net/http_message.h"
#include "net/server_fixture.h"
#include "support/free_port.h"
#include "support/source_tree.h"

namespace assay {
namespace {

HttpResponse json_answer(int status, const json::value& value) {
  return HttpResponse::json(status, json::serialize(value));
}
HttpResponse status_answer(int status, std::string_view reason, std::string message) {
  return json_answer(status, json::object{{"kind", "Status"},
                                          {"apiVersion", "v1"},
                                          {"metadata", json::object()},
                                          {"status", "Failure"},
                                          {"message", std::move(message)},
                                          {"reason", reason},
                                          {"code", status}});
}

json::object& part(json::object& of, std::string_view key) {
  json::value& value = of[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

std::string name_in(const json::object& object) { return kube_text(object, {"metadata", "name"}); }

bool is_being_deleted(const json::object& pod) { return kube_value(pod, {"metadata", "deletionTimestamp"}) != nullptr; }

bool is_selected(const json::object& object, std::string_view selector) {
  return selector == selector_for(kube_text(object, {"metadata", "labels", kJobLabel}));
}

/// Another one for each Job, also for one of the same name.
std::string pod_name_for(const json::object& job, std::int64_t index) {
  return fmt::format("{}-{}-{}", name_in(job), index, kube_text(job, {"metadata", "uid"}));
}

void set_container(json::object& pod, std::string_view phase, json::object state) {
  auto& status = part(pod, "status");
  status["phase"] = phase;
  status["containerStatuses"] = json::array{json::object{{"name", "job"}, {"state", std::move(state)}}};
}

}  // namespace

std::string kube_fixture(const std::string& name) {
  return read_file(test::fixture_folder() / "kubernetes" / name).value();
}
json::object kube_fixture_object(const std::string& name) { return parse_json(kube_fixture(name)).value().as_object(); }

Result<json::value> as_kubectl_sees(const std::string& text) {
  const CommandOptions options{
      .deadline = std::chrono::minutes(2), .folder = {}, .environment = {{"KUBECONFIG", "/dev/null"}}, .input = {}};
  ASSAY_TRY(const auto version, run_command({"kubectl", "version", "--client", "-o", "json"}, options));
  ASSAY_TRY(const auto parsed, parse_json(version.out));
  const std::string minor = kube_text(parsed, {"clientVersion", "minor"});
  if (std::atoi(minor.c_str()) < 26) {
    return Error{.kind = ErrorKind::unsupported, .message = fmt::format("kubectl is version 1.{}", minor)};
  }
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "object.yaml";
  ASSAY_CHECK(write_file_atomically(file, text));
  // Of its commands, one that reads into the types and writes them out again.
  ASSAY_TRY(const auto output, run_command({"kubectl", "set", "env", "--local", "--dry-run=client", "-o", "json", "-f",
                                            file.string(), "ADDED=x"},
                                           options));
  EXPECT_EQ(output.exit_code, 0) << output.error;
  return parse_json(output.out);
}

KubeCluster::KubeCluster(fs::path program) : program_(std::move(program)), meeting_port_(free_port()) {
  Router router;
  const auto handle = [this](const HttpRequest& request) { return answer(request); };
  for (const std::string method : {"GET", "POST", "PATCH", "DELETE"}) {
    for (const std::string_view prefix : {"/api/v1", "/apis/batch/v1"}) {
      for (const std::string_view rest : {"", "/{name}", "/{name}/log"}) {
        router.add(method, fmt::format("{}/namespaces/{{ns}}/{{kind}}{}", prefix, rest), handle,
                   {.body_bytes = std::size_t{4} << 20});
      }
    }
  }
  server_ = start_server(std::move(router));
  worker_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      work();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

KubeCluster::~KubeCluster() {
  worker_.request_stop();
  worker_.join();
  server_.reset();
}

KubeAccess KubeCluster::access() const {
  return {.server = {.scheme = Url::Scheme::http,
                     .host = "127.0.0.1",
                     .port = port_of(*server_),
                     .target = "/",
                     .socket_path = {}},
          .trust = {},
          .user = {},
          .name_space = "bench",
          .origin = "the cluster of the tests"};
}

void KubeCluster::intercept(Intercept answer) {
  const std::lock_guard lock(mutex_);
  intercept_ = std::move(answer);
}
void KubeCluster::hold_pods(const std::string& fixture) {
  const std::lock_guard lock(mutex_);
  held_ = fixture;
}
void KubeCluster::set_events(const std::string& fixture) {
  const std::lock_guard lock(mutex_);
  events_ = fixture;
}

void KubeCluster::end_watches(bool gone) {
  const std::lock_guard lock(mutex_);
  for (auto& watch : watches_) {
    if (gone) watch.stream->write(kube_fixture("watch_gone.jsonl"));
    watch.stream->finish();
  }
  watches_.clear();
}

void KubeCluster::cut_logs() {
  const std::lock_guard lock(mutex_);
  logs_.cut();
}

void KubeCluster::rotate_logs() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, process] : processes_) process->throw_log_away();
}

void KubeCluster::delete_jobs() {
  const std::lock_guard lock(mutex_);
  for (const auto& name : names_of("jobs")) collect(name);
}

void KubeCluster::delete_pods() {
  const std::lock_guard lock(mutex_);
  for (const auto& name : names_of("pods")) delete_pod(objects_.at("pods/" + name), 30);
}

void KubeCluster::lose_pods(const std::string& fixture) {
  const std::lock_guard lock(mutex_);
  const auto like = kube_fixture_object(fixture);
  for (const auto& name : names_of("pods")) {
    auto& pod = objects_.at("pods/" + name);
    pod["status"] = like.at("status");
    if (is_being_deleted(like)) part(pod, "metadata")["deletionTimestamp"] = "2026-11-18T12:05:40Z";
    process_of(name).kill();
    publish("MODIFIED", pod);
  }
}

std::vector<json::object> KubeCluster::objects(const std::string& kind) {
  const std::lock_guard lock(mutex_);
  std::vector<json::object> found;
  for (const auto& name : names_of(kind)) found.push_back(objects_.at(kind + "/" + name));
  return found;
}
std::vector<std::string> KubeCluster::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}
std::size_t KubeCluster::watches() const {
  const std::lock_guard lock(mutex_);
  return watches_.size();
}

std::vector<std::string> KubeCluster::names_of(const std::string& kind) const {
  std::vector<std::string> names;
  for (const auto& [path, object] : objects_) {
    if (path.starts_with(kind + "/")) names.push_back(path.substr(kind.size() + 1));
  }
  return names;
}

HttpResponse KubeCluster::answer(const HttpRequest& request) {
  const std::string kind(request.capture("kind"));
  const std::string name(request.capture("name"));
  const bool is_log = request.path.ends_with("/log");
  const std::lock_guard lock(mutex_);
  std::string asked = fmt::format("{} {}{}", request.method, kind, is_log ? "/log" : "");
  if (request.method == "GET" && !is_log && name.empty())
    asked = request.query_value("watch") ? "WATCH " + kind : "LIST " + kind;
  if (std::find(asked_.begin(), asked_.end(), asked) == asked_.end()) asked_.push_back(asked);
  if (intercept_) {
    if (auto instead = intercept_(request)) return std::move(*instead);
  }
  if (is_log) return follow(name);
  if (request.method == "POST") return create(kind, request);
  if (name.empty()) return list(kind, request);
  return change(kind, name, request);
}

HttpResponse KubeCluster::create(const std::string& kind, const HttpRequest& request) {
  auto object = parse_json(request.body).value().as_object();
  const std::string name = name_in(object);
  if (objects_.contains(kind + "/" + name)) {
    return status_answer(409, "AlreadyExists", fmt::format("{}.batch \"{}\" already exists", kind, name));
  }
  auto& metadata = part(object, "metadata");
  metadata["uid"] = fmt::format("uid-{}", ++made_);
  metadata["namespace"] = request.capture("ns");
  metadata["resourceVersion"] = next_version();
  objects_[kind + "/" + name] = object;
  return json_answer(201, object);
}

HttpResponse KubeCluster::list(const std::string& kind, const HttpRequest& request) {
  if (kind == "events") return HttpResponse::json(200, kube_fixture(events_));
  if (request.query_value("watch")) {
    const auto stream = std::make_shared<ResponseStream>(
        ResponseStream::Options{.queue_bytes = std::size_t{64} << 20, .heartbeat = {}});
    const std::string selector(request.query_value("labelSelector").value_or(""));
    watches_.push_back({stream, selector});
    // What has changed since then: as if everything had.
    const std::int64_t since = std::stoll(std::string(request.query_value("resourceVersion").value_or("0")));
    for (const auto& name : names_of("pods")) {
      const auto& pod = objects_.at("pods/" + name);
      if (is_selected(pod, selector) && std::stoll(kube_text(pod, {"metadata", "resourceVersion"})) > since) {
        stream->write(json::serialize(json::object{{"type", "MODIFIED"}, {"object", pod}}) + "\n");
      }
    }
    return HttpResponse::streaming(stream, "application/json");
  }
  json::array items;
  for (const auto& name : names_of(kind)) {
    const auto& object = objects_.at(kind + "/" + name);
    if (is_selected(object, request.query_value("labelSelector").value_or(""))) items.push_back(object);
  }
  return json_answer(200, json::object{{"kind", "PodList"},
                                       {"apiVersion", "v1"},
                                       {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                       {"items", std::move(items)}});
}

HttpResponse KubeCluster::change(const std::string& kind, const std::string& name, const HttpRequest& request) {
  const auto found = objects_.find(kind + "/" + name);
  if (found == objects_.end()) return status_answer(404, "NotFound", fmt::format("{} \"{}\" not found", kind, name));
  if (request.method == "PATCH") {
    // The one thing that is ever patched.
    const auto changes = parse_json(request.body).value();
    part(found->second, "spec")["parallelism"] = kube_integer(changes, {"spec", "parallelism"}).value();
  }
  const auto before = json_answer(200, found->second);
  if (request.method != "DELETE") return before;
  const auto options = parse_json(request.body).value_or(json::object());
  if (kind == "pods") {
    delete_pod(found->second, kube_integer(options, {"gracePeriodSeconds"}).value_or(30));
    return before;
  }
  collect(name);
  return before;
}

void KubeCluster::collect(const std::string& job) {
  objects_.erase("jobs/" + job);
  objects_.erase("secrets/" + job);
  objects_.erase("services/" + job);
  for (const auto& name : names_of("pods")) {
    auto& pod = objects_.at("pods/" + name);
    if (is_selected(pod, selector_for(job))) delete_pod(pod, 30);
  }
}

HttpResponse KubeCluster::follow(const std::string& pod) {
  const auto process = processes_.find(pod);
  if (process == processes_.end() || !process->second->started()) {
    return status_answer(objects_.contains("pods/" + pod) ? 400 : 404, "BadRequest",
                         fmt::format("container \"job\" in pod \"{}\" is waiting to start: ContainerCreating", pod));
  }
  return HttpResponse::streaming(logs_.follow(process->second), "text/plain");
}

// The controller, the node and its kubelet.

void KubeCluster::work() {
  const std::lock_guard lock(mutex_);
  for (const auto& name : names_of("jobs")) control_job(objects_.at("jobs/" + name));
  for (const auto& name : names_of("pods")) look_after(objects_.at("pods/" + name));
  logs_.feed();
}

void KubeCluster::control_job(json::object& job) {
  const auto parallelism = kube_integer(job, {"spec", "parallelism"}).value();
  const bool failed = kube_value(job, {"status", "conditions"}) != nullptr;
  for (std::int64_t index = 0; index < kube_integer(job, {"spec", "completions"}).value(); ++index) {
    const std::string pod_name = pod_name_for(job, index);
    const auto pod = objects_.find("pods/" + pod_name);
    if (pod == objects_.end()) {
      const bool had_one = processes_.contains(pod_name);
      if (parallelism > 0 && !failed && !had_one && held_ != kNoPods) make_pod(job, index);
      continue;
    }
    if (kube_text(pod->second, {"status", "phase"}) == "Failed" && !failed) {
      const auto condition = [](std::string_view type) {
        return json::object{{"type", type},
                            {"status", "True"},
                            {"reason", "BackoffLimitExceeded"},
                            {"message", "Job has reached the specified backoff limit"}};
      };
      part(job, "status")["conditions"] = json::array{condition("FailureTarget"), condition("Failed")};
    }
    const bool is_over = process_of(pod_name).ended();
    if ((parallelism == 0 || failed) && !is_over && !is_being_deleted(pod->second)) {
      delete_pod(pod->second, kube_integer(job, {"spec", "template", "spec", "terminationGracePeriodSeconds"}).value());
    }
  }
}

void KubeCluster::make_pod(const json::object& job, std::int64_t index) {
  const std::string name = pod_name_for(job, index);
  json::object pod{{"kind", "Pod"},
                   {"apiVersion", "v1"},
                   {"metadata",
                    {{"name", name},
                     {"uid", fmt::format("uid-{}", ++made_)},
                     {"labels", {{kJobLabel, name_in(job)}}},
                     {"ownerReferences", json::array{json::object{{"apiVersion", "batch/v1"},
                                                                  {"kind", "Job"},
                                                                  {"name", name_in(job)},
                                                                  {"uid", kube_text(job, {"metadata", "uid"})}}}},
                     {"annotations", {{"batch.kubernetes.io/job-completion-index", std::to_string(index)}}}}},
                   {"spec", *kube_value(job, {"spec", "template", "spec"})},
                   {"status", {{"phase", "Pending"}}}};
  if (!held_.empty()) pod["status"] = kube_fixture_object(held_).at("status");
  processes_.emplace(name, std::make_shared<PodProcess>(folder_.path() / name));
  objects_["pods/" + name] = pod;
  publish("ADDED", objects_.at("pods/" + name));
}

std::vector<std::string> KubeCluster::command_of(const json::object& pod, const fs::path& folder) const {
  if (program_.empty()) {
    return {"/proc/self/exe", "--gtest_filter=PodOfTheTests.DISABLED_Runs", "--gtest_also_run_disabled_tests"};
  }
  return command_of_pod(pod, program_, folder, meeting_port_);
}

void KubeCluster::run_pod(json::object& pod) {
  const std::string name = name_in(pod);
  const std::string secret = kube_text(pod, {"metadata", "labels", kJobLabel});
  const auto order = objects_.find("secrets/" + secret);
  if (order == objects_.end()) return;
  PodProcess& process = process_of(name);
  const std::string index = kube_text(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"});
  const auto parts = kube_integer(objects_.at("jobs/" + secret), {"spec", "completions"}).value();
  const auto started = process.start(
      command_of(pod, process.folder()), from_base64(kube_text(order->second, {"data", kOrderKey})).value(),
      {{"ASSAY_TEST_POD", process.folder().string()}, {"ASSAY_TEST_POD_PART", fmt::format("{}/{}", index, parts)}});
  ASSERT_TRUE(started.ok()) << started.error().text();
  part(pod, "spec")["nodeName"] = "gpu03";
  set_container(pod, "Running", {{"running", {{"startedAt", "2026-11-18T12:00:03Z"}}}});
  publish("MODIFIED", pod);
}

void KubeCluster::look_after(json::object& pod) {
  const std::string name = name_in(pod);
  PodProcess& process = process_of(name);
  if (!process.started()) {
    if (is_being_deleted(pod)) {
      set_container(pod, "Failed", {{"waiting", {{"reason", "ContainerCreating"}}}});
      publish("MODIFIED", pod);
      return forget_pod(name);
    }
    if (held_.empty()) run_pod(pod);
    return;
  }
  if (process.ended()) {
    if (is_being_deleted(pod) && kube_value(pod, {"status", "reason"}) == nullptr) forget_pod(name);
    return;
  }
  const auto code = process.look();
  if (!code) return;
  set_container(pod, *code == 0 ? "Succeeded" : "Failed",
                {{"terminated", {{"exitCode", *code}, {"reason", *code == 0 ? "Completed" : "Error"}}}});
  publish("MODIFIED", pod);
}

void KubeCluster::delete_pod(json::object& pod, std::int64_t grace_seconds) {
  process_of(name_in(pod)).terminate(std::chrono::seconds(grace_seconds));
  if (is_being_deleted(pod)) return;
  part(pod, "metadata")["deletionTimestamp"] = "2026-11-18T12:05:40Z";
  publish("MODIFIED", pod);
}

void KubeCluster::forget_pod(const std::string& name) {
  // Only once its log was taken by those who follow it.
  if (logs_.is_followed(process_of(name))) return;
  publish("DELETED", objects_.at("pods/" + name));
  objects_.erase("pods/" + name);
}

void KubeCluster::publish(const std::string& type, json::object& pod) {
  part(pod, "metadata")["resourceVersion"] = next_version();
  const std::string line = json::serialize(json::object{{"type", type}, {"object", pod}}) + "\n";
  std::erase_if(watches_, [&](Watch& watch) { return is_selected(pod, watch.selector) && !watch.stream->write(line); });
}

}  // namespace assay
