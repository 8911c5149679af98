#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "leader/node_registry.h"
#include "model/run.h"
#include "model/study.h"
#include "net/response_stream.h"
#include "protocol/job_list.h"
#include "store/cluster_store.h"
#include "store/run_store.h"

namespace assay {

/// What somebody wants to have run.
struct RunRequest {
  std::vector<PlannedRun> plan;  ///< one or more; more are a study
  std::string name;
  std::vector<std::string> tags;
  std::string source;                            ///< the specification, for the study's record
  std::string spec_hash;                         ///< see Study
  std::string node;                              ///< for entries of the plan that name none
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs; absent: as each run needs
  std::string by;
};

/// The runs that the cluster was asked for: keeps them in line, gives each to its node when there is room, and ends
/// what nobody can finish. Whatever it decides is in the stores before anybody hears of it, so that a leader that is
/// started again goes on where this one was. Any thread.
///
/// A run needs GPUs, or, where it uses none, the node's CPUs: runs that need different things go side by side. Whoever
/// came first is served first.
class RunDesk {
 public:
  struct Options {
    Nanos lease = std::chrono::seconds(60);
    /// How long an owner may be silent after its lease has run out before its run is closed as interrupted.
    Nanos patience = std::chrono::hours(1);
  };
  RunDesk(RunStore& runs, ClusterStore& cluster, const NodeRegistry& nodes, const Clock& clock, Options options);

  /// Reads what was asked for before the leader was started. Errors are those of the stores.
  Result<void> load();

  // --- whoever wants something to run ---

  struct Accepted {
    std::string study;  ///< empty for a single run
    std::string run;    ///< the single run, or the first of the study
  };
  /// `not_found`: no such node; `usage`: no node is named, or GPUs that it does not have; `denied`: its agent takes no
  /// runs; `unsupported`: one run over several nodes.
  Result<Accepted> ask(const RunRequest& request);
  /// A run that waits ends at once, one that goes on soon. `not_found` if nobody asked for it or it has ended.
  Result<void> stop(std::string_view run, std::string_view by);
  /// Goes on with a study: with what has not begun and what was interrupted, in the order of the plan. Returns those
  /// entries; none if all is done. Of the request, `node` (for entries that name none), `gpus` and `by` count. Where
  /// the study goes on already nothing is begun twice. `not_found`: no such study; `usage`: it has nothing to do on
  /// that node; `busy`: it is being stopped; else as `ask`.
  Result<std::vector<std::size_t>> resume_study(std::string_view study, const RunRequest& request);
  /// Its runs that wait or go on; none once it is over or was stopped.
  std::vector<std::string> jobs_of(std::string_view study);
  /// Every run of the study, and none of its plan that has not begun.
  Result<void> stop_study(std::string_view study, std::string_view by);

  // --- agents ---

  /// What the node should be doing, told at once and whenever it changes. Replaces the node's stream before.
  /// `still_allowed` is asked now and then; the stream ends where it says no.
  EventStream listen(std::string_view node, std::function<bool()> still_allowed);
  /// The node takes a run that it was offered. `not_found`: it is not this node's; `busy`, `usage`: see `take_run`.
  Result<TakenJob> take(std::string_view node, std::string_view run);

  /// Looks at what has changed: runs that have ended, room for the next, owners that are lost. A thread of the leader
  /// does it twice a second.
  Result<void> tick();
  void finish();

  static constexpr std::size_t kMostJobs = 10'000;  ///< that have not ended

 private:
  struct Entry {
    Stored<JobRecord> job;
    RunState state = RunState::queued;
    std::optional<std::set<std::string>> needs;  ///< GPUs, or the CPUs; absent: it has not been given any yet
  };
  struct Listener {
    EventStream stream;
    std::function<bool()> still_allowed;
    std::string told;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  enum class Progress { none, going_on, interrupted, done };

  Result<void> check(const RunRequest& request) const;

  // With the mutex.
  Result<Accepted> begin_study(const RunRequest& request);
  Result<Progress> progress_of(const PlannedRun& planned);
  Result<void> check_resumable(const Study& study, const std::string& node) const;
  Result<std::string> enqueue(const PlannedRun& planned, const RunRequest& request, const std::string& study,
                              std::size_t entry);
  Result<void> close_unfinished();
  Result<void> close_run_of(const std::string& owner, const std::string& run, WallTime last_sign);
  Result<void> end_before_it_began(const std::string& run, std::string why);
  Result<void> refresh();
  Result<void> settle(const std::string& run);
  Result<void> go_on_with_study(const JobRecord& done);
  Result<void> place(const std::string& node, const std::vector<Entry*>& waiting, std::set<std::string> taken);
  Result<void> place_all();
  Result<void> close_lost(const Entry& entry);
  void tell(const std::string& node, Listener& listener);
  void tell_all();

  RunStore& runs_;
  ClusterStore& cluster_;
  const NodeRegistry& nodes_;
  const Clock& clock_;
  const Options options_;
  const WallTime started_;

  std::mutex mutex_;
  Entries entries_;
  std::uint64_t seen_change_ = 0;
  std::map<std::string, Listener, std::less<>> listeners_;
};

}  // namespace assay
