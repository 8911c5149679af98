#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "leader/planned_needs.h"
#include "model/node_state.h"
#include "model/queued_run.h"
#include "model/run.h"
#include "model/study.h"
#include "net/response_stream.h"
#include "protocol/job_list.h"
#include "scheduler/estimates.h"
#include "scheduler/scheduler.h"
#include "store/job_table.h"

namespace assay {

class ClusterStore;
class Node;
class NodeRegistry;
class RunStore;

/// What somebody wants to have run.
struct RunRequest {
  std::vector<PlannedRun> plan;  ///< one or more; more are a study
  std::string name;
  std::vector<std::string> tags;
  std::string source;                            ///< the specification, for the study's record
  std::string spec_hash;                         ///< see Study
  std::string node;                              ///< for entries of the plan that name none; empty: wherever they fit
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs; absent: as each run needs
  std::string by;
  std::string owner;                 ///< the same as accounts name owners: `user ada`
  int priority = 0;                  ///< a step counts as an hour of waiting
  std::optional<WallTime> deadline;  ///< to have ended by, if that can be done
  bool held = false;                 ///< it waits until somebody releases it
  int retries = 0;                   ///< further attempts where a node is lost
  std::vector<std::string> after;    ///< runs that must have succeeded first
  std::string key;                   ///< who asks again with the same one is given the same run; empty: none
};

/// The runs that the cluster was asked for: keeps them in a queue, has the scheduler decide which of them starts where,
/// and ends what nobody can finish. Whatever it decides is in the stores before anybody hears of it, so that a leader
/// that is started again goes on where this one was. Any thread.
///
/// A run needs GPUs, or, where it uses none, the CPUs of a node: runs that need different things go side by side. A run
/// whose node is lost is interrupted; where further attempts were asked for, another run takes its place.
class RunDesk {
 public:
  struct Options {
    Nanos lease = std::chrono::seconds(60);
    /// How long an owner may be silent after its lease has run out before its run is closed as interrupted.
    Nanos patience = std::chrono::minutes(5);
    /// The same, at least, of one whose runs are done elsewhere and go on without it.
    Nanos patience_elsewhere = std::chrono::hours(1);
    SchedulerOptions scheduler;
    /// Of the owner of a run over several nodes, and how long it may be silent: others wait for it.
    Nanos gang_patience = std::chrono::seconds(10);
    /// How long another node of such a run may be silent before the run is given up.
    Nanos part_patience = std::chrono::seconds(20);
    /// How long it may take to begin its part.
    Nanos part_delay = std::chrono::seconds(60);
    /// Before the first further attempt; doubles from then on.
    Nanos first_wait = std::chrono::minutes(1);
    /// What an owner (`user ada`) may have at once. Any thread.
    std::function<UserRule(const std::string& owner)> rule_of = [](const std::string&) { return UserRule{}; };
    /// Why somebody else's work keeps ours from a node: "is used by …"; empty: nothing does. Any thread.
    std::function<std::string(const std::string& node)> used_by = [](const std::string&) { return std::string(); };
  };
  RunDesk(RunStore& runs, ClusterStore& cluster, const NodeRegistry& nodes, const Clock& clock, Options options);

  /// Reads what was asked for before the leader was started. Errors are those of the stores.
  Result<void> load();

  // --- whoever wants something to run ---

  struct Accepted {
    std::string study;  ///< empty for a single run
    std::string run;    ///< the single run, or the first of the study
  };
  /// `not_found`: no such node, or no run to come after; `usage`: GPUs that the node does not have, a run that did not
  /// succeed to come after, a key that was used for something else; `denied`: the node's agent takes no runs;
  /// `unsupported`: one run over several nodes, and too few agents that do parts.
  Result<Accepted> ask(const RunRequest& request);
  /// What a request with this key was answered with; nothing where it has none or nobody asked yet. `usage`: it was
  /// used for something else.
  Result<std::optional<Accepted>> answered(const RunRequest& request);
  /// What would come of the request, run by run; nothing is stored. Errors as `ask`.
  Result<std::vector<PreviewedRun>> preview(const RunRequest& request);
  /// Everything that has not ended: first what goes on, then what waits in the order of its start. Whoever looks at a
  /// long queue is shown one picture for a moment, so that agents need not wait for viewers, however many those are.
  using QueuePicture = std::shared_ptr<const std::vector<QueuedRun>>;
  Result<QueuePicture> queue();
  /// One of them, by the run that does it now or by its first. `not_found`.
  Result<QueuedRun> find(std::string_view run);

