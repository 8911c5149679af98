#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// Something that happened on a node, or to it.
struct ClusterEvent {
  std::int64_t id = 0;  ///< ascending in the order of arrival; given by the store
  WallTime time;
  std::string node;
  std::string kind;     ///< those of src/telemetry/README.md, and "inventory", "node_online", "node_offline", …
  std::string about;    ///< a GPU's UUID, a source's name, …
  std::string message;  ///< for people
  std::map<std::string, double> values;
};

/// A place in the list of events: after those that are newer, or of the same time and came later.
struct EventPlace {
  WallTime time;
  std::int64_t id = 0;
  bool operator==(const EventPlace&) const = default;
};

struct EventQuery {
  std::string node;  ///< empty: every one; so with the others
  std::string kind;
  std::string about;
  std::optional<WallTime> from;
  std::optional<WallTime> to;  ///< before this
  std::optional<EventPlace> after;
  std::size_t limit = 100;
};

struct EventPage {
  std::vector<ClusterEvent> events;
  /// Where to go on. There may be fewer events than the limit, even none, and still a place: so far was looked.
  std::optional<EventPlace> next;
};

/// What is kept of the events of each node.
struct EventRetention {
  WallTime from;                  ///< older ones go
  std::size_t most_per_node = 0;  ///< beyond it, the oldest go; 0: any number
};

class EventLog {
 public:
  virtual ~EventLog() = default;
  /// Those that are not known yet (by time, node, kind, about and message), with their new ids; all or none.
  virtual Result<std::vector<ClusterEvent>> append(std::span<const ClusterEvent> events) = 0;
  /// Newest first. Looks at `kMostExamined` events at most, whatever is asked for: a filter that fits nothing costs no
  /// more than one that fits.
  virtual Result<EventPage> list(const EventQuery& query) = 0;
  /// `not_found`.
  virtual Result<EventPlace> place_of(std::int64_t id) = 0;
  /// Forgets at most `most` of what need not be kept. Whether there are more.
  virtual Result<bool> forget(const EventRetention& retention, std::size_t most) = 0;

  static constexpr std::size_t kMostExamined = 10'000;
};

}  // namespace assay
