#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/peer_watch.h"
#include "agent/run_shipper.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "base/supervised_thread.h"
#include "launch/launcher.h"
#include "protocol/job_list.h"
#include "runs/execute.h"
#include "runs/study_run.h"
#include "store/run_store.h"
#include "telemetry/metric_source.h"

namespace assay {

class RunObserver;

/// What it takes to do jobs on this machine: handed in by the program. Any thread may use it.
struct JobServices {
  std::shared_ptr<RunStore> store;  ///< of this node: what is recorded until the leader has it
  std::shared_ptr<Launcher> launcher;
  std::function<Provenance()> describe_machine;
  /// See RunServices.
  std::function<std::vector<std::unique_ptr<MetricSource>>(std::optional<pid_t>)> make_sources;
  std::string place = {};    ///< see RunServices
  std::string address = {};  ///< where other nodes reach this one
};

/// What the workers of an agent share. Must outlive them.
struct JobDesk {
  JobServices services;
  const Clock& clock;
  RunStore& leader;
  /// Asks the leader for a run; the answer is that of the protocol.
  std::function<Result<json::value>(const std::string& run)> take;
  /// For runs over several nodes: see PartShipperOptions.
  std::function<Result<PartAnswer>(const std::string& run, const PartReport& report)> report_part;
  std::function<Result<std::uint64_t>(const std::string& run, std::uint64_t epoch, std::uint64_t offset,
                                      std::string_view frames)>
      send_part;
  std::function<void()> on_change;  ///< `doing` or `done` of a worker has changed
  Nanos look = std::chrono::milliseconds(100);
  Nanos lease_length = std::chrono::minutes(1);  ///< of runs; renewed when half of it is over
  Nanos first_pause = std::chrono::milliseconds(500);
  Nanos longest_pause = std::chrono::seconds(10);
  Nanos part_period = std::chrono::seconds(1);  ///< between two reports of a run over several nodes
};

/// Which run, and of one over several nodes which of them.
struct JobToDo {
  std::string run;
  int part = 0;
};

/// Does one run for the leader, on threads of its own: takes it, executes it, ships what is recorded, and removes it
/// here once the leader has it. A run that is recorded here already (by an earlier agent) is never begun again, only
/// shipped; one whose job has outlived that agent is taken up and recorded to its end. Of a run over several nodes it
/// does this node's part; on the first one it also watches over the others (peer_watch.h).
class JobWorker {
 public:
  /// Begins at once; with `stop`, only to say that it never began. Errors: no descriptors or threads are left.
  static Result<std::unique_ptr<JobWorker>> start(const JobDesk& desk, JobToDo job, bool stop = false);
  JobWorker(const JobWorker&) = delete;
  JobWorker& operator=(const JobWorker&) = delete;
  /// As `wind_up`, and waits.
  ~JobWorker();

  // Any thread; none of these waits.
  /// See RunShipper.
  void set_listed(bool listed) { shipper_->set_listed(listed); }
  /// Ends the workload, as SIGTERM would.
  void stop_run();
  /// Ends the workload, or lets go of one that outlives the agent; ships what the leader takes without being waited
  /// for, and leaves the rest for the next agent.
  void wind_up();
  /// A workload is under way.
  bool doing() const { return doing_; }
  /// There is nothing more to do.
  bool done() const { return done_; }

 private:
  JobWorker(const JobDesk& desk, JobToDo job, Pipe stop);
  std::unique_ptr<Shipper> make_shipper();
  void work(const std::stop_token& stop);
  void look_for_record();
  Result<TakenJob> take();
  void begin(TakenJob job);
  void execute(const TakenJob& job);
  Result<Run> execute_part(const TakenJob& job, StudyOptions options, RunObserver& observer);
  Result<MeetingPlace> meet(const PartOfRun& part);
  void lose_peer();
  RunServices run_services(RunObserver& observer, Launcher& launcher) const;
  void take_up();
  void resume(const std::stop_token& stop);
  void leave_run();
  bool goes_on_without_us() const;
  void end_unbegun(Run run, Verdict verdict, const Error& error);
  void finish(const Shipment& shipment);

  const JobDesk& desk_;
  const std::string run_;
  const int part_;
  const Pipe stop_;
  RunShipper* run_shipper_ = nullptr;  ///< of a run that this node owns: the same as `shipper_`
  std::unique_ptr<Shipper> shipper_;
  std::atomic<bool> stop_asked_ = false;
  std::atomic<bool> left_ = false;
  std::atomic<bool> winding_up_ = false;
  std::atomic<bool> doing_ = false;
  std::atomic<bool> done_ = false;

  // Of the worker's thread.
  bool begun_ = false;               ///< here, by this worker or an earlier one
  bool without_owner_ = false;       ///< begun by an earlier one, and its job goes on
  std::optional<Error> unreadable_;  ///< there is something here that might be a record of it
  std::mutex peers_mutex_;
  std::shared_ptr<PeerWatch> peers_;  ///< of the thread that executes; others may tell it to give up
  std::optional<SupervisedThread> execution_;

  std::optional<SupervisedThread> thread_;  ///< the last: it uses all of the above
};

}  // namespace assay
