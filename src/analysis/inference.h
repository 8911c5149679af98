#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/summary.h"

namespace assay {

// Latencies, token times, load curves and heat maps of serving runs. Pure. Times in seconds since the run began,
// latencies in seconds, counted from the scheduled time. Percentiles are exact, from every request.
// All but the heat map: Waits for the load generator.

// --- Distribution of latencies ---

struct CdfPoint {
  double value = 0;
  double share = 0;  ///< of all values, that are at most `value`; the last point has 1
};
/// The empirical distribution function, thinned out to about `points` for drawing. The smallest and the largest value
/// are always in it, and every point is exact. Non-finite values are left out.
std::vector<CdfPoint> latency_cdf(std::span<const double> latencies, std::size_t points = 200);

// --- Token times ---

/// One or several tokens that arrived together.
struct TokenChunk {
  double time = 0;
  std::int64_t tokens = 1;
};

/// One request of a model that answers in tokens. Absent times: it never came that far.
struct TokenRequest {
  double scheduled = 0;
  std::optional<double> first_token;
  std::optional<double> end;
  std::int64_t output_tokens = 0;
  std::vector<TokenChunk> chunks;  ///< in order of time; may be empty where only the three times above are known
};

struct TokenTimes {
  Summary end_to_end;
  Summary time_to_first_token;
  Summary time_per_output_token;  ///< (end to end − time to first token) / (tokens − 1)
  Summary inter_token;            ///< gaps between tokens, see `inter_token_latencies`
  std::size_t requests = 0;
  std::size_t failed = 0;        ///< without an end
  std::size_t single_token = 0;  ///< finished with one token or none: no time per output token
};
TokenTimes token_times(std::span<const TokenRequest> requests);

/// The gap before each token after the first. Tokens that arrive together share the gap since the chunk before them
/// evenly, so that a server that sends two at a time does not look half as even as it is. What else arrived with the
/// very first token has no gap that could be known, and is left out.
std::vector<double> inter_token_latencies(std::span<const TokenChunk> chunks);

// --- Throughput against latency ---

struct LoadPoint {
  double offered = 0;    ///< requests/s that were asked for
  double completed = 0;  ///< requests/s that came back well
  double latency = 0;    ///< at the percentile that counts, seconds
  bool valid = true;     ///< the run was; an invalid one is drawn, never chosen
};
struct LoadCurve {
  std::vector<LoadPoint> points;         ///< by offered load
  std::vector<bool> saturated;           ///< completed less than 95 % of the offered load
  std::optional<std::size_t> best;       ///< valid, not saturated, within the limit, and the most completed
  std::optional<std::size_t> first_bad;  ///< the lightest load that is saturated or beyond the limit
};
LoadCurve load_curve(std::span<const LoadPoint> points, std::optional<double> latency_limit = std::nullopt);

// --- Two settings against each other ---

struct HeatSample {
  std::string row;
  std::string column;
  std::optional<double> value;  ///< none: that run failed
};
struct HeatCell {
  std::optional<double> value;  ///< mean over repeats
  std::size_t repeats = 0;      ///< that gave a value
  std::size_t failed = 0;
};
struct HeatMap {
  std::vector<std::string> rows;  ///< numbers by size, then words by letter
  std::vector<std::string> columns;
  std::vector<std::vector<HeatCell>> cells;  ///< [row][column]
  std::optional<double> least;
  std::optional<double> most;
};
HeatMap heat_map(std::span<const HeatSample> samples);

}  // namespace assay