  /// A run that waits ends at once, one that goes on soon. `not_found` if nobody asked for it or it has ended.
  Result<void> stop(std::string_view run, std::string_view by);
  /// It waits until it is released. `busy`: its node has begun; `not_found` as above. Twice is fine.
  Result<void> hold(std::string_view run);
  Result<void> release(std::string_view run);
  /// Errors as `hold`.
  Result<void> set_priority(std::string_view run, int priority);

  /// Goes on with a study: with what has not begun and what was interrupted, in the order of the plan. Returns those
  /// entries; none if all is done. Of the request, `node` (for entries that name none), `gpus`, `by` and `owner` count.
  /// Where the study goes on already nothing is begun twice. `not_found`: no such study; `usage`: it has nothing to do
  /// on that node; `busy`: it is being stopped; else as `ask`.
  Result<std::vector<std::size_t>> resume_study(std::string_view study, const RunRequest& request);
  /// Its runs that wait or go on; none once it is over or was stopped.
  std::vector<std::string> jobs_of(std::string_view study);
  /// Every run of the study, and none of its plan that has not begun.
  Result<void> stop_study(std::string_view study, std::string_view by);

  WallTime now() const { return clock_.wall(); }
  /// Nodes that take runs, in order of names, whatever their state: where `each_node` goes.
  std::vector<std::string> nodes_for_runs() const;

  // --- agents ---

  /// What the node should be doing, told at once and whenever it changes. Replaces the node's stream before.
  /// `still_allowed` is asked now and then; the stream ends where it says no.
  EventStream listen(std::string_view node, std::function<bool()> still_allowed);
  /// The node takes a run that it was offered. `not_found`: it is not this node's; `busy`, `usage`: see `take_run`.
  /// The same for its part of a run over several nodes, as often as it likes; `busy` until the first node has said
  /// where it is.
  Result<TakenJob> take(std::string_view node, std::string_view run);
  /// What a node of a run over several says of its part. `not_found`: it has none.
  Result<PartAnswer> report_part(std::string_view node, std::string_view run, const PartReport& report);
  /// What it has recorded of its part, from `offset` on, under the owner's epoch: as `RunStore::append_frames`.
  Result<std::uint64_t> take_part_frames(std::string_view node, std::string_view run, std::uint64_t epoch,
                                         std::uint64_t offset, std::string_view frames);

  /// Looks at what has changed: runs that have ended, nodes that came or went, room for the next, owners that are lost.
  /// A thread of the leader does it twice a second. A run whose record cannot be read or written keeps no other
  /// waiting: it is left alone until it can be, and is the error when everything else was done.
  Result<void> tick();
  void finish();

  static constexpr std::size_t kMostJobs = 10'000;  ///< that have not ended

 private:
  /// How the nodes of one run over several are doing, as far as their agents have said since this leader was started.
  /// Nothing of it is stored: they say it every second.
  struct Gang {
    struct Part {
      SteadyTime heard{};  ///< when its agent last said that it is there; or since when it should
      bool joined = false;
      bool bringing = false;  ///< files, after the end of its workload
      bool ended = false;
      std::optional<Error> error;  ///< how it failed
    };
    std::vector<Part> parts;
    std::optional<MeetingPlace> meeting;
    std::optional<Error> lost;  ///< why the run cannot go on
  };
  /// A job, by the id of its first run.
  struct Entry {
    Stored<JobRecord> job;
    std::string name;
    std::string kind;
    std::string variant;
    RunState state = RunState::queued;  ///< of its current run
    std::vector<NodeShare> place;       ///< given to it, the node that owns it first; empty: it waits
    std::optional<WallTime> started;
    JobNeeds needs;
    ExpectedLength length;
    Gang gang;                             ///< of a run over several nodes
    std::optional<WallTime> silent_since;  ///< when the lease of its owner ran out
    std::optional<WallTime> given_up_at;   ///< when it is closed, if its owner stays silent
    bool kept_back = false;                ///< its record, or its study's, could not be read or written
    std::string trouble;                   ///< that was last said of that

    bool is_gang() const { return place.size() > 1; }
    /// Of this node in the run, where it has one.
    std::optional<int> part_of(std::string_view node) const;
  };
  struct Listener {
    EventStream stream;
    std::function<bool()> still_allowed;
    std::string told;
  };
  struct KnownNode {
    NodeState state = NodeState::offline;
    std::uint64_t told = 0;
    std::string used_by;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  enum class Progress { none, going_on, interrupted, done };

  static std::string id_of_key(const RunRequest& request);
  Result<void> check(const RunRequest& request) const;
  Result<void> check_node(const std::string& name, const RunRequest& request) const;

