#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes.h"
#include "analysis/interval.h"

namespace assay {

// Nodes beside each other, and one node over time. Pure.

// --- Node-to-node consistency ---

/// One node's (or GPU's) figures of the same benchmark.
struct NodeFigures {
  std::string node;
  std::optional<double> samples_per_second;
  std::optional<double> gpu_memory_bytes;
  std::optional<double> temperature_c;
  GpuHealth health;  ///< looked at where a figure is out of line
};

/// Around the median of the fleet, both ways.
struct ConsistencyTolerances {
  double speed = 0.05;        ///< relative
  double memory = 0.02;       ///< relative
  double temperature_c = 10;  ///< absolute
};

enum class ConsistencyMark { within, low, high, missing };
std::string_view name_of(ConsistencyMark mark);

struct ConsistencyCell {
  ConsistencyMark mark = ConsistencyMark::missing;
  std::optional<double> deviation;  ///< relative, in °C for the temperature
};

struct ConsistencyRow {
  std::string node;
  ConsistencyCell speed;
  ConsistencyCell memory;
  ConsistencyCell temperature;
  bool within = false;  ///< every figure that was measured
  std::vector<DegradationCause> findings;
};

struct ConsistencyTable {
  std::vector<ConsistencyRow> rows;  ///< in the order given
  std::optional<double> median_speed;
  std::optional<double> median_memory;
  std::optional<double> median_temperature;
  std::optional<double> speed_variation;  ///< coefficient of variation; two nodes at least
  bool consistent = false;                ///< at least two nodes, all within, all with a speed
};
ConsistencyTable check_consistency(std::span<const NodeFigures> nodes, const ConsistencyTolerances& tolerances = {});

// --- Accepting a set of nodes by one snapshot ---

/// How alike two samples of a rate are, 0…1: 1 − ∫|F₁ − F₂| / larger mean, with F their distribution functions. Two
/// samples of the same shape, 5 % apart, have 0.95. NaN where one is empty or has no positive mean. Waits for the node
/// benchmark.
double distribution_similarity(std::span<const double> a, std::span<const double> b);

struct SnapshotNode {
  std::string node;
  std::vector<double> values;  ///< rates of the repetitions
};
struct SnapshotVerdict {
  bool accepted = false;
  double similarity = 0;  ///< to the centre; NaN without values
  std::string reason;     ///< why not; empty where accepted
};
struct SnapshotAcceptance {
  std::optional<std::size_t> centre;      ///< the node most like all others
  std::vector<SnapshotVerdict> verdicts;  ///< in the order given
};
/// The centre is the node with the highest mean similarity; slower nodes less than `limit` like it are left out, and so
/// on until none is. Faster ones stay. `floor`: a rate below which a node's median never passes, whatever the others
/// do. Meant for four nodes or more. Waits for the node benchmark.
SnapshotAcceptance accept_snapshot(std::span<const SnapshotNode> nodes, double limit = 0.95,
                                   std::optional<double> floor = std::nullopt);

// --- Trend of one node ---

struct TrendPoint {
  double day = 0;    ///< any origin
  double value = 0;  ///< finite
};
struct Trend {
  double percent_per_30_days = 0;
  std::optional<Interval> interval;  ///< of it; none with fewer than 10 points
  bool significant = false;          ///< the interval leaves out 0
};
/// Theil and Sen's slope (the median over all pairs) with Kendall's distribution-free interval, relative to the median
/// value. Cost grows with the square of the points: thin out beyond a few thousand. Points that lean on each other make
/// the interval too narrow: for alarms there is degradation.h.
std::optional<Trend> find_trend(std::span<const TrendPoint> points, double confidence = 0.95);

}  // namespace assay
