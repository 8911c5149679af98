#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

// The per-node and the aggregate table of an MLPerf-style run over several nodes. Pure. Lost samples count against
// success and throughput; a speed-up needs a baseline that was measured; what cannot be known is absent, with its
// reason among the notes.

struct ServingNode {
  std::string name;
  std::int64_t asked = 0;
  std::int64_t done = 0;
  std::optional<double> stated_samples_per_second;  ///< as the node itself reported it, over its own busy time
  std::optional<double> mean_latency_s;             ///< over its finished samples
  std::optional<double> tokens_per_second;          ///< as the node itself reported it
  std::optional<double> run_seconds;
  std::optional<double> memory_used_bytes;
  std::optional<double> memory_capacity_bytes;
};

struct ServingRun {
  std::vector<ServingNode> nodes;
  double wall_seconds = 0;                            ///< from the first start to the last end
  std::optional<double> mean_output_tokens;           ///< of a finished sample
  std::optional<double> one_node_samples_per_second;  ///< measured with the same workload; never a guess
  std::int64_t fewest_samples = 24'576;               ///< that the scenario asks for
  double shortest_seconds = 600;                      ///< that an official run asks for
};

struct ServingNodeRow {
  std::string name;
  std::int64_t asked = 0;
  std::int64_t done = 0;
  std::int64_t lost = 0;
  std::optional<double> success;             ///< done / asked
  std::optional<double> samples_per_second;  ///< done over the node's own run time
  std::optional<double> memory_share;        ///< only where used and capacity are both known
};

struct ServingAggregate {
  std::int64_t asked = 0;
  std::int64_t done = 0;
  std::int64_t lost = 0;
  std::optional<double> success;
  std::optional<double> samples_per_second;  ///< done over the wall clock
  std::optional<double> mean_latency_s;      ///< weighted by finished samples
  std::optional<double> tokens_per_second;   ///< output tokens over the wall clock
  std::optional<double> latency_gap_s;       ///< slowest node's mean less the fastest one's
  std::optional<double> throughput_gap;      ///< stated rates: (highest − lowest) / lowest
  std::optional<double> token_rate_spread;   ///< stated rates: (highest − lowest) / mean
  std::optional<double> speedup;             ///< against the measured baseline
  std::optional<double> efficiency;
};

struct ServingReport {
  std::vector<ServingNodeRow> nodes;
  ServingAggregate total;
  bool mlperf_valid = false;
  std::vector<std::string> invalid_reasons;  ///< "samples: 15 of at least 24,576", "duration: …"
  std::vector<std::string> notes;
};

ServingReport report_serving(const ServingRun& run);

}  // namespace assay
