#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace assay {

// How many requests a statement about a percentile takes: the early stopping of MLPerf's LoadGen, at its confidence of
// 99 %. Pure.

inline constexpr double kEarlyStoppingConfidence = 0.99;

/// The smallest number of requests within the limit that, beside `over_latency` ones beyond it, show with that
/// confidence that at least the share `percentile` of all requests keeps it: the smallest h with I_p(h, t + 1) < 0.01.
/// `percentile` in (0, 1).
std::uint64_t min_passing_queries(std::uint64_t over_latency, double percentile);

/// Whether `queries`, of which `over_latency` were beyond the limit, are enough to say that the percentile keeps it.
bool early_stopping_met(std::uint64_t queries, std::uint64_t over_latency, double percentile);

/// An upper bound of a percentile, for scenarios without a limit.
struct EarlyStoppingEstimate {
  std::uint64_t needed = 0;  ///< queries that an estimate takes at least
  std::uint64_t discarded = 0;
  std::int64_t latency_ns = 0;  ///< sorted[queries − discarded − 1]
};
/// Absent with fewer than `min_queries_for_estimate`. `sorted` latencies, ascending.
std::optional<EarlyStoppingEstimate> early_stopping_estimate(std::span<const std::int64_t> sorted, double percentile);
/// 64 for 90 %, 662 for 99 %.
std::uint64_t min_queries_for_estimate(double percentile);

}  // namespace assay