  // With the mutex.
  Entries::iterator entry_of(std::string_view run);
  Error not_in_queue(std::string_view run) const;
  Result<Entries::iterator> waiting_entry(std::string_view run);

  Result<std::optional<Accepted>> asked_before(const RunRequest& request);
  Result<std::vector<std::string>> jobs_to_wait_for(const std::vector<std::string>& runs);
  Result<Accepted> begin_study(const RunRequest& request);
  Result<Progress> progress_of(const PlannedRun& planned);
  Result<void> check_resumable(const Study& study, const std::string& node) const;
  Result<std::string> enqueue(const PlannedRun& planned, const RunRequest& request, const std::string& study,
                              std::size_t entry);
  Result<void> remove_never_given(const std::string& run);
  Result<void> store(Entry& entry, JobRecord changed);
  Result<void> go_on_with_study(const JobRecord& done, const Run* run, const std::string& node);
  Result<void> begin_other_lanes(const JobRecord& job);
  Result<void> give_up(const std::string& job, const Error& why);
  Result<void> end_before_it_began(const std::string& run, std::string why);

  // run_desk_queue.cpp: what the scheduler is told, and what it decides.
  void see_nodes();
  void see_node(const Node& node, const KnownNode& known);
  void take_back_from(const std::string& node);
  void see_rules();
  Result<void> read_history();
  void remember_length(const Run& run);
  Result<void> charge_for(const Run& run);
  DurationEstimate estimate_of(const JobNeeds& needs, const json::object& spec, const std::string& name,
                               ExpectedLength& length) const;
  Result<JobRequest> request_of(Entry& entry, const PlannedRun& planned);
  static void note_name(Entry& entry, const Run& run);
  Result<void> queue_up(Entry& entry);
  Result<void> reconsider(Entry& entry);
  void settle_in(Entry& entry, const Run& run);
  Result<void> place_all();
  Result<void> place(const JobPlacement& placement);

  // run_desk_gangs.cpp: runs over several nodes.
  Result<void> check_gang(const PlannedRun& planned, const RunRequest& request) const;
  Entry* gang_of(std::string_view node, std::string_view run);
  void gather(Entry& entry);
  Result<TakenJob> take_part(Entry& entry, int part, TakenJob taken);
  std::optional<Error> unreachable_meeting(const Entry& entry) const;
  void look_after(Entry& entry);

  // run_desk_endings.cpp: what becomes of runs that have ended.
  Result<void> refresh();
  Result<void> settle(const std::string& job);
  void settle_or_keep_back(const std::string& job);
  void keep_back(const std::string& job, const Error& why);
  void look_again_at_kept_back();
  Result<void> first_trouble() const;
  Result<void> close(const std::string& job, const Run* run, JobOutcome outcome);
  Result<void> begin_again(Entry& entry, const Run& lost, Nanos wait);
  Result<void> tell_dependents(const std::string& job);
  void end_what_never_runs(const std::vector<std::string>& jobs);
  Result<void> end_never_run(Entry& entry);
  Result<void> close_unfinished();
  Result<void> close_unfinished(const std::string& run);
  Result<void> close_run_of(const std::string& owner, const std::string& run, WallTime last_sign);
  Result<void> close_lost(Entry& entry);
  Nanos patience_with(const Entry& entry) const;

  // run_desk_view.cpp
  std::string silence_of(const Entry& entry) const;
  QueuedRun view_of(const Entry& entry, const WaitReport* report) const;
  Result<std::vector<QueuedRun>> look_at_queue();
  void tell(const std::string& node, Listener& listener);
  void tell_all();

  RunStore& runs_;
  ClusterStore& cluster_;
  const NodeRegistry& nodes_;
  const Clock& clock_;
  const Options options_;
  const WallTime started_;

  std::mutex picture_mutex_;  ///< before `mutex_`: one at a time makes a picture of the queue
  QueuePicture picture_;
  SteadyTime picture_until_{};
  mutable std::mutex mutex_;
  SteadyTime last_look_{};
  Scheduler scheduler_;
  DurationHistory lengths_;
  ClusterGpus gpus_;
  std::map<std::string, KnownNode> known_nodes_;
  std::map<std::string, UserRule> rules_;  ///< by owner, as the scheduler has them
  Entries entries_;
  std::map<std::string, std::string, std::less<>> job_of_run_;  ///< by the run that does it now
  std::vector<std::string> never_run_;  ///< jobs that are still to be ended, since another did not succeed
  std::uint64_t seen_change_ = 0;
  std::map<std::string, Listener, std::less<>> listeners_;
};

}  // namespace assay
