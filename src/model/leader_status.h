#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// How a leader itself is doing.
struct LeaderStatus {
  std::string version;
  double uptime_s = 0;
  struct NodeCounts {
    std::int64_t online = 0;
    std::int64_t late = 0;
    std::int64_t offline = 0;
    std::int64_t draining = 0;
  };
  NodeCounts nodes;
  std::uint64_t samples = 0;  ///< taken in since it started; so with the next two
  std::uint64_t samples_refused = 0;
  std::uint64_t batches = 0;
  std::size_t series = 0;
  std::size_t head_points = 0;  ///< that wait in memory to be written
  std::size_t head_bytes = 0;
  std::size_t live_clients = 0;
  std::vector<std::string> problems;  ///< for whoever looks after it; empty: none
};

}  // namespace assay
