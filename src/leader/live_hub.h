#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "leader/node_registry.h"
#include "net/response_stream.h"

namespace assay {

/// What a client of the live stream wants to see.
struct LiveFilter {
  std::vector<std::string> metrics;  ///< names, or beginnings of names with a final '*'; empty: all
  std::vector<std::string> nodes;    ///< empty: all

  bool wants_metric(std::string_view name) const;
  bool wants_node(std::string_view name) const;
};

/// Who watches, and for how long.
struct LiveViewer {
  std::string name;                       ///< of the token
  std::function<bool()> still_allowed{};  ///< asked now and then, by any thread; must not block. Absent: for ever
};

/// Tells clients what is new, by server-sent events: `snapshot` once, then `delta` with each `tick`. Both are
/// {"time_ms", "nodes": […], "series": […], "values": [[series, time_ms, value], …], "alerts": […]}: only what is new.
/// Of a large cluster the snapshot has the first nodes, and deltas bring the others: no event is much larger than
/// `kEventBytes`, no tick than `kTickBytes` and the values of one node. A client that does not keep up is cut off,
/// since it holds what nobody else can use; so is one that is no longer allowed. Any thread.
class LiveHub {
 public:
  LiveHub(const NodeRegistry& registry, const Clock& clock) : registry_(registry), clock_(clock) {}

  /// `busy` when there are too many clients already, or too many of that viewer.
  Result<EventStream> subscribe(LiveFilter filter, LiveViewer viewer = {});
  /// An alert that was raised, resolved or acknowledged, as JSON: for everybody, with the next tick.
  void publish_alert(std::string alert_json);
  /// Sends what is new since the last one.
  void tick();
  std::size_t clients() const;
  /// Ends every stream properly.
  void finish();

  static constexpr std::size_t kMaxClients = 256;
  static constexpr std::size_t kMaxOfViewer = 32;  ///< so that nobody takes every place
  static constexpr Nanos kRecheck = std::chrono::seconds(5);
  static constexpr std::size_t kQueueBytes = std::size_t{8} << 20;
  static constexpr std::size_t kEventBytes = std::size_t{256} << 10;
  static constexpr std::size_t kTickBytes = std::size_t{1} << 20;

 private:
  struct Client {
    EventStream stream;
    LiveFilter filter;
    LiveViewer viewer;
    SteadyTime checked;
    struct Seen {
      std::uint64_t changes = 0;
      std::uint64_t changes_of_named = 0;  ///< further, where a tick had no room for the names of other series
      NodeState state = NodeState::offline;
      std::size_t gpus = 0;
      std::weak_ptr<const Node> node;  ///< one that was forgotten and came back counts anew
    };
    std::map<std::string, Seen> seen;
    std::unordered_set<SeriesId> named;
    std::string resume;  ///< the node with which the next tick begins
  };
  class Outgoing;

  bool still_allowed(Client& client) const;
  /// False: the client is gone.
  bool send(Client& client, const char* event, const std::vector<std::string>& alerts) const;
  /// False: not all of it, since the tick has become too large.
  bool put_news(Client& client, const std::shared_ptr<Node>& node, Outgoing& outgoing) const;

  const NodeRegistry& registry_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::mutex alerts_mutex_;  ///< taken last. Its own: who raises an alert must not wait for a tick
  std::vector<std::string> alerts_;
};

/// A number as JSON has it; null for NaN and infinity.
void put_json_number(std::string& out, double value);

}  // namespace assay
