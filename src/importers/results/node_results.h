#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "importers/text/figure.h"
#include "importers/text/named_text.h"
#include "model/flag.h"

namespace assay {

// Result files that benchmark scripts write, one per node: LLM training (`node1_final.json`, `*_opt_*`,
// `batch_test_*`), diagnostic suites, distributed training (one file per rank), inference, and summaries over several
// nodes.

enum class NodeResultKind {
  training,     ///< one node by itself, with `performance`, `memory` and `cost`
  distributed,  ///< one rank of a job over `world_size` GPUs; its rate is that of the whole job
  inference,    ///< samples asked, done and lost, with latencies
  unknown,      ///< an error and nothing else
};
std::string_view name_of(NodeResultKind kind);

/// What one node, rank or configuration achieved, as its file states it. What the file does not say is absent.
struct NodeResult {
  NodeResultKind kind = NodeResultKind::unknown;
  std::string source;         ///< the file
  std::string node;           ///< "node1"; from the file's name where the text does not say
  std::string configuration;  ///< a diagnostic suite's name for it; mostly empty
  std::string status;         ///< as written: "success", "oom"
  std::string error;          ///< as written; empty: none
  std::map<std::string, std::string, std::less<>> settings;  ///< everything in `config`, as text

  std::optional<Stated> samples_per_second;
  std::optional<Stated> tokens_per_second;
  std::optional<Stated> seconds;  ///< of the training, or of an inference node's whole run
  std::optional<Stated> seconds_per_step;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> batch_size;  ///< per GPU
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> seq_length;
  std::optional<std::int64_t> gpus;  ///< that worked on it together: world_size
  std::optional<std::int64_t> rank;
  std::optional<double> train_loss;

  std::optional<std::int64_t> samples_asked;
  std::optional<std::int64_t> samples_done;
  std::optional<std::int64_t> samples_failed;  ///< as stated
  std::optional<Stated> loss_percent;          ///< stated share of lost samples
  std::optional<Stated> mean_latency_ms;
  std::map<double, Stated> latency_percentiles_ms;
  std::vector<double> latencies_ms;   ///< one per sample
  std::vector<double> output_tokens;  ///< one per sample
  std::optional<Stated> mean_input_tokens;
  std::optional<Stated> mean_output_tokens;

  std::optional<Stated> memory_peak_gb;  ///< allocated; 10⁹ bytes, as the scripts count
  std::optional<Stated> memory_capacity_gb;
  std::optional<Stated> gpu_utilisation_percent;
  std::optional<Stated> temperature_c;
  std::optional<Stated> price_per_gpu_hour_usd;
  std::optional<Stated> cost_per_1000_samples_usd;
  std::optional<Stated> cost_total_usd;
  std::optional<Stated> speedup_claimed;  ///< against a run that the file does not hold
  std::optional<Stated> scaling_efficiency_percent_claimed;
};

/// What a summary over several inference nodes claims.
struct InferenceSummary {
  std::string source;
  std::optional<Stated> wall_clock_seconds;
  std::optional<std::int64_t> samples_asked;
  std::optional<std::int64_t> samples_done;
  std::optional<std::int64_t> samples_failed;
  std::optional<std::int64_t> max_output_tokens;
  std::optional<Stated> samples_per_second;
  std::optional<Stated> tokens_per_second;
  std::optional<Stated> mean_latency_ms;
  std::optional<Stated> mean_input_tokens;
  std::optional<Stated> mean_output_tokens;
  std::optional<Stated> mean_total_tokens;
  std::optional<Stated> success_rate_percent;
  std::optional<Stated> scaling_efficiency_percent;
  std::optional<Stated> baseline_samples_per_second;
  bool baseline_measured = false;
  std::optional<Stated> memory_efficiency_percent;
};

/// One part of a suite, as far as it got.
struct SuitePart {
  std::string name;
  std::string status;  ///< as written: "completed", "failed", "timeout"
  std::optional<std::int64_t> exit_code;
  std::optional<Stated> seconds;
  std::string error;  ///< the last one
};

struct NodeResults {
  std::vector<NodeResult> nodes;
  std::vector<InferenceSummary> summaries;
  std::vector<SuitePart> parts;
  std::vector<Flag> flags;
};

/// Reads one file, without judging it: `flags` is about the text alone. A file that is not JSON, or JSON without any
/// result that is known, is an error of kind bad_file.
Result<NodeResults> parse_node_results(std::string_view bytes, std::string_view name);

/// What a reader of the figures must know: figures that contradict each other, lost samples, failures, unequal work per
/// sample, claims without a measured baseline. `price` is used where the files state none.
std::vector<Flag> check_node_results(const NodeResults& results, const std::optional<Price>& price = {});

/// How flags name a result in `about`: "node1 / baseline (diagnostic.json)".
std::string label_of(const NodeResult& node);
/// Whether a status, as written, says that something failed.
bool says_failure(std::string_view status);

/// Both over a set of files. A file that cannot be read becomes a flag `unreadable`; it is an error only if there is no
/// other.
Result<NodeResults> import_node_results(std::span<const NamedText> files, const std::optional<Price>& price = {});

// What follows from the figures; absent where one of them is.
std::optional<std::int64_t> samples_done_by(const NodeResult& node);        ///< as stated, else steps × batch × GPUs
std::optional<double> samples_per_second_over_run(const NodeResult& node);  ///< samples done / seconds
std::optional<double> tokens_per_sample(const NodeResult& node);            ///< of training: the sequence length
std::optional<std::int64_t> samples_asked_of(const std::vector<NodeResult>& nodes);
std::optional<std::int64_t> samples_done_by(const std::vector<NodeResult>& nodes);
/// Mean over samples, not over nodes.
std::optional<double> mean_latency_ms_of(const std::vector<NodeResult>& nodes);

}  // namespace assay
