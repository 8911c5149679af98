#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "launch/kubernetes/kubernetes_place.h"

namespace assay {

struct Job;

// The objects that a job is in a cluster: pure functions of what was asked for.

/// Where ranks on several nodes meet: every pod has an address of its own, so one port does for all.
inline constexpr int kRendezvousPort = 29500;
/// Of pods and jobs: the name of the job.
inline constexpr std::string_view kJobLabel = "assay.dev/job";
/// Of jobs: the token that it was started with.
inline constexpr std::string_view kTokenAnnotation = "assay.dev/token";
/// The one key of the Secret: what `write_pod_order` makes.
inline constexpr std::string_view kOrderKey = "order.json";
/// Where the pod finds it, and where it keeps the job's folder.
inline constexpr std::string_view kOrderFolder = "/assay/order";
inline constexpr std::string_view kJobFolder = "/assay/job";
/// More than this a Secret does not hold.
inline constexpr std::size_t kLargestSecret = std::size_t{1} << 20;

/// The name of the job with that token, the same for everybody who knows it.
std::string kube_job_name(std::string_view token);
/// `assay.dev/job=NAME`.
std::string selector_for(std::string_view job_name);

/// The batch/v1 Job: one pod per node of the job, none of them started a second time.
/// `unsupported` for GPUs by their UUID: which ones a pod gets is the cluster's to decide.
Result<json::object> job_manifest(const Job& job, const KubernetesPlace& place, std::string_view name);
/// What goes with the Job when that is deleted: the Secret with the order…
json::object order_manifest(std::string_view order, const json::object& created_job);
/// …and the headless Service by which the pods of a job on several nodes find the first one.
json::object service_manifest(const json::object& created_job);

}  // namespace assay
