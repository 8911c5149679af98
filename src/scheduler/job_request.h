#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"

namespace assay {

/// How long a job probably takes.
struct DurationEstimate {
  Nanos expected{};      ///< > 0
  double log_error = 0;  ///< standard deviation of ln(actual / expected): 0.5 means "a factor of 1.65 in two of three"

  /// What all but about one job in six stay below.
  Nanos at_most() const;
};

/// What a job needs at once. Jobs with equal needs stand in one line.
struct JobNeeds {
  int nodes = 1;
  int gpus = 1;                 ///< on each node; 0 without `cpus`: the job measures the node itself and has it alone
  bool cpus = false;            ///< it uses the node's CPUs and no GPU (`gpus` is 0): one such job at a time on a node
  std::string gpu_model;        ///< as people say it (`is_gpu_named`); empty: any
  Bytes gpu_memory{};           ///< of each GPU, at least
  bool linked = false;          ///< the GPUs of a node must be linked with each other
  bool whole_node = false;      ///< nothing runs beside it
  std::vector<std::string> on;  ///< these nodes and no others; empty: any
  /// By how many tenths it is known to take longer on GPUs of a model than on the one where it ends soonest; those that
  /// are not named are as good as that one.
  std::vector<std::pair<std::string, int>> slower;
  std::vector<std::string> these;  ///< UUIDs of just the GPUs it takes, `gpus` of them, all on the one node of `on`

  /// Nothing runs beside it: a node benchmark.
  bool alone() const { return whole_node || (gpus == 0 && !cpus); }
  auto operator<=>(const JobNeeds&) const = default;
};

/// What happens after a failure that may pass.
struct RetryRule {
  int attempts = 1;  ///< in all; 1: never again
  Nanos first_wait = std::chrono::minutes(1);
  Nanos longest_wait = std::chrono::hours(1);
};

/// How long to wait after the failure of an attempt, counted from 1: doubles each time. None: that was the last one.
std::optional<Nanos> wait_before_retry(const RetryRule& rule, int failed_attempt);

/// A job that somebody asks for. Everything the scheduler knows of it: a queue is rebuilt by submitting these again.
struct JobRequest {
  std::string id;  ///< unique among jobs that have not ended
  std::string user;
  JobNeeds needs;
  DurationEstimate estimate;
  WallTime submitted{};
  int priority = 0;                  ///< a step counts as `SchedulerOptions::priority_step` of age
  std::optional<Nanos> time_limit;   ///< a job that runs for longer is reported as overdue
  std::optional<WallTime> deadline;  ///< to have ended by, if that can be done
  std::vector<std::string> after;    ///< jobs that must have succeeded; leave out those that have
  std::string data;                  ///< what it reads: nodes that hold it are preferred
  RetryRule retry;
  int attempt = 1;
  WallTime not_before{};  ///< a retry's time
  bool held = false;

  /// What it will hardly run for longer than.
  Nanos at_most() const { return time_limit ? std::min(estimate.at_most(), *time_limit) : estimate.at_most(); }
};

/// `bad_spec` where the needs make no sense.
Result<void> check_needs(const JobRequest& job);

/// How a job ended.
enum class JobOutcome {
  succeeded,
  failed,    ///< may be tried again
  lost,      ///< its node went away: may be tried again
  hopeless,  ///< another attempt would end alike
  cancelled,
};

}  // namespace assay
