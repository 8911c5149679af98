#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/command_executor.h"
#include "agent/leader_access.h"
#include "agent/pauses.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "net/http_client.h"

namespace assay {

struct CommandsOptions {
  ExecutorOptions executor;
  /// How often the leader was found again; a stream of before that may be dead without anybody noticing.
  std::function<std::uint64_t()> arrivals;
  Nanos look = std::chrono::seconds(5);           ///< between two looks at `arrivals` while nothing comes
  Nanos longest_quiet = std::chrono::minutes(5);  ///< then the stream is opened anew: it might be dead
};

/// Listens to the leader's commands on a thread of its own and has them carried out. Connects again when the stream
/// ends; waits until the uplink has found the leader.
class Commands {
 public:
  static Result<std::unique_ptr<Commands>> start(CommandsOptions options);
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;
  /// As `stop`.
  ~Commands();

  /// Whether a run is under way. Any thread.
  bool running() const { return executor_->running(); }
  /// Ends a run that is under way, and both threads.
  void stop();

 private:
  Commands(CommandsOptions options, std::unique_ptr<HttpClient> client, std::unique_ptr<CommandExecutor> executor);
  void run(const std::stop_token& stop);
  void listen(EventSource& events, std::uint64_t arrivals);
  void handle(const ServerEvent& event);
  void report(const std::string& id, const CommandReport& report);

  const CommandsOptions options_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<CommandExecutor> executor_;
  Pauses pauses_;
  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
