#include "launch/kubernetes/pod_ending.h"

#include <fmt/format.h>

#include <csignal>

#include "launch/job_ending.h"

namespace assay {
namespace {

/// A container that a signal has ended, exits with this and the signal's number.
constexpr int kSignalBase = 128;

std::string pod_and_node(const PodState& pod) {
  return pod.node.empty() ? fmt::format("pod '{}'", pod.name)
                          : fmt::format("pod '{}' on node '{}'", pod.name, pod.node);
}

JobEnding ending_of_container(const PodState& pod) {
  JobEnding ending{.out_of_memory = pod.out_of_memory};
  if (*pod.exit_code > kSignalBase && *pod.exit_code < kSignalBase + 65) {
    ending.signal = *pod.exit_code - kSignalBase;
  } else {
    ending.exit_code = pod.exit_code;
  }
  return ending;
}

bool is_of_node(std::string_view reason) {
  return reason == "NodeLost" || reason == "DeletionByTaintManager" || reason == "DeletionByPodGC" ||
         reason == "NodeShutdown" || reason == "Terminated";
}

}  // namespace

PartEnding ending_of_pod(const PodState& pod, bool has_run, bool stop_wished) {
  const bool is_plain = pod.reason.empty() || pod.reason == "Error" || pod.reason == "Completed" || pod.out_of_memory;
  if (pod.phase == PodState::Phase::ended && pod.exit_code && (is_plain || stop_wished)) {
    JobEnding ending = ending_of_container(pod);
    ending.stopped = stop_wished;
    return ending;
  }
  // The cluster waits for the grace, and then every process of the container is killed. A pod that was deleted before
  // its container began is `Failed` for a moment.
  const bool deleted = pod.phase != PodState::Phase::lost || (pod.being_deleted && !is_of_node(pod.reason));
  if (stop_wished && deleted) {
    return JobEnding{.signal = has_run ? SIGKILL : SIGTERM, .stopped = true};
  }
  if (pod.why.empty()) {
    return Error{.kind = ErrorKind::crash,
                 .message = fmt::format("{} is gone before it could say how the job ended", pod_and_node(pod))};
  }
  return Error{.kind = is_of_node(pod.reason) ? ErrorKind::lost_peer : ErrorKind::crash,
               .message = fmt::format("{}: {}", pod_and_node(pod), pod.why),
               .hint = pod.remedy};
}

Error not_started(const PodState& pod, std::string_view warning) {
  Error error{.kind = pod.reason == "Unschedulable" ? ErrorKind::busy : ErrorKind::unsupported,
              .message = pod.name.empty() ? std::string("the cluster has made no pod for it") : pod_and_node(pod),
              .hint = pod.remedy};
  if (!pod.why.empty()) error.message += ": " + pod.why;
  // What the scheduler says is in the pod already.
  if (!warning.empty() && error.message.find(warning.substr(warning.find(": ") + 2)) == std::string::npos) {
    error.message += fmt::format("; {}", warning);
  }
  if (error.hint.empty()) error.hint = remedy_for(warning.substr(0, warning.find(':')));
  if (error.hint.empty()) error.hint = "`kubectl describe pod` tells more; 'patience=' lets it wait longer.";
  return error;
}

}  // namespace assay
