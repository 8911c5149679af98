#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "leader/line_limit.h"
#include "leader/refusals.h"
#include "model/leader_status.h"
#include "model/maintenance.h"

namespace assay {

class Accounts;
class AlertDesk;
class ClusterStore;
class CommandDesk;
class LiveHub;
class Node;
class NodeRegistry;
class RunDesk;
class RunStore;
class SeriesStore;
class SlurmDesk;
struct AgentHello;
struct AppendOutcome;
struct Batch;
struct ClusterEvent;
struct Heartbeat;
struct IntakeWork;
struct LeaderOptions;
struct TelemetryEvent;
struct UserRule;

/// Where the leader keeps what it knows. Must outlive it.
struct LeaderStores {
  ClusterStore& cluster;
  SeriesStore& series;
  RunStore& runs;
};

/// The head of a cluster: takes in what agents send, keeps it, watches over it and tells whoever looks. Knows nothing
/// of HTTP. Any thread may call anything between `start` and `stop`.
class Leader {
 public:
  /// Errors are those of the stores.
  static Result<std::unique_ptr<Leader>> open(LeaderOptions options, LeaderStores stores, const Clock& clock);
  ~Leader();

  /// Begins with upkeep, watching and telling.
  void start();
  /// Ends streams: they would keep whoever serves them waiting. From now on no node is called silent.
  void finish_streams();
  /// Ends streams and threads, writes down what is known. Twice is fine.
  void stop();

  // --- agents ---

  /// `busy` here and below: it asks for more than one node may, and has to wait. That it is there is noted all the
  /// same.
  Result<void> hello(std::string_view node, const AgentHello& hello);
  /// Takes so many bytes of a request off what the node may send, before they are read.
  Result<void> charge(std::string_view node, std::size_t bytes);
  /// A request of that node has come, whatever becomes of it. Waits for nothing.
  void note_heard(std::string_view node);
  /// The server had no room for a request of somebody: a problem for a while. Waits for nothing.
  void note_no_room(const std::string& caller);
  struct Receipt {
    enum class Outcome {
      taken,
      needs_hello,  ///< the stream is not known
      needs_names,  ///< a series is not known
    };
    Outcome outcome = Outcome::taken;
    std::uint64_t sequence = 0;  ///< up to which all is taken
    Nanos pause{};               ///< before sending more
  };
  /// Takes the batches of a request in order, up to the first that cannot be, or that is more than the node may send at
  /// this time. `usage`: bytes that are no batches, today or ever; anything else is our own trouble (a full disk, a
  /// clock that is behind) or too much at a time (`busy`), and nothing is lost that the agent still has. What is
  /// dropped, an agent cannot help by keeping it: `status` names it until somebody has looked.
  Result<Receipt> take_batches(std::string_view node, std::string_view body, std::optional<std::int64_t> sent_ns);

  // --- everybody else ---

  NodeRegistry& nodes() { return *nodes_; }
  LiveHub& live() { return *live_; }
  AlertDesk& alerts() { return *alerts_; }
  CommandDesk& commands() { return *commands_; }
  RunDesk& run_desk() { return *run_desk_; }
  SlurmDesk& slurm() { return *slurm_; }
  Accounts& accounts() { return *accounts_; }
  RunStore& runs() { return runs_; }
  SeriesStore& series() { return series_; }
  ClusterStore& cluster() { return cluster_; }
  const Clock& clock() const { return clock_; }

  /// With a maintenance the node is drained while that lasts. `usage`: it would be over before it begins, or is over.
  Result<void> set_draining(std::string_view node, bool draining, std::string reason, std::string_view by,
                            std::optional<Maintenance> maintenance = {});
  /// Forgets the node itself; its telemetry stays unless `erase`.
  Result<void> forget(std::string_view node, bool erase);
  /// Writes down which nodes went silent or came back since the last time, and begins and ends their maintenance. A
  /// thread of the leader does it twice a second once it was started; before, whoever owns the time.
  void look_at_states();
  /// The leader itself was away (stopped, its machine asleep): nobody who was there before is silent for that.
  void excuse_nodes();
  /// Looks at the cluster by the rules, and at the leader itself. The same thread does it every five seconds.
  void look_for_alerts();
  /// Forgets a slice of the events and alerts that need not be kept. Whether there are more.
  bool forget_what_is_old();

  /// Somebody has looked at what was refused of a node: from now on it is counted anew.
  Result<void> dismiss_refusals(std::string_view node) { return refusals_.forget(node); }

