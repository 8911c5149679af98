#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/leader_access.h"
#include "agent/pauses.h"
#include "base/clock.h"
#include "base/guard.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "protocol/command.h"

namespace assay {

class HttpClient;

struct ExecutorOptions {
  LeaderAccess access;
  std::vector<std::string> self;  ///< the program that knows `doctor`, and what comes before that word
  std::set<Command::Kind> allow = {Command::Kind::doctor};
  /// Whether a run is under way: a look at the machine would disturb the measurement. Any thread.
  std::function<bool()> measuring = [] { return false; };
  Nanos doctor_time = std::chrono::minutes(2);  ///< then it is ended
  Nanos request_time = std::chrono::seconds(20);
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader did not take a report
  Nanos longest_pause = std::chrono::seconds(10);
};

/// Tells the leader once. Errors are those of the client and of `failure_of`.
Result<void> post_report(HttpClient& client, const LeaderAccess& access, const std::string& id,
                         const CommandReport& report);

/// Does what leaders ask for beside runs, one thing at a time, on a thread of its own, and reports it. Programs go
/// under a guard, so that nothing of them outlives the agent.
class CommandExecutor {
 public:
  /// Errors are those of the TLS options.
  static Result<std::unique_ptr<CommandExecutor>> start(ExecutorOptions options);
  CommandExecutor(const CommandExecutor&) = delete;
  CommandExecutor& operator=(const CommandExecutor&) = delete;
  /// As `stop`.
  ~CommandExecutor();

  /// Takes a command, or says at once what is to be reported: that it is refused. Never blocks. A command that it has
  /// already gets no answer: it is under way.
  std::optional<CommandReport> offer(const Command& command);

  /// Ends what is under way, and the thread.
  void stop();

 private:
  CommandExecutor(ExecutorOptions options, std::unique_ptr<HttpClient> client);
  void work(const std::stop_token& stop);
  CommandReport examine(const Command& command, const std::stop_token& stop);
  CommandReport follow(const Command& command, GuardedProcess& process, const std::stop_token& stop);
  std::optional<SteadyTime> say_running(const std::string& id);
  void report_until_taken(const std::string& id, const CommandReport& report, const std::stop_token& stop);

  const ExecutorOptions options_;
  std::unique_ptr<HttpClient> client_;
  Pauses pauses_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Command> waiting_;
  std::deque<std::string> taken_;  ///< ids of the last commands that were accepted

  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
