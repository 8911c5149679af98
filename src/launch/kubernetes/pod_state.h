#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What a pod's object says about it, in the words of somebody who waits for it. A pure reading.
struct PodState {
  enum class Phase {
    waiting,  ///< not started: `why` says what for, as far as the object tells
    running,  ///< its container runs, or did a moment ago
    ended,    ///< its container has ended
    lost,     ///< it ended otherwise: evicted, its node is gone; `why` says it
  };
  std::string name;
  std::string uid;
  std::string owner;      ///< uid of its Job
  std::string node;       ///< empty: none yet
  std::int64_t part = 0;  ///< index of its completion
  Phase phase = Phase::waiting;
  bool hopeless = false;  ///< waiting longer changes nothing
  std::string reason;     ///< one word: Unschedulable, ImagePullBackOff, OOMKilled, Evicted; may be empty
  std::string why;        ///< a sentence without its full stop; may be empty
  std::string remedy;     ///< a sentence; may be empty
  bool being_deleted = false;
  std::optional<int> exit_code;  ///< of a container that has ended; above 128 it may be a signal
  bool out_of_memory = false;

  /// There is something to read in its log, now or soon.
  bool has_log() const { return phase == Phase::running || phase == Phase::ended; }
};
PodState read_pod(const json::object& pod);

/// What happened to an object that its own fields do not tell: the newest warning, `FailedScheduling: 0/3 nodes are
/// available`. Nothing if there is none.
std::optional<std::string> newest_warning(const std::vector<json::object>& events);

/// What to do about a reason that is no field of a pod, such as `FailedMount`; empty if we know nothing.
std::string_view remedy_for(std::string_view reason);

/// Why the cluster has ended a job, from its object, where that is the Job's own doing and not what follows from a pod
/// that failed or is gone: `DeadlineExceeded: Job was active longer than specified deadline`.
std::optional<std::string> job_failure(const json::object& job);

}  // namespace assay
