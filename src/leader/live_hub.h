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
#include "leader/node_outline.h"
#include "net/response_stream.h"
#include "store/series_info.h"

namespace assay {

class Node;
class NodeRegistry;

/// What a client of the live stream wants to see.
struct LiveFilter {
  std::vector<std::string> metrics;  ///< names, or beginnings of names with a final '*'; empty: all
  std::vector<std::string> nodes;    ///< empty: all

  bool operator==(const LiveFilter&) const = default;
  auto operator<=>(const LiveFilter&) const = default;
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
/// since it holds what nobody else can use; so is one that is no longer allowed.
///
/// Clients that have been told the same and want the same are one audience: what is new is written once for all of
/// them. Who comes is told everything first, alone, and joins the others then. Any thread.
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
  /// For how many of them what is new is written. Called by tests.
  std::size_t audiences() const;
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
    LiveViewer viewer;
    SteadyTime checked;
  };
  struct Audience {
    LiveFilter filter;
    std::vector<Client> clients;
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
  /// A node at the moment of a tick. What comes while audiences are being told is news of the next tick: after this
  /// one, all that were told everything stand at the same place.
  struct Sight {
    std::shared_ptr<Node> node;
    std::string name;
    NodeOutline outline;
  };
  class Outgoing;

  std::vector<Sight> look() const;  ///< by name
  bool still_allowed(Client& client) const;
  void drop_departed();
  static void send(Audience& audience, Outgoing& outgoing, const std::vector<Sight>& sights);
  /// False: not all of it, since the tick has become too large.
  static bool put_news(Audience& audience, const Sight& sight, Outgoing& outgoing);
  /// Makes one of audiences that want the same and were told everything in this tick.
  void unite();

  const NodeRegistry& registry_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Audience> audiences_;  ///< none is empty; those that came last are behind
  std::mutex alerts_mutex_;          ///< taken last. Its own: who raises an alert must not wait for a tick
  std::vector<std::string> alerts_;
};

/// A number as JSON has it; null for NaN and infinity.
void put_json_number(std::string& out, double value);

}  // namespace assay
