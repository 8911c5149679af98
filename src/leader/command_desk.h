#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "leader/node_registry.h"
#include "net/response_stream.h"

namespace assay {

/// Something that an agent was asked to do.
struct AgentCommand {
  std::string id;
  std::string node;
  std::string kind;  ///< "doctor", "run", "stop"
  json::object arguments;
  std::string by;  ///< the name of the token that asked
  WallTime created;
  enum class State { waiting, running, done, failed, refused, expired } state = State::waiting;
  std::optional<int> exit_code;
  std::string output;
  std::string message;

  bool is_over() const { return state != State::waiting && state != State::running; }
};
std::string_view name_of(AgentCommand::State state);
json::object to_json(const AgentCommand& command);

/// Hands commands to agents and keeps what became of them, for as long as the leader runs. Any thread.
class CommandDesk {
 public:
  CommandDesk(const NodeRegistry& registry, const Clock& clock) : registry_(registry), clock_(clock) {}

  /// Sends it at once where the agent listens, else when it does. `not_found`: no such node; `usage`: no such kind, or
  /// arguments that it does not take; `denied`: the agent does not allow it; `busy`: too many wait already.
  Result<AgentCommand> create(std::string_view node, std::string_view kind, json::object arguments, std::string by);
  /// The agent of the node listens from now on; it gets what waits. Replaces its stream before.
  EventStream listen(std::string_view node);
  /// What the agent says of a command. `not_found` if it is not this node's; `usage` for a body that is no report.
  Result<void> report(std::string_view node, std::string_view id, std::string_view body);
  /// `not_found`.
  Result<AgentCommand> find(std::string_view id) const;
  /// Newest first.
  std::vector<AgentCommand> list() const;
  /// Gives up what no agent took within ten minutes, and what was under way on a node that has been silent for as
  /// long; forgets what is long over.
  void expire();
  void finish();

  static constexpr std::size_t kMaxWaiting = 32;  ///< of one node
  static constexpr std::size_t kMaxKept = 1000;
  static constexpr Nanos kPatience = std::chrono::minutes(10);

 private:
  bool offer(const AgentCommand& command);

  const NodeRegistry& registry_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, AgentCommand, std::less<>> commands_;
  std::map<std::string, EventStream, std::less<>> listeners_;
};

}  // namespace assay