  /// How the leader itself is doing.
  LeaderStatus status() const;
  /// What is wrong with it: the worst first.
  std::vector<LeaderProblem> problems() const;
  /// Says a problem once until it is over, and shows it in `status` and as an alert until then.
  void note_problem(const std::string& what, const Result<void>& outcome, ProblemKind kind = ProblemKind::storage);

 private:
  Leader(LeaderOptions options, LeaderStores stores, const Clock& clock);
  Result<void> open_all();

  // leader_intake.cpp
  Result<void> check_budget(Node& node);
  Result<void> take_frame(Node& node, std::string_view frame, Receipt& receipt);
  Result<void> take_encoded(Node& node, std::string_view frame, IntakeWork& work, Receipt& receipt);
  Result<void> save(Node& node, IntakeWork& work);
  /// What the node's clock says is made what ours would have said. `busy` where that is not known yet.
  Result<void> put_times_right(Node& node, Batch& batch);
  /// A batch as a whole: samples, devices, processes, events.
  Result<Receipt::Outcome> take(Node& node, Batch batch, IntakeWork& work);
  Result<Receipt::Outcome> take_samples(Node& node, const Batch& batch, IntakeWork& work);
  void note_refused(const Node& node, std::size_t of_refused_series, const AppendOutcome& appended);
  /// `busy` where the samples are not too far ahead, but our clock is behind.
  Result<void> check_clock(const AppendOutcome& appended);
  /// With those of the nodes that are heard of.
  void compare_clocks();
  Result<void> name_series(Node& node, const Batch& batch);
  Result<void> take_events(Node& node, const std::vector<TelemetryEvent>& events);
  /// Takes out what is more than a node may have, and says so.
  void limit_events(Node& node, std::vector<ClusterEvent>& events);
  Heartbeat now() const;

  void note_changes(Node& node, std::vector<std::string> changes);
  void log_changes(const std::string& node, const std::vector<ClusterEvent>& changes);
  /// What the leader itself has seen, now.
  void note_cluster_events(std::vector<ClusterEvent> events);
  /// Those that could not be written before; the mutex must be held.
  void write_waiting_events();

  /// What the store of series has found damaged, each once.
  void log_damage();
  /// Whether a node is heard of or not; of many at once, how many.
  void log_states(const std::vector<ClusterEvent>& events);
  /// Drains nodes whose maintenance has begun, and opens those for which it is over.
  void turn_maintenance();
  /// Whether every thread that takes in what nodes send hangs: then none of them can be heard.
  void look_at_intake();
  void look_at_room();

  UserRule rule_of(const std::string& owner) const;

  void keep_store(const std::stop_token& stop);
  void keep_watch(const std::stop_token& stop);
  void keep_telling(const std::stop_token& stop);
  void keep_runs_going(const std::stop_token& stop);
  void start_thread(const char* name, void (Leader::*keep)(const std::stop_token&));

  std::unique_ptr<LeaderOptions> options_;  ///< without the outlets, which the desk has
  const Clock& clock_;
  SeriesStore& series_;
  ClusterStore& cluster_;
  RunStore& runs_;
  std::unique_ptr<NodeRegistry> nodes_;
  std::unique_ptr<LiveHub> live_;
  std::unique_ptr<AlertDesk> alerts_;
  std::unique_ptr<CommandDesk> commands_;
  std::unique_ptr<SlurmDesk> slurm_;
  std::unique_ptr<RunDesk> run_desk_;
  std::unique_ptr<Accounts> accounts_;

  SteadyTime started_;
  std::atomic<std::uint64_t> samples_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
  std::atomic<bool> clock_is_behind_ = false;
  std::atomic<bool> crowded_ = false;  ///< memory for what is not in chunks yet runs out
  std::mutex no_room_mutex_;
  std::string no_room_for_;  ///< whose request was turned away last
  SteadyTime no_room_at_;
  std::mutex changes_mutex_;
  LineLimit change_lines_;  ///< by node
  std::mutex unwritten_mutex_;
  std::vector<ClusterEvent> unwritten_;
  std::atomic<bool> ending_ = false;
  LineLimit state_lines_;  ///< of the thread that looks at states; so with the next
  int busy_looks_ = 0;
  mutable std::mutex problems_mutex_;
  std::map<std::string, WallTime> damage_;         ///< in words: when it was found
  std::map<std::string, LeaderProblem> problems_;  ///< by what was tried
  LineLimit problem_lines_;                        ///< one node may fail where another succeeds, in turn
  Refusals refusals_;
  std::vector<SupervisedThread> threads_;
};

}  // namespace assay
