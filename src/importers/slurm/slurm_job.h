#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "importers/text/figure.h"
#include "model/flag.h"

namespace assay {

/// One epoch as its progress bar or log line showed it. Validation figures are those of the end of the epoch.
struct SlurmEpoch {
  std::int64_t number = 0;  ///< as printed: from 0 or from 1
  std::optional<Stated> loss;
  std::optional<Stated> val_loss;
  std::optional<Stated> val_accuracy;  ///< 0…1
  std::optional<double> seconds;       ///< of training steps; a progress bar shows whole seconds, cut off
  bool complete = false;               ///< seen to its end
};

/// One line of an nvidia-smi table or CSV block.
struct LoggedGpu {
  std::int64_t index = 0;  ///< on its node; the same index comes again from another node
  std::string name;
  std::optional<double> utilisation;  ///< 0…1
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  bool during_training = false;  ///< printed between the first epoch and the end of the training
};

/// Something that went wrong in the job, by its own words.
struct LogProblem {
  ErrorKind kind = ErrorKind::crash;  ///< oom, crash, timeout, interrupted, lost_peer
  std::optional<int> rank;
  std::int64_t line = 0;  ///< 1-based
  std::string message;    ///< printable, shortened
};

/// What the ranks of a job said about one figure. Ranks print the same block once each.
struct RankedFigure {
  Stated first;
  double lowest = 0;
  double highest = 0;
  int reports = 0;
};

/// One training job, from the output of all its ranks. What was not printed is absent.
struct SlurmJob {
  std::string id;  ///< "48211", "48211_3"; from the file's name where the text does not say
  std::string name;
  std::vector<std::string> sources;  ///< names of the files it was read from
  std::string node_list;             ///< "gpu[01-02]"
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> tasks;
  std::optional<std::int64_t> tasks_per_node;
  std::optional<std::int64_t> cpus_per_task;
  std::optional<std::int64_t> gpus;
  std::optional<std::int64_t> batch_per_gpu;
  std::optional<std::int64_t> effective_batch;  ///< as stated; see `effective_batch_of`
  std::optional<std::int64_t> accumulation;
  std::optional<std::int64_t> epochs_planned;
  std::optional<std::int64_t> samples;                       ///< in one epoch
  std::optional<std::int64_t> steps_per_epoch;               ///< of one rank, from the progress bar
  std::map<std::string, std::string, std::less<>> settings;  ///< "learning_rate": "0.001"

  std::optional<RankedFigure> training_seconds;  ///< "Total training time": the fit alone
  std::optional<Stated> training_repeated;       ///< the same in brackets behind it, in seconds
  std::optional<Stated> duration_seconds;        ///< "Total duration": the whole job
  std::optional<RankedFigure> seconds_per_epoch;
  std::optional<RankedFigure> best_val_loss;
  std::optional<RankedFigure> best_val_accuracy;  ///< 0…1
  std::optional<RankedFigure> samples_per_second;
  std::optional<RankedFigure> tokens_per_second;
  std::string best_checkpoint;

  std::vector<SlurmEpoch> epochs;  ///< by number
  std::optional<Stated> lowest_val_loss_seen;
  std::optional<Stated> highest_val_accuracy_seen;
  std::int64_t non_finite_losses = 0;
  std::int64_t first_non_finite_line = 0;
  std::vector<LoggedGpu> gpu_readings;
  std::vector<LogProblem> problems;
  std::int64_t problems_left_out = 0;
  int attempts = 1;  ///< starts seen; after a requeue the figures are those of the last one

  std::int64_t lines = 0;
  bool fit_ended = false;         ///< Lightning said that it has done what it was asked for
  bool resumed = false;           ///< it began from a checkpoint, not from the first epoch
  bool counts_from_zero = false;  ///< its progress bars are Lightning's, whose first epoch is 0
  bool cut = false;               ///< a file ended in the middle of a line
  bool percent_assumed = false;   ///< an accuracy above 1 was taken as percent
};

// What follows from a job's own figures; absent where one of them is.
/// The fit's time: of the slowest rank, since the job is done when all are.
std::optional<Stated> training_time_of(const SlurmJob& job);
/// Epochs that were seen to their end, from the first to the last of them: a progress bar may skip some. Where the log
/// shows the last one alone, as when a bar overwrote itself, all up to it; where it shows none, the planned number if
/// the training ended.
std::optional<std::int64_t> epochs_of(const SlurmJob& job);
std::optional<double> seconds_per_epoch_of(const SlurmJob& job);  ///< the mean
std::optional<double> samples_per_second_of(const SlurmJob& job);
/// Batch per GPU × GPUs × accumulation.
std::optional<std::int64_t> effective_batch_of(const SlurmJob& job);
std::optional<double> val_loss_of(const SlurmJob& job);         ///< the best: as stated, else the lowest seen
std::optional<double> val_accuracy_of(const SlurmJob& job);     ///< the best: as stated, else the highest seen
std::optional<double> gpu_utilisation_of(const SlurmJob& job);  ///< mean during the training, 0…1
/// Whether the log shows that the training ended.
bool finished(const SlurmJob& job);

/// Hosts in Slurm's short form: `gpu[01-03,07],login1` are 5. Absent if it is not one.
std::optional<std::int64_t> count_hosts(std::string_view node_list);

}  // namespace assay
