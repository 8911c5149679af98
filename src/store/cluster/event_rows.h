#pragma once

#include "store/cluster/connections.h"
#include "store/event_log.h"

namespace assay {

/// Events, and beside them how many each node has: nobody counts a million rows to see whether there are too many.
class EventRows final : public EventLog {
 public:
  explicit EventRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<ClusterEvent>> append(std::span<const ClusterEvent> events) override;
  Result<EventPage> list(const EventQuery& query) override;
  Result<EventPlace> place_of(std::int64_t id) override;
  Result<bool> forget(const EventRetention& retention, std::size_t most) override;

 private:
  ClusterConnections& connections_;
};

}  // namespace assay
