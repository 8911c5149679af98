#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/event_listener.h"
#include "agent/job_worker.h"
#include "client/connection.h"

namespace assay {

struct ServerEvent;

struct JobKeeperOptions {
  LeaderAccess access;
  std::function<std::uint64_t()> arrivals;  ///< see ListenerOptions
  JobServices services;
  const Clock& clock;
  std::shared_ptr<Connection> connection;      ///< for taking runs; cancelled when the keeper stops
  std::shared_ptr<RunStore> leader;            ///< where runs are shipped to, over the same connection
  std::size_t most = 64;                       ///< runs at a time; further ones wait
  Nanos look = std::chrono::seconds(1);        ///< between two looks at what is done
  Nanos ask_again = std::chrono::seconds(30);  ///< for a run that was refused and is still listed
  Nanos ship_look = std::chrono::milliseconds(100);
  Nanos lease_length = std::chrono::minutes(1);  ///< of runs; who has lost one hears of it when half of that is over
  Nanos part_period = std::chrono::seconds(1);   ///< see JobDesk
  Nanos first_pause = std::chrono::milliseconds(500);
  Nanos longest_pause = std::chrono::seconds(10);
};

/// Sees to it that this node does what the leader lists, side by side, and nothing else. The leader says all that it
/// wants whenever it changes, and what is recorded here says what was begun: nothing is forgotten and nothing is done
/// twice, whoever starts again.
class JobKeeper {
 public:
  /// Goes on with what earlier agents have left. Errors are those of the store and of the TLS options.
  static Result<std::unique_ptr<JobKeeper>> start(JobKeeperOptions options);
  JobKeeper(const JobKeeper&) = delete;
  JobKeeper& operator=(const JobKeeper&) = delete;
  /// As `stop` without patience.
  ~JobKeeper();

  /// Whether a run is under way. Any thread.
  bool running() const;
  /// Ends what is under way (which takes up to its grace period) or, where it outlives the agent, lets go of it; then
  /// gives the leader `patience` to take the rest. What it does not take stays for the next agent.
  void stop(Nanos patience);

 private:
  explicit JobKeeper(JobKeeperOptions options);
  Result<void> find_leftovers();
  void take_list(const ServerEvent& event);
  void reconcile();
  void begin(const JobToDo& job, bool stop);
  Result<std::uint64_t> send_part(const std::string& run, std::uint64_t epoch, std::uint64_t offset,
                                  std::string_view frames);
  void reap();

  const JobKeeperOptions options_;
  JobDesk desk_;
  std::unique_ptr<EventListener> listener_;

  // Of the listener's thread.
  std::vector<ListedJob> listed_;
  bool list_is_known_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<JobWorker>> workers_;
  std::map<std::string, SteadyTime> settled_;  ///< done or refused since the list came, and when
};

}  // namespace assay
