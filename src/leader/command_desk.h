#pragma once

#include <functional>
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
#include "protocol/command.h"

namespace assay {

/// Something that an agent was asked to do.
struct AgentCommand {
  std::string id;
  std::string node;
  Command::Kind kind = Command::Kind::doctor;
  std::string by;  ///< the name of the token that asked
  WallTime created;
  enum class State {
    waiting,
    running,
    done,
    failed,
    refused,
    expired,  ///< given up by the leader; the agent may still know better
  } state = State::waiting;
  std::optional<int> exit_code;
  std::string output;
  std::string message;

  bool is_over() const { return state != State::waiting && state != State::running; }
};

/// Hands commands to agents and keeps what became of them, for as long as the leader runs. Any thread.
class CommandDesk {
 public:
  CommandDesk(const NodeRegistry& registry, const Clock& clock) : registry_(registry), clock_(clock) {}

  /// Sends it at once where the agent listens, else when it does. `not_found`: no such node; `usage`: no such kind, or
  /// arguments that it does not take; `denied`: the agent does not allow it; `busy`: too many wait already.
  Result<AgentCommand> create(std::string_view node, std::string_view kind, const json::object& arguments,
                              std::string by);
  /// The agent of the node listens from now on; it gets what waits. Replaces its stream before. `still_allowed` is
  /// asked before each command and now and then; the stream ends where it says no. Absent: for ever.
  EventStream listen(std::string_view node, std::function<bool()> still_allowed = {});
  /// What the agent says of a command; the last word on it where the leader has given it up. `not_found` if it is not
  /// this node's; `usage` for a body that is no report.
  Result<void> report(std::string_view node, std::string_view id, std::string_view body);
  /// `not_found`.
  Result<AgentCommand> find(std::string_view id) const;
  /// Newest first, without output: `find` has that.
  std::vector<AgentCommand> list() const;
  /// Gives up what no agent took within ten minutes, and what was under way on a node that has been silent for as
  /// long; forgets what is long over.
  void expire();
  void finish();

  static constexpr std::size_t kMaxWaiting = 32;  ///< of one node
  static constexpr std::size_t kMaxKept = 1000;   ///< of all nodes; what is not over is never forgotten
  static constexpr std::size_t kMaxKeptOutput = std::size_t{64} << 20;  ///< beyond it, that of the oldest is dropped
  static constexpr Nanos kPatience = std::chrono::minutes(10);
  static constexpr Nanos kRecheck = std::chrono::seconds(5);  ///< between two looks at who may still listen

 private:
  struct Listener {
    EventStream stream;
    std::function<bool()> still_allowed;
    std::map<std::string, std::size_t> unanswered;  ///< ids of what was sent, and how many bytes it took
  };
  void offer_waiting(std::string_view node);
  void drop_who_is_not_allowed();
  void answered(const AgentCommand& command);
  void forget_oldest();

  const NodeRegistry& registry_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, AgentCommand, std::less<>> commands_;
  std::map<std::string, Listener, std::less<>> listeners_;
  SteadyTime rights_checked_{};
};

}  // namespace assay
