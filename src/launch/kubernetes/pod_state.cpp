#include "launch/kubernetes/pod_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "launch/kubernetes/kube_object.h"

namespace assay {
namespace {

struct ReasonRow {
  std::string_view reason;
  std::string_view words;  ///< what it means; `{}` is the image
  std::string_view remedy;
  bool hopeless = false;
};

constexpr std::string_view kCheckImage =
    "Check 'image=', and name the registry's secret with 'pull-secret=' if it wants one.";
constexpr std::string_view kCheckProgram = "The image must have `assay` on its PATH, for the machine of the node.";

constexpr std::array kReasons = {
    ReasonRow{"Unschedulable", "no node can take it",
              "Ask for fewer GPUs with 'gpus=', choose nodes by 'selector=' and 'toleration=', or wait longer with "
              "'patience='."},
    ReasonRow{"SchedulingGated", "something in the cluster holds it back before it is scheduled",
              "`kubectl describe pod` names the gate; it belongs to a queueing system of the cluster, as a rule."},
    ReasonRow{"ErrImagePull", "its image cannot be pulled", kCheckImage},
    ReasonRow{"ImagePullBackOff", "its image cannot be pulled", kCheckImage},
    ReasonRow{"InvalidImageName", "its image has no valid name", "Correct 'image='.", true},
    ReasonRow{"ErrImageNeverPull", "its image is not on the node, and may not be pulled", kCheckImage, true},
    ReasonRow{"RegistryUnavailable", "the registry of its image does not answer", kCheckImage},
    ReasonRow{"CreateContainerConfigError", "its container cannot be set up",
              "Somebody has deleted its Secret, or a policy of the cluster forbids it; start it again."},
    ReasonRow{"CreateContainerError", "its container cannot be made", kCheckProgram, true},
    ReasonRow{"RunContainerError", "its container cannot be started", kCheckProgram, true},
    ReasonRow{"StartError", "its container cannot be started", kCheckProgram, true},
    ReasonRow{"ContainerCannotRun", "its container cannot be started", kCheckProgram, true},
    ReasonRow{"FailedMount", "", "Its Secret is not there (yet); if that stays so, start it again."},
    ReasonRow{"FailedCreate", "",
              "A quota or a policy of the namespace forbids its pods; `kubectl describe quota` may tell."},
    ReasonRow{"OOMKilled", "it used more memory than it was given",
              "Give it more with 'memory=', or make the batch smaller."},
    ReasonRow{"Evicted", "its node has thrown it out",
              "Its node ran short of memory or disk; give it limits, or other nodes."},
    ReasonRow{"NodeLost", "its node does not answer any more", "`kubectl get nodes` tells which are there."},
    ReasonRow{"NodeShutdown", "its node was shut down", "`kubectl get nodes` tells which are there."},
    ReasonRow{"Terminated", "its node was shut down", "`kubectl get nodes` tells which are there."},
    ReasonRow{"PreemptionByScheduler", "a pod of higher priority has taken its place",
              "Start it again, with a priority class that is higher where that is allowed."},
    ReasonRow{"DeletionByTaintManager", "its node does not answer any more",
              "`kubectl get nodes` tells which are there."},
    ReasonRow{"EvictionByEvictionAPI", "it had to leave its node, as for maintenance", "Start it again."},
    ReasonRow{"DeletionByPodGC", "its node was removed from the cluster", "`kubectl get nodes` tells which are there."},
    ReasonRow{"TerminationByKubelet", "its node has thrown it out",
              "Its node ran short of memory or disk; give it limits, or other nodes."},
    ReasonRow{"UnexpectedAdmissionError", "its node has refused it",
              "The GPUs that were promised are not there: the node's device plug-in may have been restarted."},
};

/// The one reason of a Job's failure that is no consequence of what became of its pods.
constexpr std::string_view kDeadlineExceeded = "DeadlineExceeded";

const ReasonRow* row_for(std::string_view reason) {
  const auto* const found =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonRow& row) { return row.reason == reason; });
  return found == kReasons.end() ? nullptr : found;
}

void explain(PodState& state, std::string_view reason, std::string_view message) {
  const ReasonRow* const row = row_for(reason);
  const std::string said(trim(printable(message)));
  state.reason = reason;
  state.why = row && !row->words.empty() ? std::string(row->words) : std::string(reason);
  state.why += said.empty() ? fmt::format(" ({})", reason) : fmt::format(" ({}: {})", reason, said);
  if (row) {
    state.remedy = row->remedy;
    state.hopeless = row->hopeless;
  }
}

std::int64_t part_of(const json::object& pod) {
  const std::string text = kube_text(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"});
  std::int64_t part = 0;
  std::from_chars(text.data(), text.data() + text.size(), part);
  return part;
}

/// The condition of that type, if it has that status.
const json::value* condition_of(const json::object& object, std::string_view type, std::string_view status) {
  for (const auto& condition : kube_array(object, {"status", "conditions"})) {
    if (kube_text(condition, {"type"}) == type && kube_text(condition, {"status"}) == status) return &condition;
  }
  return nullptr;
}

void read_waiting(const json::object& pod, const json::value* container, PodState& state) {
  const std::string reason = container ? kube_text(*container, {"state", "waiting", "reason"}) : std::string();
  // These two are on the way to a start.
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") {
    return explain(state, reason, kube_text(*container, {"state", "waiting", "message"}));
  }
  if (const auto* const unscheduled = condition_of(pod, "PodScheduled", "False")) {
    return explain(state, kube_text(*unscheduled, {"reason"}), kube_text(*unscheduled, {"message"}));
  }
}

