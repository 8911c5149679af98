#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

// Distributions of latencies, load curves and heat maps of serving runs. Pure. Latencies in seconds, counted from the
// scheduled time.

// --- Distribution of latencies ---

struct CdfPoint {
  double value = 0;
  double share = 0;  ///< of all values, that are at most `value`; the last point has 1
};
/// The empirical distribution function, thinned out to about `points` for drawing. The smallest and the largest value
/// are always in it, and every point is exact. Non-finite values are left out.
std::vector<CdfPoint> latency_cdf(std::span<const double> latencies, std::size_t points = 200);

// --- Throughput against latency ---

/// How a load is made heavier.
enum class LoadKind {
  by_rate,         ///< requests are sent by the clock
  by_concurrency,  ///< so many are under way at any time
};

struct LoadPoint {
  double offered = 0;         ///< requests/s that were asked for, or requests under way
  double completed = 0;       ///< requests/s that came back well
  double latency = 0;         ///< at the percentile that counts, seconds
  bool within_limits = true;  ///< every limit on latencies was kept, or there is none
  bool valid = true;          ///< the run was; an invalid one is drawn, never chosen
};
struct LoadCurve {
  std::vector<LoadPoint> points;  ///< by offered load
  /// By rate: completed less than 95 % of the offered load. By concurrency: a lighter load completed 95 % as much.
  std::vector<bool> saturated;
  std::optional<std::size_t> best;       ///< valid, not saturated, within the limits, and the most completed
  std::optional<std::size_t> first_bad;  ///< the lightest load that is saturated or beyond a limit
};
LoadCurve load_curve(std::span<const LoadPoint> points, LoadKind kind);

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
