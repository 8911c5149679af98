#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/node_state.h"
#include "store/stored.h"

namespace assay {

class Node;
class NodeTable;

/// Every node that the leader has ever heard of, until it is forgotten. Any thread.
class NodeRegistry {
 public:
  /// Reads what was known when the leader was stopped; all are offline until they are heard of.
  static Result<std::unique_ptr<NodeRegistry>> load(NodeTable& table, const Clock& clock);

  /// Null if there is none.
  std::shared_ptr<Node> find(std::string_view name) const;
  /// `busy` beyond the most nodes that a leader has room for.
  Result<std::shared_ptr<Node>> find_or_make(std::string_view name);
  /// By name.
  std::vector<std::shared_ptr<Node>> all() const;

  /// Writes down what is known of the node, unless that stands there already, or it was forgotten meanwhile; whether it
  /// did. `busy`: somebody else has changed what is kept of it; then the node has taken over what an administrator
  /// said, and saving it again does no harm.
  Result<bool> save(Node& node);
  /// Writes down when each node was heard of last.
  Result<void> save_all();
  /// `not_found`; `busy` while it is online.
  Result<void> forget(std::string_view name);

  struct StateChange {
    std::string node;
    NodeState from;
    NodeState to;
  };
  /// What has changed since the last call: a node went offline or came back. One thread.
  std::vector<StateChange> look_at_states();

  /// Nobody could be heard until now: whoever was not offline at the last look is not for that. The same thread.
  void excuse();

  static constexpr std::size_t kMaxNodes = 10'000;

 private:
  NodeRegistry(NodeTable& table, const Clock& clock) : table_(table), clock_(clock) {}
  /// With `saving_mutex_`.
  Result<void> take_over(Node& node);

  NodeTable& table_;
  const Clock& clock_;
  std::mutex saving_mutex_;  ///< taken before the other one: what is forgotten must not be written down again
  std::map<std::string, Revision, std::less<>> revisions_;  ///< with `saving_mutex_`: what is kept of each node
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>, std::less<>> nodes_;
  std::map<std::string, NodeState> last_states_;  ///< of `look_at_states` alone
};

}  // namespace assay
