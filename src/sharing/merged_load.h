#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sharing/client_part.h"

namespace assay {

/// The load that several clients carried, as if one had.
struct MergedLoad {
  std::unique_ptr<QueryRecorder> recorder;  ///< every request of every client, in the order of the schedule
  LoadEnding ending;                        ///< with an account of each client
  json::object facts;                       ///< of all targets: counts are sums
};

/// Says what a client that was lost should have sent: its requests, all of them lost.
using LostRequests = std::function<std::vector<QueryRecord>(const LoadShare& share)>;

/// Puts the parts together, that of client 0 first. Pure; needs as much memory again as the records take.
MergedLoad merge_parts(const LoadPlan& plan, std::vector<ClientPart> parts, const LostRequests& lost_requests);

}  // namespace assay
