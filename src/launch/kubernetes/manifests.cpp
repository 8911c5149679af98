#include "launch/kubernetes/manifests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "base/units.h"
#include "bytes/base64.h"
#include "launch/job.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/pod_host.h"

namespace assay {
namespace {

/// What a job gets behind its own limit before the cluster ends it: whoever asked and the host in the pod come first.
constexpr Nanos kDeadlineMargin = std::chrono::minutes(5);
/// For the host to say how the job ended, behind the grace of the job itself.
constexpr Nanos kGraceMargin = std::chrono::seconds(15);

std::int64_t whole_seconds(Nanos time) { return std::chrono::ceil<std::chrono::seconds>(time).count(); }

json::object labels_of(std::string_view name) {
  return {{"app.kubernetes.io/name", "assay"}, {"app.kubernetes.io/managed-by", "assay"}, {kJobLabel, name}};
}

Result<std::int64_t> gpus_of(const Job& job, const KubernetesPlace& place) {
  if (job.devices && !job.devices->empty()) {
    return Error{
        .kind = ErrorKind::unsupported,
        .message = "Kubernetes decides itself which GPUs a pod gets, so that none can be asked for by its UUID",
        .hint = "Say how many: '--on k8s:gpus=2,…'."};
  }
  if (place.gpus) return *place.gpus;
  if (job.devices) return 0;
  if (job.ranks.nodes > 1) return job.ranks.per_node;
  // On one node a workload starts its own ranks.
  std::int64_t ranks = job.ranks.per_node;
  if (const auto told = job.environment.find("ASSAY_RANKS"); told != job.environment.end()) {
    std::from_chars(told->second.data(), told->second.data() + told->second.size(), ranks);
  }
  return std::max<std::int64_t>(ranks, 1);
}

json::object resources_of(const KubernetesPlace& place, std::int64_t gpus) {
  json::object limits;
  if (gpus > 0) limits[place.gpu_resource] = std::to_string(gpus);
  if (!place.cpu.empty()) limits["cpu"] = place.cpu;
  if (!place.memory.empty()) limits["memory"] = place.memory;
  return {{"limits", std::move(limits)}};
}

json::object container_of(const Job& job, const KubernetesPlace& place, std::string_view name, std::int64_t gpus) {
  const bool alone = job.ranks.nodes == 1;
  // The Job's controller sets the variable; the first pod is called so by the Service.
  json::array command{"assay",
                      kHostPodArgument,
                      kOrderFolder,
                      kJobFolder,
                      alone ? "0/1" : fmt::format("$(JOB_COMPLETION_INDEX)/{}", job.ranks.nodes),
                      alone ? "-" : fmt::format("{0}-0.{0}:{1}", name, kRendezvousPort)};
  json::object container{{"name", "job"},
                         {"image", place.image},
                         {"command", std::move(command)},
                         {"resources", resources_of(place, gpus)},
                         {"volumeMounts",
                          {{{"name", "order"}, {"mountPath", kOrderFolder}, {"readOnly", true}},
                           {{"name", "job"}, {"mountPath", kJobFolder}},
                           {{"name", "shm"}, {"mountPath", "/dev/shm"}}}}};
  // Images with CUDA ask the runtime for every GPU of the node unless they are told otherwise.
  if (gpus == 0) container["env"] = json::array{{{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "void"}}};
  return container;
}

json::array tolerations_of(const KubernetesPlace& place) {
  json::array tolerations;
  for (const auto& toleration : place.tolerations) {
    json::object one{{"key", toleration.key}, {"operator", toleration.value.empty() ? "Exists" : "Equal"}};
    if (!toleration.value.empty()) one["value"] = toleration.value;
    if (!toleration.effect.empty()) one["effect"] = toleration.effect;
    tolerations.push_back(std::move(one));
  }
  return tolerations;
}

/// The nodes that were named; and of a job on several, no two pods on one.
json::object affinity_of(const Job& job, std::string_view name) {
  constexpr std::string_view kHostLabel = "kubernetes.io/hostname";
  json::object affinity;
  if (!job.nodes.empty()) {
    json::array names;
    for (const auto& node : job.nodes) names.emplace_back(node);
    const json::array expressions{json::object{{"key", kHostLabel}, {"operator", "In"}, {"values", std::move(names)}}};
    affinity["nodeAffinity"] = json::object{
        {"requiredDuringSchedulingIgnoredDuringExecution",
         json::object{{"nodeSelectorTerms", json::array{json::object{{"matchExpressions", expressions}}}}}}};
  }
  if (job.ranks.nodes > 1) {
    affinity["podAntiAffinity"] = json::object{
        {"requiredDuringSchedulingIgnoredDuringExecution",
         json::array{json::object{{"labelSelector", json::object{{"matchLabels", json::object{{kJobLabel, name}}}}},
                                  {"topologyKey", kHostLabel}}}}};
  }
  return affinity;
}

json::object pod_of(const Job& job, const KubernetesPlace& place, std::string_view name, std::int64_t gpus) {
  json::object pod{{"restartPolicy", "Never"},
                   {"terminationGracePeriodSeconds", whole_seconds(job.grace + kGraceMargin)},
                   // Jobs have nothing to say to the API server.
                   {"automountServiceAccountToken", false},
                   {"enableServiceLinks", false},
                   {"containers", json::array{container_of(job, place, name, gpus)}},
                   {"volumes",
                    {{{"name", "order"}, {"secret", {{"secretName", name}}}},
                     {{"name", "job"}, {"emptyDir", json::object()}},
                     // Ranks on one node talk through it; without this it has 64 MiB.
                     {{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}}}}};
  if (job.ranks.nodes > 1) pod["subdomain"] = name;
  if (auto affinity = affinity_of(job, name); !affinity.empty()) pod["affinity"] = std::move(affinity);
  if (!place.service_account.empty()) pod["serviceAccountName"] = place.service_account;
  if (!place.runtime_class.empty()) pod["runtimeClassName"] = place.runtime_class;
  if (!place.selector.empty()) {
    json::object selector;
    for (const auto& [label, value] : place.selector) selector[label] = value;
    pod["nodeSelector"] = std::move(selector);
  }
  if (!place.tolerations.empty()) pod["tolerations"] = tolerations_of(place);
  if (!place.pull_secrets.empty()) {
    json::array secrets;
    for (const auto& secret : place.pull_secrets) secrets.push_back(json::object{{"name", secret}});
    pod["imagePullSecrets"] = std::move(secrets);
  }
  return pod;
}

/// Of an object that goes with the job.
json::object metadata_below(const json::object& job) {
  const std::string name = kube_text(job, {"metadata", "name"});
  return {{"name", name},
          {"labels", labels_of(name)},
          {"ownerReferences", json::array{{{"apiVersion", "batch/v1"},
                                           {"kind", "Job"},
                                           {"name", name},
                                           {"uid", kube_text(job, {"metadata", "uid"})}}}}};
}

}  // namespace

std::string kube_job_name(std::string_view token) { return "assay-" + id_from(token); }

std::string selector_for(std::string_view job_name) { return fmt::format("{}={}", kJobLabel, job_name); }

Result<json::object> job_manifest(const Job& job, const KubernetesPlace& place, std::string_view name) {
  ASSAY_TRY(const std::int64_t gpus, gpus_of(job, place));
  json::object spec{
      {"backoffLimit", 0},
      {"completions", job.ranks.nodes},
      {"parallelism", job.ranks.nodes},
      {"ttlSecondsAfterFinished", whole_seconds(place.keep)},
      {"template", {{"metadata", {{"labels", labels_of(name)}}}, {"spec", pod_of(job, place, name, gpus)}}}};
  // A pod that is thrown out fails the job, and is not replaced: the run would begin again without anybody having
  // asked. Clusters before 1.26 pass over it.
  spec["podFailurePolicy"] = {
      {"rules", json::array{json::object{{"action", "FailJob"},
                                         {"onPodConditions", json::array{json::object{{"type", "DisruptionTarget"},
                                                                                      {"status", "True"}}}}}}}};
  if (job.ranks.nodes > 1) spec["completionMode"] = "Indexed";
  // It counts from the Job's creation, so that the wait for a start is in it.
  if (job.time_limit > Nanos(0)) {
    spec["activeDeadlineSeconds"] = whole_seconds(place.patience + job.time_limit + job.grace + kDeadlineMargin);
  }
  return json::object{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata",
                       {{"name", name},
                        {"labels", labels_of(name)},
                        {"annotations", {{kTokenAnnotation, job.token}, {"assay.dev/name", job.name}}}}},
                      {"spec", std::move(spec)}};
}

json::object order_manifest(std::string_view order, const json::object& created_job) {
  return {{"apiVersion", "v1"}, {"kind", "Secret"},  {"metadata", metadata_below(created_job)},
          {"type", "Opaque"},   {"immutable", true}, {"data", {{kOrderKey, to_base64(order)}}}};
}

json::object service_manifest(const json::object& created_job) {
  const std::string name = kube_text(created_job, {"metadata", "name"});
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadata_below(created_job)},
          {"spec",
           {{"clusterIP", "None"},
            {"selector", {{kJobLabel, name}}},
            // The ranks meet before any of them could be called ready.
            {"publishNotReadyAddresses", true},
            {"ports", json::array{{{"name", "rendezvous"}, {"port", kRendezvousPort}}}}}}};
}

}  // namespace assay
