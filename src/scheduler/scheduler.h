#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "scheduler/fair_share.h"
#include "scheduler/job_request.h"
#include "scheduler/node_offer.h"
#include "scheduler/places.h"
#include "scheduler/queue_order.h"
#include "scheduler/waiting.h"
#include "scheduler/waiting_lines.h"

namespace assay {

struct SchedulerOptions {
  OrderRule order;
  FairShareRule fair_share;
  UserRule user;  ///< of users for whom nothing else was said
};

/// What is to be done now.
struct SchedulerDecision {
  std::vector<JobPlacement> start;   ///< in this order; each counts as running from now on
  std::vector<std::string> overdue;  ///< have run for longer than their time limit: to be ended; said once
};

/// What became of a job that ended.
struct JobAfterlife {
  std::optional<WallTime> retry;        ///< it waits for another attempt, not before then
  std::vector<std::string> never_runs;  ///< jobs that waited for its success in vain: to be cancelled
};

/// Who runs where and when. Told of events, asked for decisions; has no clock, thread, file or connection of its own,
/// and the same calls give the same answers. Everything it knows comes from these calls: after a crash a new one that
/// is told of the nodes, of the users, of each job that has not ended (`submit`, in the order of their submission) and
/// of those that run (`started`) goes on. What was used before is told with `charge_user`. One caller at a time.
/// Nothing blocks. Times must not go back by more than clocks do: they are compared, never waited for.
class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options = {});

  // Nodes.

  /// A node is there, or has changed. Fails where it offers more GPUs than can be told apart, or a speed that is not >
  /// 0.
  Result<void> node_up(const NodeOffer& offer);
  /// It is gone or to be left alone. Returns the jobs that ran there: end each as `lost`, or start it again elsewhere.
  std::vector<std::string> node_down(const std::string& name);

  // Users.

  void set_user(const std::string& user, const UserRule& rule);
  /// GPU seconds that ended at `when`, before this scheduler began to look; in the order of time.
  void charge_user(const std::string& user, double gpu_seconds, WallTime when);

  // Jobs. A job that is not known is an error of kind `not_found`.

  /// Fails where the id is taken or the needs make no sense.
  Result<void> submit(JobRequest job);
  /// It runs since `when`: told for a job that a former scheduler placed, or to correct the time for one of this one's.
  /// Fails where the GPUs are not there or not free.
  Result<void> started(const JobPlacement& placement, WallTime when);
  /// It did not start after all, since its node no longer takes jobs: it waits again as if it had not been placed. One
  /// that waits is left alone.
  Result<void> take_back(const std::string& id, WallTime when);
  /// Gives a job that waits other needs, another estimate, priority or time limit, another time or attempt, holds or
  /// releases it; what it waits for stays. One that runs is left alone. Fails where the needs make no sense.
  Result<void> change(const JobRequest& job, WallTime now);
  Result<JobAfterlife> ended(const std::string& id, JobOutcome outcome, WallTime when);
  Result<void> hold(const std::string& id);
  Result<void> release(const std::string& id, WallTime now);

  /// Which jobs start, and where. Costs are in proportion to what starts and to what has changed, not to what waits.
  SchedulerDecision decide(WallTime now);
  /// When to ask again if nothing happens before; none: no need to. Called by tests: leaders ask twice a second.
  std::optional<WallTime> next_look() const;

  // What people ask.

  /// Why a job waits. Takes time in proportion to the jobs that wait.
  Result<WaitReport> explain(const std::string& id, WallTime now) const;
  /// The same for every job that waits, at little more than the cost of one; starts as `forecast` tells them.
  std::map<std::string, WaitReport> explain_all(WallTime now, std::size_t most = 1000) const;
  /// When and where a job would probably start if it were submitted now.
  Result<JobPreview> preview(const JobRequest& job, WallTime now) const;
  /// When the next `most` jobs that could run will probably start, in their order. Takes `most` · nodes.
  std::vector<JobForecast> forecast(WallTime now, std::size_t most = 1000) const;

  std::size_t waiting() const { return waiting_; }
  std::size_t running() const { return running_; }

 private:
  enum class Phase { waits, queued, set_aside, running };
  struct Job {
    JobRequest request;
    std::size_t user = 0;
    Phase phase = Phase::waits;
    WaitingLines::Entry entry;
    std::set<std::string> after;  ///< not yet succeeded
    std::string broken;           ///< that did not succeed and never will
    std::vector<NodeNumber> nodes;
    int gpus = 0;  ///< in use
    WallTime started{};
    WallTime expected_end{};
    double charged = 0;
  };
  struct UserState {
    int gpus = 0;
    int jobs = 0;
  };
  /// Nodes that are being emptied for a job which finds no place otherwise.
  struct SetAside {
    JobNumber job = 0;
    std::vector<NodeNumber> nodes;
    std::vector<KindFit> fits;
    WallTime start{};
  };

  std::optional<JobNumber> number_of(const std::string& id) const;
  JobNumber keep(JobRequest request);
  void forget(JobNumber number);
  /// Puts a job where it belongs: into its line, or among those that cannot run yet.
  void settle(JobNumber number);
  void leave_line(JobNumber number);
  void rekey();
  PlaceWish wish_of(const Job& job, WallTime now) const;
  bool over_quota(const Job& job) const;
  int gpus_of(const JobNeeds& needs) const;
  void count_in(Job& job, WallTime now);
  void vacate(JobNumber number, WallTime when);
  void room_on(NodeNumber node);
  void update_delay(std::size_t user);
  void fade_use(WallTime now);
  JobAfterlife close(JobNumber number, bool succeeded);

  void wake(WallTime now);
  void start_set_aside(WallTime now, SchedulerDecision& decision);
  void start(JobNumber number, const std::vector<NodeNumber>& nodes, const std::vector<KindFit>& fits, WallTime now,
             SchedulerDecision& decision);
  bool start_from(WaitingLines::Line& line, WallTime now, SchedulerDecision& decision);
  void fill_gaps(WallTime now, SchedulerDecision& decision);
  void give_back(const SetAside& aside);
  std::vector<bool> full_kinds() const;
  void set_nodes_aside(WallTime now);
  void set_aside(const WaitingLines::Line& line, const Places::DrainPlan& plan);
  void reserve(const SetAside& aside);
  void plan_anew(WallTime now);
  void report_overdue(WallTime now, SchedulerDecision& decision);
  void plan_without(NodeNumber node);
  struct Candidate {
    WaitingLines::Entry entry;
    const JobRequest* job = nullptr;
    const std::vector<KindFit>* fits = nullptr;
  };
  std::vector<Candidate> in_order(std::size_t most) const;
  std::vector<JobForecast> outlook(const std::vector<Candidate>& queue, WallTime now) const;
  std::size_t jobs_ahead(const Job& job) const;
  std::unordered_map<std::string, std::size_t> all_ahead(const std::vector<Candidate>& queue) const;
  WaitReport report_of(JobNumber number, WallTime now, std::size_t ahead) const;
  std::string quota_sentence(const Job& job) const;

  SchedulerOptions options_;
  Places places_;
  WaitingLines lines_{places_};
  FairShare fair_share_;
  EstimateSpread spread_;
  std::vector<Job> jobs_;
  std::vector<JobNumber> unused_;
  std::unordered_map<std::string, JobNumber> numbers_;
  std::unordered_map<std::string, std::vector<std::string>> dependents_;  ///< by the id that is waited for
  std::vector<UserState> users_;
  std::vector<SetAside> aside_;
  std::uint64_t plan_round_ = 1;
  bool nodes_have_changed_ = false;
  std::vector<NodeNumber> roomier_;   ///< nodes on which room has come about since the set-asides were looked at
  std::vector<JobNumber> newcomers_;  ///< that stand in line since the last decision
  std::uint64_t next_sequence_ = 0;
  std::set<std::pair<WallTime, JobNumber>> delayed_;  ///< by when they may start
  std::set<std::pair<WallTime, JobNumber>> limits_;   ///< by when they must have ended
  std::set<std::pair<WallTime, NodeNumber>> maintenance_ends_;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
};

}  // namespace assay
