#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/command.h"
#include "agent/leader_access.h"
#include "agent/pauses.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/guard.h"
#include "base/result.h"
#include "net/http_client.h"

namespace assay {

class RunCopier;

struct ExecutorOptions {
  LeaderAccess access;
  std::vector<std::string> self;  ///< the program that knows `doctor` and `run`, and what comes before those words
  fs::path folder;                ///< a folder for each run command; those of earlier agents are found there
  std::set<Command::Kind> allow = {Command::Kind::doctor};
  Nanos doctor_time = std::chrono::minutes(2);  ///< then it is ended
  Nanos copy_period = std::chrono::seconds(1);  ///< between two copies of what a run has recorded
  Nanos request_time = std::chrono::seconds(20);
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader did not take a report or a copy
  Nanos longest_pause = std::chrono::seconds(10);
};

/// Tells the leader once. Errors are those of the client and of `failure_of`.
Result<void> post_report(HttpClient& client, const LeaderAccess& access, const std::string& id,
                         const CommandReport& report);

/// Does what leaders ask for, one thing at a time, on a thread of its own, and reports it. A run goes under a guard, so
/// that nothing of it outlives the agent; its recording is copied to the leader while it goes on.
class CommandExecutor {
 public:
  /// Errors are those of the folder and of the TLS options.
  static Result<std::unique_ptr<CommandExecutor>> start(ExecutorOptions options);
  CommandExecutor(const CommandExecutor&) = delete;
  CommandExecutor& operator=(const CommandExecutor&) = delete;
  /// As `stop`.
  ~CommandExecutor();

  /// Takes a command, or says at once what is to be reported: that it is refused, or that it was done (stop). Never
  /// blocks. A command that it has already gets no answer: it is under way.
  std::optional<CommandReport> offer(const Command& command);

  /// Whether a run is under way. Any thread.
  bool running() const { return running_; }

  /// Ends a run that is under way (which takes up to its grace period) and the thread.
  void stop();

 private:
  CommandExecutor(ExecutorOptions options, std::unique_ptr<HttpClient> client);
  CommandReport stop_run(const std::string& id);
  bool to_be_stopped(const std::string& id) const;
  void work();
  void finish_leftovers();
  void carry_out(const Command& command);
  CommandReport examine(const Command& command);
  CommandReport run(const Command& command, const fs::path& folder);
  CommandReport follow(const Command& command, GuardedProcess& process, RunCopier* copier);
  std::optional<SteadyTime> say_running(const std::string& id);
  void deliver(const std::string& id, CommandReport report, const fs::path& folder);
  void copy_all(RunCopier& copier);
  void report_until_taken(const std::string& id, const CommandReport& report);
  bool stopping() const;
  bool rest(Nanos pause);

  const ExecutorOptions options_;
  std::unique_ptr<HttpClient> client_;
  Pauses pauses_;
  std::atomic<bool> running_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command> waiting_;
  std::deque<std::string> taken_;  ///< ids of the last commands that were accepted
  std::optional<Command> current_;
  std::string stop_id_;  ///< of the run that is to stop
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace assay
