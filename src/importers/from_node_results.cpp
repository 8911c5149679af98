#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "importers/draft_study.h"
#include "importers/fleet_check.h"

namespace assay {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kMillisecondsPerSecond = 1e3;

/// The number behind `_batch` or `_seq` in a name like `node0_world4_batch8_seq512.json`.
std::optional<std::int64_t> number_in_name(std::string_view source, std::string_view word) {
  const std::string stem = fs::path(source).stem().string();
  const std::size_t at = stem.find(word);
  if (at == std::string::npos) return std::nullopt;
  std::size_t used = 0;
  return count_at(std::string_view(stem).substr(at + word.size()), used);
}

std::optional<double> scaled(const std::optional<Stated>& figure, double factor) {
  return figure ? std::optional(figure->value * factor) : std::nullopt;
}

std::optional<std::int64_t> seq_length_of(const NodeResult& node) {
  return node.seq_length ? node.seq_length : number_in_name(node.source, "_seq");
}

void put_price(json::object& spec, const NodeResult& node, const std::optional<Price>& price) {
  if (node.price_per_gpu_hour_usd) {
    spec["price"] = {{"amount", node.price_per_gpu_hour_usd->value}, {"currency", "USD"}, {"per", "GPUh"}};
  } else if (price) {
    spec["price"] = {{"amount", price->amount}, {"currency", price->currency}, {"per", price->per}};
  }
}

void put_error(Run& run, const NodeResult& node) {
  if (node.error.empty() && !says_failure(node.status)) return;
  const std::string message = node.error.empty() ? fmt::format("ended with status '{}'", node.status) : node.error;
  run.error = RunError{.kind = error_kind_in(node.status + " " + node.error), .message = message};
}

void put_training(Run& run, const NodeResult& node) {
  put_setting(run.spec, "batch_size", node.batch_size ? node.batch_size : number_in_name(node.source, "_batch"));
  put_setting(run.spec, "seq_length", seq_length_of(node));
  put_setting(run.spec, "steps", node.steps);
  put_setting(run.spec, "gradient_accumulation", node.accumulation);
  put_metric(run, "samples_per_second",
             node.samples_per_second ? scaled(node.samples_per_second, 1) : samples_per_second_over_run(node));
  put_metric(run, "tokens_per_second", node.tokens_per_second);
  put_metric(run, "train_seconds", node.seconds);
  put_metric(run, "step_seconds", node.seconds_per_step);
  put_metric(run, "loss", node.train_loss);
  const auto done = samples_done_by(node);
  if (!run.error) put_count(run, "steps_done", node.steps);
  if (run.error || !done) return;
  put_count(run, "samples_done", done);
  if (const auto tokens = seq_length_of(node))
    put_metric(run, "tokens_done", static_cast<double>(*done) * static_cast<double>(*tokens));
}

/// Rates over the node's whole run: what scripts state is mostly the inverse of the mean latency, and the mean of the
/// samples' own token rates.
void put_inference(DraftRun& draft, const NodeResult& node) {
  Run& run = draft.run();
  put_duration(run, scaled(node.seconds, 1));
  put_setting(run.spec, "samples", node.samples_asked);
  put_count(run, "samples_asked", node.samples_asked);
  put_count(run, "samples_done", node.samples_done);
  if (node.samples_asked && node.samples_done && *node.samples_asked >= *node.samples_done)
    put_count(run, "samples_lost", *node.samples_asked - *node.samples_done);
  const auto rate = samples_per_second_over_run(node);
  put_metric(run, "samples_per_second", rate ? rate : scaled(node.samples_per_second, 1));
  put_metric(run, "stated_samples_per_second", scaled(node.samples_per_second, 1));
  put_metric(run, "mean_latency_seconds", scaled(node.mean_latency_ms, 1 / kMillisecondsPerSecond));
  for (const auto& [percentile, value] : node.latency_percentiles_ms)
    put_metric(run, fmt::format("latency_p{}_seconds", percentile), value.value / kMillisecondsPerSecond);
  std::vector<double> latencies = node.latencies_ms;
  for (double& latency : latencies) latency /= kMillisecondsPerSecond;
  put_percentiles(run, "latency", std::move(latencies));
  put_metric(run, "mean_input_tokens", node.mean_input_tokens);
  std::optional<double> tokens = scaled(node.mean_output_tokens, 1);
  if (!node.output_tokens.empty()) {
    tokens = std::accumulate(node.output_tokens.begin(), node.output_tokens.end(), 0.0) /
             static_cast<double>(node.output_tokens.size());
  }
  put_metric(run, "mean_output_tokens", tokens);
  if (rate && tokens) put_metric(run, "tokens_per_second", *rate * *tokens);
  put_metric(run, "sample_tokens_per_second", node.tokens_per_second);
  const auto put_series = [&](const char* name, const char* unit, const std::vector<double>& values, double factor) {
    if (values.empty()) return;
    SeriesWithPoints series{.key = {.name = name}, .unit = unit};
    for (std::size_t i = 0; i < values.size(); ++i)
      series.points.push_back({.step = static_cast<std::int64_t>(i), .value = values[i] * factor});
    draft.recorded.series.push_back(std::move(series));
  };
  put_series("sample.latency_seconds", "s", node.latencies_ms, 1 / kMillisecondsPerSecond);
  put_series("sample.output_tokens", "", node.output_tokens, 1);
}

DraftRun run_from(const NodeResult& node, const std::optional<Price>& price) {
  const bool inference = node.kind == NodeResultKind::inference;
  const bool training = node.kind == NodeResultKind::training || node.kind == NodeResultKind::distributed;
  DraftRun draft = draft_run(ImportFormat::results, inference ? "serve" : training ? "train" : "import", node.node);
  Run& run = draft.run();
  draft.node = node.node;
  draft.told_by_node = true;
  run.variant = node.configuration;
  // What the others are to be held against is told by the file's name alone: node1_unopt_b4_seq1024.json.
  if (lower_case(node.source).find("unopt") != std::string::npos) run.tags.emplace_back("baseline");
  run.provenance.hostname = node.node;
  put_size(draft, node.gpus, 1);
  // One GPU is what a node's result is about unless it says more: nothing to tell apart.
  if (run.ranks == 1) draft.size.clear();
  put_error(run, node);
  if (inference) {
    put_inference(draft, node);
  } else {
    put_training(run, node);
  }
  put_settings(run.spec, node.settings);
  put_price(run.spec, node, price);
  put_metric(run, "gpu_memory_peak_bytes", scaled(node.memory_peak_gb, kGigabyte));
  put_metric(run, "gpu.util", scaled(node.gpu_utilisation_percent, 0.01));
  put_metric(run, "gpu.temperature_c", node.temperature_c);
  return draft;
}

/// Results that are ranks of one job: the same size and settings, and every rank once.
using Ranks = std::vector<const NodeResult*>;
std::vector<Ranks> jobs_of(const std::vector<NodeResult>& nodes) {
  std::vector<Ranks> jobs;
  for (const auto& node : nodes) {
    const auto belongs = [&](const Ranks& job) {
      const NodeResult& first = *job.front();
      const auto batch = [](const NodeResult& one) {
        return one.batch_size ? one.batch_size : number_in_name(one.source, "_batch");
      };
      return node.kind == NodeResultKind::distributed && first.kind == node.kind && node.rank && first.rank &&
             first.gpus == node.gpus && batch(first) == batch(node) && seq_length_of(first) == seq_length_of(node) &&
             first.settings == node.settings &&
             std::none_of(job.begin(), job.end(), [&](const NodeResult* other) { return other->rank == node.rank; });
    };
    // The newest first: a second job of the same kind begins where a rank comes again.
    const auto found = std::find_if(jobs.rbegin(), jobs.rend(), belongs);
    if (found == jobs.rend()) {
      jobs.push_back({&node});
    } else {
      found->push_back(&node);
    }
  }
  return jobs;
}

/// One run from the files of its ranks, which all state the rate of the whole job.
DraftRun run_from(const Ranks& job, const std::optional<Price>& price) {
  const auto first = std::min_element(job.begin(), job.end(), [](const NodeResult* a, const NodeResult* b) {
    return a->rank.value_or(0) < b->rank.value_or(0);
  });
  DraftRun draft = run_from(**first, price);
  if ((*first)->kind != NodeResultKind::distributed) return draft;
  Run& run = draft.run();
  std::set<std::string> hosts;
  std::vector<double> memory;
  for (const NodeResult* rank : job) {
    hosts.insert(rank->node);
    if (rank->memory_peak_gb) memory.push_back(rank->memory_peak_gb->value * kGigabyte);
    // The job is done when its slowest rank is.
    if (rank->seconds) put_metric(run, "train_seconds", std::max(run.metrics["train_seconds"], rank->seconds->value));
    if (!run.error) put_error(run, *rank);
  }
  const std::vector<std::string> names(hosts.begin(), hosts.end());
  run.name = run.provenance.hostname = join(names, ",");
  draft.told_by_node = false;
  if (names.size() > 1) draft.node.clear();
  put_size(draft, (*first)->gpus, static_cast<std::int64_t>(names.size()));
  if (!memory.empty()) {
    const auto [lowest, highest] = std::minmax_element(memory.begin(), memory.end());
    put_metric(run, "gpu_memory_peak_bytes", *highest);
    put_metric(run, "rank_memory_bytes_min", *lowest);
    put_metric(run, "rank_memory_bytes_max", *highest);
  }
  const auto seen = static_cast<std::int64_t>(job.size());
  if ((*first)->rank && (*first)->gpus && seen < *(*first)->gpus) {
    run.flags.push_back(
        {"missing_ranks", run.name, fmt::format("results of {} of {} ranks were imported", seen, *(*first)->gpus)});
  }
  return draft;
}

/// What all nodes did together, over the time on the wall.
DraftRun run_from(const InferenceSummary& summary, const std::vector<NodeResult>& all, const std::string& name) {
  std::vector<NodeResult> nodes;
  std::copy_if(all.begin(), all.end(), std::back_inserter(nodes),
               [&](const NodeResult& node) { return node.source == summary.source; });
  DraftRun draft = draft_run(ImportFormat::results, "serve", name);
  Run& run = draft.run();
  run.variant = name;
  put_size(draft, std::nullopt, static_cast<std::int64_t>(nodes.size()));
  put_setting(run.spec, "samples", summary.samples_asked);
  put_setting(run.spec, "requests.output_tokens", summary.max_output_tokens);
  const auto asked = summary.samples_asked ? summary.samples_asked : samples_asked_of(nodes);
  const auto counted = samples_done_by(nodes);
  const auto done = counted ? counted : summary.samples_done;
  put_duration(run, scaled(summary.wall_clock_seconds, 1));
  put_metric(run, "wall_seconds", summary.wall_clock_seconds);
  put_count(run, "samples_asked", asked);
  put_count(run, "samples_done", done);
  if (asked && done && *asked >= *done) put_count(run, "samples_lost", *asked - *done);
  if (asked && done && *asked > *done) {
    run.flags.push_back(
        {"lost_samples", summary.source, fmt::format("{} of {} samples done; {} lost", *done, *asked, *asked - *done)});
  }
  const auto latency = mean_latency_ms_of(nodes);
  if (latency) put_metric(run, "mean_latency_seconds", *latency / kMillisecondsPerSecond);
  put_metric(run, "mean_input_tokens", summary.mean_input_tokens);
  put_metric(run, "mean_output_tokens", summary.mean_output_tokens);
  if (!done || !summary.wall_clock_seconds || !(summary.wall_clock_seconds->value > 0)) return draft;
  const double rate = static_cast<double>(*done) / summary.wall_clock_seconds->value;
  put_metric(run, "samples_per_second", rate);
  if (summary.mean_output_tokens) put_metric(run, "tokens_per_second", rate * summary.mean_output_tokens->value);
  return draft;
}

bool part_failed(const SuitePart& part) {
  return says_failure(part.status) || part.exit_code.value_or(0) != 0 || !part.error.empty();
}

DraftRun run_from(const SuitePart& part) {
  DraftRun draft = draft_run(ImportFormat::results, "serve", part.name.empty() ? "part" : part.name);
  Run& run = draft.run();
  run.variant = run.name;
  put_duration(run, scaled(part.seconds, 1));
  if (part.exit_code && *part.exit_code < 256) run.exit_code = static_cast<int>(*part.exit_code);
  if (!part_failed(part)) return draft;
  const std::string message = part.error.empty() ? fmt::format("ended with status '{}'", part.status) : part.error;
  run.error = RunError{.kind = error_kind_in(part.status + " " + part.error), .message = message};
  return draft;
}

/// Where each result, summary and part went.
class ResultsConversion {
 public:
  ResultsConversion(const NodeResults& results, const std::optional<Price>& price) : results_(results), price_(price) {}

