#include "importers/slurm/slurm_job.h"

#include <algorithm>

#include "base/text.h"

namespace assay {
namespace {

/// Hosts between a pair of brackets: `01-03,07` are 4.
std::optional<std::int64_t> count_in_brackets(std::string_view list) {
  std::int64_t hosts = 0;
  for (const auto part : split(list, ',')) {
    std::size_t used = 0;
    const auto first = count_at(part, used);
    if (!first) return std::nullopt;
    if (used == part.size()) {
      ++hosts;
      continue;
    }
    const std::string_view rest = part.substr(used);
    std::size_t rest_used = 0;
    const auto last = rest.starts_with('-') ? count_at(rest.substr(1), rest_used) : std::nullopt;
    if (!last || rest_used != rest.size() - 1 || *last < *first || *last - *first >= 1'000'000) return std::nullopt;
    hosts += *last - *first + 1;
  }
  return hosts;
}

/// Hosts of one item of a node list: `gpu[01-03]-[1,2]` are 6.
std::optional<std::int64_t> count_in_item(std::string_view item) {
  if (item.empty() || item.find_first_of(" \t") != std::string_view::npos) return std::nullopt;
  std::int64_t hosts = 1;
  while (!item.empty()) {
    const std::size_t open = item.find('[');
    if (open == std::string_view::npos) break;
    const std::size_t close = item.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto inside = count_in_brackets(item.substr(open + 1, close - open - 1));
    if (!inside || *inside > 1'000'000 || hosts * *inside > 1'000'000) return std::nullopt;
    hosts *= *inside;
    item.remove_prefix(close + 1);
  }
  return hosts;
}

}  // namespace

std::optional<std::int64_t> count_hosts(std::string_view node_list) {
  std::int64_t hosts = 0;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= node_list.size(); ++i) {
    const char c = i < node_list.size() ? node_list[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || (depth > 0 && i < node_list.size())) continue;
    const auto inside = count_in_item(trim(node_list.substr(start, i - start)));
    if (!inside) return std::nullopt;
    hosts += *inside;
    start = i + 1;
  }
  return hosts;
}

std::optional<Stated> training_time_of(const SlurmJob& job) {
  if (!job.training_seconds) return std::nullopt;
  return Stated{job.training_seconds->highest, job.training_seconds->first.half_unit};
}

std::optional<std::int64_t> epochs_of(const SlurmJob& job) {
  const auto complete = [](const SlurmEpoch& epoch) { return epoch.complete; };
  const auto first = std::find_if(job.epochs.begin(), job.epochs.end(), complete);
  const auto last = std::find_if(job.epochs.rbegin(), job.epochs.rend(), complete);
  if (first != job.epochs.end()) {
    const std::int64_t number = last->number;
    if (job.epochs.size() == 1 && !job.resumed) {
      if (job.counts_from_zero || job.epochs_planned == number + 1) return number + 1;
      if (job.epochs_planned == number) return number;
    }
    return number - first->number + 1;
  }
  return finished(job) && job.epochs.empty() ? job.epochs_planned : std::nullopt;
}

std::optional<double> seconds_per_epoch_of(const SlurmJob& job) {
  const auto time = training_time_of(job);
  const auto epochs = epochs_of(job);
  if (time && epochs && *epochs > 0) return time->value / static_cast<double>(*epochs);
  return job.seconds_per_epoch ? std::optional(job.seconds_per_epoch->first.value) : std::nullopt;
}

std::optional<double> samples_per_second_of(const SlurmJob& job) {
  const auto time = training_time_of(job);
  const auto epochs = epochs_of(job);
  if (job.samples && epochs && time && time->value > 0) {
    return static_cast<double>(*job.samples) * static_cast<double>(*epochs) / time->value;
  }
  return job.samples_per_second ? std::optional(job.samples_per_second->first.value) : std::nullopt;
}

std::optional<std::int64_t> effective_batch_of(const SlurmJob& job) {
  if (!job.batch_per_gpu || !job.gpus) return job.effective_batch;
  std::int64_t batch = 0;
  if (__builtin_mul_overflow(*job.batch_per_gpu, *job.gpus, &batch)) return std::nullopt;
  if (__builtin_mul_overflow(batch, job.accumulation.value_or(1), &batch)) return std::nullopt;
  return batch;
}

std::optional<double> val_loss_of(const SlurmJob& job) {
  if (job.best_val_loss) return job.best_val_loss->first.value;
  return job.lowest_val_loss_seen ? std::optional(job.lowest_val_loss_seen->value) : std::nullopt;
}

std::optional<double> val_accuracy_of(const SlurmJob& job) {
  if (job.best_val_accuracy) return job.best_val_accuracy->first.value;
  return job.highest_val_accuracy_seen ? std::optional(job.highest_val_accuracy_seen->value) : std::nullopt;
}

std::optional<double> gpu_utilisation_of(const SlurmJob& job) {
  double sum = 0;
  int readings = 0;
  for (const auto& reading : job.gpu_readings) {
    if (!reading.utilisation || !reading.during_training) continue;
    sum += *reading.utilisation;
    ++readings;
  }
  return readings ? std::optional(sum / readings) : std::nullopt;
}

bool finished(const SlurmJob& job) { return job.training_seconds || job.duration_seconds || job.fit_ended; }

}  // namespace assay
