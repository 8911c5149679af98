#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "fleet/latency_counts.h"

namespace assay {

/// What the nodes of a fleet did, all together.
struct FleetCounts {
  std::uint64_t samples = 0;           ///< read
  std::uint64_t sent = 0;              ///< samples in requests, each time that they were sent
  std::uint64_t acknowledged = 0;      ///< samples
  std::uint64_t given_up = 0;          ///< samples that the leader called wrong or too large
  std::uint64_t overflowed = 0;        ///< samples that a full backlog lost
  std::uint64_t skipped_readings = 0;  ///< readings that were too late to be made
  std::uint64_t requests = 0;          ///< with batches
  std::uint64_t refused = 0;           ///< of these, answered with anything but 200, or not at all
  std::uint64_t bytes = 0;             ///< of these, the bodies
  LatencyCounts latency;               ///< of requests with batches that were answered with 200

  struct Problem {
    std::uint64_t count = 0;
    std::string example;  ///< the first message
  };
  std::map<std::string, Problem> problems;  ///< by kind of error, or "HTTP 503"
};

}  // namespace assay
