#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loadgen/arrivals.h"

namespace assay {

/// What LoadGen is asked for. Seeds are those of `MlperfSeeds`.
struct PeerPlan {
  Scenario scenario = Scenario::server;  ///< single_stream, multi_stream, server or offline
  double rate = 0;
  std::uint64_t queries = 1;            ///< exactly so many; offline: samples of its one query
  std::uint32_t samples_per_query = 1;  ///< multi_stream
  bool equal_issue = false;             ///< whole permutations of the samples
  std::uint32_t samples = 1;            ///< different ones
  bool trace = false;                   ///< lets it write down each query, which slows it down
};

/// One sample of a query as LoadGen's own trace has it, in nanoseconds.
struct PeerQuery {
  std::int64_t scheduled_ns = 0;  ///< since that of the first
  std::int64_t latency_ns = 0;
  std::uint32_t sample = 0;
};

struct PeerFigures {
  double seconds = 0;              ///< from the first query to the last
  double cpu_seconds = 0;          ///< of the thread that issues them
  std::vector<PeerQuery> queries;  ///< with `trace`, in the order of issue
  std::string detail;              ///< its detail log
  /// A number of the detail log; absent: there is none of that name.
  std::optional<double> value(std::string_view key) const;
};

/// Runs MLPerf's LoadGen with a target that answers inside the call. Blocks until it has ended; its logs go to a
/// temporary folder that is removed. One at a time: LoadGen keeps its state in globals.
PeerFigures run_peer_loadgen(const PeerPlan& plan);

/// LoadGen's own word on early stopping: how many queries within the limit it wants beside so many beyond it.
std::uint64_t peer_min_passing(std::uint64_t over_latency, double percentile);

}  // namespace assay
