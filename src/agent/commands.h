#pragma once

#include <memory>
#include <string>

#include "agent/command_executor.h"
#include "agent/event_listener.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "net/http_client.h"

namespace assay {

struct CommandsOptions {
  ExecutorOptions executor;
  std::function<std::uint64_t()> arrivals;  ///< see ListenerOptions
  Nanos look = std::chrono::seconds(5);     ///< the same
};

/// Listens to the leader's commands and has them carried out.
class Commands {
 public:
  static Result<std::unique_ptr<Commands>> start(CommandsOptions options);
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;
  /// As `stop`.
  ~Commands();

  /// Ends what is under way, and all threads.
  void stop();

 private:
  Commands(CommandsOptions options, std::unique_ptr<HttpClient> client, std::unique_ptr<CommandExecutor> executor);
  void handle(const ServerEvent& event);
  void report(const std::string& id, const CommandReport& report);

  const CommandsOptions options_;
  std::unique_ptr<HttpClient> client_;  ///< for answers at once
  std::unique_ptr<CommandExecutor> executor_;
  std::unique_ptr<EventListener> listener_;
};

}  // namespace assay