  DraftStudy run() {
    for (const auto& node : results_.nodes) ++nodes_in_file_[node.source];
    add_summaries();
    for (const auto& job : jobs_of(results_.nodes)) add_job(job);
    for (const auto& part : results_.parts) add_part(part);
    for (const auto& flag : results_.flags) {
      const auto found = run_about_.find({flag.kind == "part_failed", flag.about});
      // That two results differ in their work is no fault of either.
      const bool of_run = found != run_about_.end() && flag.kind != "unequal_work" && flag.kind != "unreadable";
      (of_run ? draft_.runs[found->second].run().flags : draft_.flags).push_back(flag);
    }
    return std::move(draft_);
  }

 private:
  void add_summaries() {
    for (const auto& summary : results_.summaries) {
      // The part of the suite that took as long is the one that the summary is about.
      const auto part = std::find_if(results_.parts.begin(), results_.parts.end(), [&](const SuitePart& one) {
        return !part_failed(one) && one.seconds && summary.wall_clock_seconds &&
               one.seconds->value == summary.wall_clock_seconds->value;
      });
      const bool known = part != results_.parts.end() && !part->name.empty();
      const std::string name = known ? part->name : "all nodes";
      if (known) summed_up_.insert(&*part);
      name_of_source_[summary.source] = name;
      run_about_[{false, summary.source}] = draft_.runs.size();
      draft_.runs.push_back(run_from(summary, results_.nodes, name));
    }
  }

