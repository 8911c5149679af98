#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "loadgen/limits.h"
#include "loadgen/query_recorder.h"

namespace assay {

/// What a load does while it goes on, read from the records of the answers that came in the last moment. Medians of
/// that moment; the final figures are of every request and exact. One thread, beside the one that dispatches.
class LiveFigures {
 public:
  LiveFigures(const QueryRecorder& recorder, std::vector<LatencyLimit> limits)
      : recorder_(recorder), limits_(std::move(limits)) {}

  /// Metrics of the time since the last call; `now` since the start of the load.
  json::object since_last(Nanos now);
  /// Requests that ended beyond one of the limits, or not well, so far.
  std::uint64_t over() const { return over_; }

 private:
  void take(const QueryRecord& record);

  const QueryRecorder& recorder_;
  std::vector<LatencyLimit> limits_;
  Nanos last_{0};
  std::uint64_t last_issued_ = 0;
  std::uint64_t oldest_open_ = 0;  ///< everything before it has ended and was seen
  std::vector<bool> seen_;         ///< from `oldest_open_` on
  std::uint64_t over_ = 0;
  // Of the moment.
  std::uint64_t ok_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t tokens_ = 0;
  std::vector<std::int64_t> latency_;
  std::vector<std::int64_t> first_token_;
  std::vector<std::int64_t> per_token_;
};

}  // namespace assay
