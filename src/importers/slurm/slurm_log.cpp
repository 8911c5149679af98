#include "importers/slurm/slurm_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "exchange/encoding.h"
#include "importers/slurm/slurm_parser.h"

namespace assay {
namespace {

template <typename T>
void fill_gap(std::optional<T>& into, const std::optional<T>& from) {
  if (!into) into = from;
}

void fill_gap(std::string& into, const std::string& from) {
  if (into.empty()) into = from;
}

void join(std::optional<RankedFigure>& into, const std::optional<RankedFigure>& from) {
  if (!into || !from) return fill_gap(into, from);
  into->lowest = std::min(into->lowest, from->lowest);
  into->highest = std::max(into->highest, from->highest);
  into->reports += from->reports;
}

void join_epochs(std::vector<SlurmEpoch>& into, const std::vector<SlurmEpoch>& from) {
  std::map<std::int64_t, SlurmEpoch> epochs;
  for (const auto& epoch : into) epochs[epoch.number] = epoch;
  for (const auto& epoch : from) {
    SlurmEpoch& joined = epochs[epoch.number];
    joined.number = epoch.number;
    fill_gap(joined.loss, epoch.loss);
    fill_gap(joined.val_loss, epoch.val_loss);
    fill_gap(joined.val_accuracy, epoch.val_accuracy);
    fill_gap(joined.seconds, epoch.seconds);
    joined.complete |= epoch.complete;
  }
  into.clear();
  for (const auto& [number, epoch] : epochs) into.push_back(epoch);
}

template <typename Better>
void keep_best(std::optional<Stated>& into, const std::optional<Stated>& from, Better better) {
  if (from && (!into || better(from->value, into->value))) into = from;
}

void join_facts(SlurmJob& into, SlurmJob& from) {
  fill_gap(into.name, from.name);
  fill_gap(into.node_list, from.node_list);
  fill_gap(into.nodes, from.nodes);
  fill_gap(into.tasks, from.tasks);
  fill_gap(into.tasks_per_node, from.tasks_per_node);
  fill_gap(into.cpus_per_task, from.cpus_per_task);
  fill_gap(into.gpus, from.gpus);
  fill_gap(into.batch_per_gpu, from.batch_per_gpu);
  fill_gap(into.effective_batch, from.effective_batch);
  fill_gap(into.accumulation, from.accumulation);
  fill_gap(into.epochs_planned, from.epochs_planned);
  fill_gap(into.samples, from.samples);
  fill_gap(into.steps_per_epoch, from.steps_per_epoch);
  fill_gap(into.training_repeated, from.training_repeated);
  fill_gap(into.duration_seconds, from.duration_seconds);
  fill_gap(into.best_checkpoint, from.best_checkpoint);
  into.settings.merge(from.settings);
  into.sources.insert(into.sources.end(), from.sources.begin(), from.sources.end());
}

void join_job(SlurmJob& into, SlurmJob from) {
  join_facts(into, from);
  join(into.training_seconds, from.training_seconds);
  join(into.seconds_per_epoch, from.seconds_per_epoch);
  join(into.best_val_loss, from.best_val_loss);
  join(into.best_val_accuracy, from.best_val_accuracy);
  join(into.samples_per_second, from.samples_per_second);
  join(into.tokens_per_second, from.tokens_per_second);
  join_epochs(into.epochs, from.epochs);
  keep_best(into.lowest_val_loss_seen, from.lowest_val_loss_seen, std::less<>());
  keep_best(into.highest_val_accuracy_seen, from.highest_val_accuracy_seen, std::greater<>());
  if (into.non_finite_losses == 0) into.first_non_finite_line = from.first_non_finite_line;
  into.non_finite_losses += from.non_finite_losses;
  into.gpu_readings.insert(into.gpu_readings.end(), from.gpu_readings.begin(), from.gpu_readings.end());
  into.problems.insert(into.problems.end(), from.problems.begin(), from.problems.end());
  into.problems_left_out += from.problems_left_out;
  into.attempts = std::max(into.attempts, from.attempts);
  into.lines += from.lines;
  into.fit_ended |= from.fit_ended;
  into.resumed |= from.resumed;
  into.counts_from_zero |= from.counts_from_zero;
  into.cut |= from.cut;
  into.percent_assumed |= from.percent_assumed;
}

}  // namespace

Result<SlurmLog> parse_slurm_log(std::string_view bytes, std::string_view name) {
  ASSAY_TRY(auto looked, look_at_bytes(bytes, name));
  SlurmParser parser(name);
  const std::int64_t lines = for_each_segment(looked.text, [&](const LogSegment& segment) { parser.take(segment); });
  return SlurmLog{parser.finish(lines), std::move(looked.flags)};
}

std::vector<SlurmJob> merge_jobs(std::vector<SlurmJob> jobs) {
  std::vector<SlurmJob> merged;
  std::map<std::string, std::size_t, std::less<>> place;
  for (auto& job : jobs) {
    const auto [known, added] = place.emplace(job.id, merged.size());
    if (added) {
      merged.push_back(std::move(job));
    } else {
      join_job(merged[known->second], std::move(job));
    }
  }
  return merged;
}

Result<SlurmImport> import_slurm(std::span<const NamedText> files) {
  SlurmImport import;
  std::optional<Error> first_error;
  for (const auto& file : files) {
    auto log = parse_slurm_log(file.text, file.name);
    if (!log) {
      import.flags.push_back({"unreadable", file.name, log.error().text()});
      if (!first_error) first_error = std::move(log).error();
      continue;
    }
    std::move(log->jobs.begin(), log->jobs.end(), std::back_inserter(import.jobs));
    std::move(log->flags.begin(), log->flags.end(), std::back_inserter(import.flags));
  }
  if (import.jobs.empty() && first_error) return *first_error;
  import.jobs = merge_jobs(std::move(import.jobs));
  for (const auto& job : import.jobs) {
    auto flags = check_slurm_job(job);
    std::move(flags.begin(), flags.end(), std::back_inserter(import.flags));
  }
  return import;
}

}  // namespace assay
