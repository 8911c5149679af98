#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// What a name in front of `:` or `=` in a training log stands for.
enum class LogKey {
  none,
  // Figures of a step or an epoch.
  loss,
  val_loss,
  val_accuracy,
  epoch_seconds,
  samples_per_second,
  tokens_per_second,
  throughput,  ///< the unit behind the number decides
  other_metric,
  // Facts of the job.
  job_id,
  job_name,
  node_list,
  nodes,
  tasks,
  tasks_per_node,
  cpus_per_task,
  gpus,
  member,  ///< Lightning's `MEMBER: 1/4`: one of four ranks
  batch_per_gpu,
  effective_batch,
  accumulation,
  epochs,
  samples,
  training_time,
  job_duration,
  time_per_epoch,
  best_checkpoint,
  best_val_loss,
  best_val_accuracy,
  setting,  ///< a hyper-parameter that is kept as text
};

struct LogKeyMatch {
  LogKey key = LogKey::none;
  std::string_view name;  ///< stable, lower case, words joined by `_`: "learning_rate"
};

/// The known name that `text` ends with, the longest one; case and the choice of blank, `_`, `-`, `/` or `.` between
/// words do not matter. `delimiter` is what follows the text. The name must not be part of a longer identifier:
/// `aux_loss` is not `loss`. Fast: called for every delimiter of a log.
LogKeyMatch log_key_before(std::string_view text, char delimiter);

/// The metric name of docs/reference/metrics.md for a column or field as other tools call it ("train/loss", "val_acc");
/// empty for one that only its owner knows.
std::string_view known_metric_name(std::string_view written);

}  // namespace assay
