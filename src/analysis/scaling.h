#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/interval.h"
#include "analysis/scaling_fit.h"

namespace assay {

// How well a workload scales over ranks and nodes. Pure: everything comes from the points that are handed in, and a
// baseline is one of these points or absent. Without one there is throughput, but no speed-up and no efficiency.

/// What telemetry of a point's runs says, each as a share 0…1 averaged over ranks and time; absent: not measured.
struct ScalingHints {
  std::optional<double> communication_share;  ///< of the step, waiting for other ranks
  std::optional<double> input_wait_share;     ///< of the step, waiting for data
  std::optional<double> gpu_utilisation;
  std::optional<double> throttled_share;  ///< of the time, with clocks held down by heat or power
  std::optional<double> rank_imbalance;   ///< slowest rank's step time over the median's, less 1
  std::optional<double> host_cpu;         ///< CPU time of the hosts in use, by anyone
};

/// One size of the study, with one value per repeat. Repeats are whole runs.
struct ScalingPoint {
  std::string job;    ///< id of the job or run, for the table
  std::string group;  ///< the value of a sweep across which sizes are not compared; mostly empty
  int ranks = 1;
  int nodes = 1;
  std::string device = "GPU";      ///< what a rank runs on, for names: "rank" where it is no GPU
  std::vector<double> seconds;     ///< to do the whole work; the same work at every size
  std::vector<double> throughput;  ///< samples/s; used where `seconds` is empty
  std::optional<double> epochs;
  std::optional<double> samples;  ///< done in one run, over all epochs; turns seconds into throughput
  std::optional<std::int64_t> effective_batch;
  std::vector<double> val_loss;                 ///< best of each repeat
  std::vector<double> val_accuracy;             ///< best of each repeat, 0…1
  std::map<std::string, std::string> settings;  ///< all but ranks, nodes and what follows from them
  ScalingHints hints;
};

enum class Topology { one_device, one_node, several_nodes };
Topology topology_of(int ranks, int nodes);
/// `Single GPU`, `4 GPUs (1 node)`, `8 GPUs (2 nodes)`.
std::string configuration_name(int ranks, int nodes, std::string_view device = "GPU");

enum class ScalingBand {
  no_baseline,     ///< no speed-up can be stated
  not_comparable,  ///< other settings or the accuracy differ: see `differences` and `accuracy`
  baseline,
  excellent,
  good,
  fair,
  poor,
};
std::string_view name_of(ScalingBand band);

/// Speed-up that a size usually reaches, by topology.
struct ExpectedRange {
  double low = 0;   ///< speed-up
  double high = 0;  ///< speed-up
};
/// One node 87.5–95 % of ideal, several nodes 75–81.25 %; none for a single device.
std::optional<ExpectedRange> expected_range(int ranks, int nodes);

/// Edges of the bands, as efficiency. One node should do better than several.
struct BandEdges {
  double excellent = 0.90;
  double good_one_node = 0.85;
  double good_several_nodes = 0.75;
  double fair = 0.70;
};
ScalingBand band_of(double efficiency, Topology topology, const BandEdges& edges = {});

/// Why a point falls short, as far as the data shows, and what to do about it.
struct ScalingCause {
  std::string kind;      ///< stable name: "communication", "network", "input_wait", "small_work", "throttled", …
  std::string evidence;  ///< "Communication takes 34 % of the step."
  std::string remedy;
  double weight = 0;  ///< share 0…1 that the evidence states: the largest cause comes first
};

/// What a study keeps as it grows. Both are held against as many times the speed of the baseline as there are ranks:
/// weak scaling in samples a second, at the time of one step; strong scaling in the time for the same training.
enum class ScalingMode {
  unknown,  ///< batches are not known, or follow no rule
  weak,     ///< the batch of a rank: the effective batch grows with the ranks
  strong,   ///< the effective batch
};

struct ScalingRow {
  std::size_t point = 0;  ///< index into the input
  std::string configuration;
  int ranks = 1;
  int nodes = 1;
  std::size_t repeats = 0;
  std::optional<double> seconds;  ///< mean over repeats
  std::optional<Interval> seconds_interval;
  std::optional<double> seconds_per_epoch;
  std::optional<double> throughput;
  std::optional<double> val_loss;      ///< best over repeats
  std::optional<double> val_accuracy;  ///< best over repeats
  std::optional<double> speedup;
  std::optional<Interval> speedup_interval;
  std::optional<double> efficiency;  ///< 0.952
  std::optional<Interval> efficiency_interval;
  double ideal_speedup = 1;
  std::optional<ExpectedRange> expected;
  ScalingBand band = ScalingBand::no_baseline;
  bool band_uncertain = false;  ///< the interval of the efficiency reaches into another band
  bool superlinear = false;     ///< better than ideal, beyond its interval: ask why before believing it
  std::vector<ScalingCause> causes;
  std::vector<std::string>
      differences;  ///< settings that differ from the baseline's: "precision: bf16 instead of fp32"
};

enum class AccuracyConsistency { not_measured, consistent, diverging };
struct AccuracyCheck {
  AccuracyConsistency outcome = AccuracyConsistency::not_measured;
  bool tested = false;               ///< by a significance test; false: too few repeats, judged by tolerance alone
  std::vector<std::string> reasons;  ///< "val_loss at 8 GPUs (2 nodes) is 0.152, 28 % above the baseline's 0.119"
};

struct ScalingSettings {
  /// Index of the point to compare with; absent: the point with one rank, if it was measured.
  std::optional<std::size_t> baseline;
  double confidence = 0.95;
  BandEdges bands;
  double loss_tolerance = 0.05;      ///< relative
  double loss_floor = 0.01;          ///< absolute, in nats: less is no difference, whatever it is relative to
  double accuracy_tolerance = 0.01;  ///< absolute: one percentage point
  /// Overrides `expected_range`, by {ranks, nodes}.
  std::map<std::pair<int, int>, ExpectedRange> expected;
};

struct ScalingAnalysis {
  std::string group;
  std::optional<std::size_t> baseline;  ///< index into the input
  std::string baseline_note;            ///< which it is, or why there is none
  std::vector<ScalingRow> rows;         ///< by ranks, then nodes
  ScalingMode mode = ScalingMode::unknown;
  std::optional<AmdahlFit> amdahl;  ///< the law that the points support: one of the two, or none
  std::optional<UniversalFit> universal;
  AccuracyCheck accuracy;
  /// False where a setting other than ranks, nodes and effective batch differs, or the accuracy strays.
  bool comparable = true;
  bool by_time = true;  ///< false: sizes did unequal work, so that rates are compared instead of times
  bool effective_batch_changed = false;
  std::vector<std::string> notes;  ///< one sentence each
};

/// All points must belong to one group. Points without any positive figure have a row without figures.
ScalingAnalysis analyse_scaling(std::span<const ScalingPoint> points, const ScalingSettings& settings = {});

/// A sweep × scale: one analysis per group, in the order in which groups first appear. A chosen baseline is looked for
/// in its own group only; `rows[].point` still counts over all points.
std::vector<ScalingAnalysis> analyse_scaling_sweep(std::span<const ScalingPoint> points,
                                                   const ScalingSettings& settings = {});

}  // namespace assay
