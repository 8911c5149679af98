#pragma once

#include <cstdint>
#include <vector>

#include "loadgen/limits.h"
#include "loadgen/query_recorder.h"
#include "sharing/live_moment.h"

namespace assay {

/// What this client does while a load goes on, read from the records of the answers that came in the last moment. The
/// final figures are of every request and exact. One thread, beside the one that dispatches.
class LiveFigures {
 public:
  LiveFigures(const QueryRecorder& recorder, std::vector<LatencyLimit> limits)
      : recorder_(recorder), limits_(std::move(limits)) {}

  /// What happened since the last call.
  LiveMoment since_last();

 private:
  void take(const QueryRecord& record);

  const QueryRecorder& recorder_;
  std::vector<LatencyLimit> limits_;
  std::uint64_t last_issued_ = 0;
  std::uint64_t oldest_open_ = 0;  ///< everything before it has ended and was seen
  std::vector<bool> seen_;         ///< from `oldest_open_` on
  // Of the moment.
  LiveMoment moment_;
  std::vector<std::int64_t> latency_;
  std::vector<std::int64_t> first_token_;
  std::vector<std::int64_t> per_token_;
};

}  // namespace assay
