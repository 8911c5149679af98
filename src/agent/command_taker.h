#pragma once

#include <memory>
#include <string>

#include "agent/command_executor.h"
#include "agent/event_listener.h"
#include "base/result.h"
#include "base/supervised_thread.h"

namespace assay {

class HttpClient;
struct ServerEvent;

struct CommandTakerOptions {
  ExecutorOptions executor;
  std::function<std::uint64_t()> arrivals;  ///< see ListenerOptions
  Nanos look = std::chrono::seconds(5);     ///< the same
};

/// Listens to the leader's commands and has them carried out.
class CommandTaker {
 public:
  static Result<std::unique_ptr<CommandTaker>> start(CommandTakerOptions options);
  CommandTaker(const CommandTaker&) = delete;
  CommandTaker& operator=(const CommandTaker&) = delete;
  /// As `stop`.
  ~CommandTaker();

  /// Ends what is under way, and all threads.
  void stop();

 private:
  CommandTaker(CommandTakerOptions options, std::unique_ptr<HttpClient> client,
               std::unique_ptr<CommandExecutor> executor);
  void handle(const ServerEvent& event);
  void report(const std::string& id, const CommandReport& report);

  const CommandTakerOptions options_;
  std::unique_ptr<HttpClient> client_;  ///< for answers at once
  std::unique_ptr<CommandExecutor> executor_;
  std::unique_ptr<EventListener> listener_;
};

}  // namespace assay