  void add_job(const Ranks& job) {
    DraftRun draft = run_from(job, price_);
    // A node's share of a run over several is no run of that node alone.
    if (const auto whole = name_of_source_.find(job.front()->source); whole != name_of_source_.end())
      draft.run().variant = whole->second + ", by node";
    for (const NodeResult* node : job) {
      run_about_[{false, label_of(*node)}] = draft_.runs.size();
      if (nodes_in_file_[node->source] == 1) run_about_.try_emplace({false, node->source}, draft_.runs.size());
    }
    draft_.runs.push_back(std::move(draft));
  }

  void add_part(const SuitePart& part) {
    if (summed_up_.contains(&part)) return;
    run_about_[{true, part.name}] = draft_.runs.size();
    draft_.runs.push_back(run_from(part));
  }

  const NodeResults& results_;
  const std::optional<Price>& price_;
  DraftStudy draft_;
  std::map<std::pair<bool, std::string>, std::size_t> run_about_;  ///< whether it is a part, and what flags call it
  std::map<std::string, std::string> name_of_source_;              ///< of the summaries' runs
  std::map<std::string, int> nodes_in_file_;
  std::set<const SuitePart*> summed_up_;
};

}  // namespace

ImportedStudy study_from_results(const NodeResults& results, const std::optional<Price>& price) {
  DraftStudy draft = ResultsConversion(results, price).run();
  settle_variants(draft);
  flag_outliers(draft);
  return finish_study(std::move(draft));
}

}  // namespace assay