void read_terminated(const json::value& terminated, PodState& state) {
  const std::string reason = kube_text(terminated, {"reason"});
  state.phase = PodState::Phase::ended;
  if (const auto code = kube_integer(terminated, {"exitCode"})) state.exit_code = static_cast<int>(*code);
  if (reason == "Completed" || reason == "Error") {
    state.reason = reason;
    return;
  }
  explain(state, reason, kube_text(terminated, {"message"}));
  state.out_of_memory = reason == "OOMKilled";
  // It never ran: there is no log.
  if (state.hopeless) state.phase = PodState::Phase::lost;
}

}  // namespace

PodState read_pod(const json::object& pod) {
  PodState state{.name = kube_text(pod, {"metadata", "name"}),
                 .uid = kube_text(pod, {"metadata", "uid"}),
                 .node = kube_text(pod, {"spec", "nodeName"}),
                 .part = part_of(pod)};
  for (const auto& owner : kube_array(pod, {"metadata", "ownerReferences"})) {
    if (kube_text(owner, {"kind"}) == "Job") state.owner = kube_text(owner, {"uid"});
  }
  state.being_deleted = kube_value(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  const auto& containers = kube_array(pod, {"status", "containerStatuses"});
  const json::value* const container = containers.empty() ? nullptr : &containers.front();
  const auto* const terminated = container ? kube_value(*container, {"state", "terminated"}) : nullptr;
  const auto* const disrupted = condition_of(pod, "DisruptionTarget", "True");
  const std::string pod_reason = kube_text(pod, {"status", "reason"});
  if (terminated && terminated->is_object()) {
    read_terminated(*terminated, state);
  } else if (container && kube_value(*container, {"state", "running"})) {
    state.phase = PodState::Phase::running;
  } else if (kube_text(pod, {"status", "phase"}) == "Failed") {
    state.phase = PodState::Phase::lost;
    explain(state, pod_reason.empty() ? "Failed" : pod_reason, kube_text(pod, {"status", "message"}));
  } else {
    read_waiting(pod, container, state);
  }
  // Evicted or lost pods may keep the state that their container had before.
  const bool node_is_gone = disrupted && (kube_text(*disrupted, {"reason"}) == "DeletionByTaintManager" ||
                                          kube_text(*disrupted, {"reason"}) == "DeletionByPodGC");
  if (pod_reason == "NodeLost" || (node_is_gone && state.phase != PodState::Phase::ended)) {
    state.phase = PodState::Phase::lost;
    if (disrupted) explain(state, kube_text(*disrupted, {"reason"}), kube_text(*disrupted, {"message"}));
    if (!disrupted) explain(state, pod_reason, kube_text(pod, {"status", "message"}));
  } else if (state.phase == PodState::Phase::ended && !state.out_of_memory && !pod_reason.empty()) {
    explain(state, pod_reason, kube_text(pod, {"status", "message"}));
  } else if (disrupted && state.phase != PodState::Phase::waiting && !state.out_of_memory) {
    explain(state, kube_text(*disrupted, {"reason"}), kube_text(*disrupted, {"message"}));
  }
  return state;
}

std::optional<std::string> newest_warning(const std::vector<json::object>& events) {
  std::string newest_time;
  std::optional<std::string> warning;
  for (const auto& event : events) {
    if (kube_text(event, {"type"}) != "Warning") continue;
    std::string time = kube_text(event, {"lastTimestamp"});
    if (time.empty()) time = kube_text(event, {"eventTime"});
    if (time.empty()) time = kube_text(event, {"metadata", "creationTimestamp"});
    // All are in UTC and of one form, so that they sort as text.
    if (warning && time < newest_time) continue;
    const std::string said(trim(printable(kube_text(event, {"message"}))));
    // "Error: ImagePullBackOff" repeats what the pod says already.
    if (said.starts_with("Error: ") && warning) continue;
    newest_time = time;
    warning = fmt::format("{}: {}", printable(kube_text(event, {"reason"})), said);
  }
  return warning;
}

std::string_view remedy_for(std::string_view reason) {
  const ReasonRow* const row = row_for(reason);
  return row ? row->remedy : std::string_view();
}

std::optional<std::string> job_failure(const json::object& job) {
  // The first of them stands from the moment when it was decided, the other once all pods are gone.
  const json::value* failed = condition_of(job, "FailureTarget", "True");
  if (!failed) failed = condition_of(job, "Failed", "True");
  if (!failed || kube_text(*failed, {"reason"}) != kDeadlineExceeded) return std::nullopt;
  return fmt::format("{}: {}", kDeadlineExceeded, printable(kube_text(*failed, {"message"})));
}

}  // namespace assay
