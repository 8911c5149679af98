#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "importers/slurm/slurm_log.h"

namespace assay {
namespace {

/// Ranks start and stop their clocks a little apart; beyond this they did not do the same.
constexpr double kRankTolerance = 1.05;

class JobChecks {
 public:
  explicit JobChecks(const SlurmJob& job) : job_(job) {}

  std::vector<Flag> run() {
    outcome();
    problems();
    ranks();
    sizes();
    times();
    rates();
    validation();
    return std::move(flags_);
  }

 private:
  void flag(std::string_view kind, std::string message) {
    flags_.push_back({std::string(kind), job_.id, std::move(message)});
  }

  void outcome() {
    if (job_.lines == 0) return flag("empty", "the file is empty");
    const bool anything = finished(job_) || !job_.epochs.empty() || job_.gpus || job_.nodes || !job_.problems.empty();
    if (!anything) {
      return flag("nothing_found", fmt::format("nothing of a training job was found in {} lines", job_.lines));
    }
    if (job_.cut) {
      flag("cut_file", "the file ends in the middle of a line; what may be cut of that line is not used");
    }
    if (job_.attempts > 1) {
      flag("restarted",
           fmt::format("the job was started {} times; the figures are those of its last start", job_.attempts));
    }
    if (!finished(job_)) flag("incomplete", how_far());
    if (job_.non_finite_losses > 0) {
      flag("non_finite", fmt::format("the loss was NaN or infinite {} times, first in line {}", job_.non_finite_losses,
                                     job_.first_non_finite_line));
    }
    if (job_.percent_assumed) flag("percent_assumed", "accuracies above 1 were taken as percent");
    const auto epochs = epochs_of(job_);
    if (finished(job_) && epochs && job_.epochs_planned && *epochs < *job_.epochs_planned) {
      flag("fewer_epochs", fmt::format("{} of {} planned epochs were seen", *epochs, *job_.epochs_planned));
    }
  }

  std::string how_far() const {
    std::string place = "before its first epoch";
    if (!job_.epochs.empty()) {
      place = fmt::format("in epoch {}", job_.epochs.back().number);
      if (job_.epochs_planned) place += fmt::format(" of {} planned", *job_.epochs_planned);
    }
    return fmt::format("the log ends {}: no total training time, no total duration and no end of a fit was found",
                       place);
  }

  void problems() {
    for (const ErrorKind kind :
         {ErrorKind::oom, ErrorKind::timeout, ErrorKind::interrupted, ErrorKind::lost_peer, ErrorKind::crash}) {
      const auto is_kind = [&](const LogProblem& problem) { return problem.kind == kind; };
      const auto first = std::find_if(job_.problems.begin(), job_.problems.end(), is_kind);
      if (first == job_.problems.end()) continue;
      const auto count = std::count_if(job_.problems.begin(), job_.problems.end(), is_kind);
      const std::string rank = first->rank ? fmt::format(" of rank {}", *first->rank) : "";
      const std::string more = count > 1 ? fmt::format(" ({} such lines)", count) : "";
      flag(name_of(kind), fmt::format("line {}{}: {}{}", first->line, rank, first->message, more));
    }
  }

  void ranks() {
    if (const auto& time = job_.training_seconds; time && time->highest > time->lowest * kRankTolerance) {
      flag("ranks_disagree", fmt::format("the ranks state training times from {} to {} s; the longest is used",
                                         plain_figure(time->lowest), plain_figure(time->highest)));
    }
    if (const auto& loss = job_.best_val_loss; loss && loss->highest - loss->lowest > 2 * loss->first.half_unit) {
      flag("ranks_disagree", fmt::format("the ranks state best validation losses from {} to {}; the first is used",
                                         plain_figure(loss->lowest), plain_figure(loss->highest)));
    }
  }

  void contradiction(std::string_view states, std::string_view but) {
    flag("contradiction", fmt::format("states {}, but {}", states, but));
  }

  void sizes() {
    const auto hosts = job_.node_list.empty() ? std::nullopt : count_hosts(job_.node_list);
    if (hosts && job_.nodes && *hosts != *job_.nodes) {
      contradiction(fmt::format("{} nodes", *job_.nodes), fmt::format("'{}' are {}", job_.node_list, *hosts));
    }
    if (job_.nodes && job_.tasks && job_.tasks_per_node) {
      const FigureRange tasks =
          exactly(static_cast<double>(*job_.nodes)) * exactly(static_cast<double>(*job_.tasks_per_node));
      if (!agree(exactly(static_cast<double>(*job_.tasks)), tasks)) {
        contradiction(fmt::format("{} tasks", *job_.tasks),
                      fmt::format("{} nodes with {} tasks each", *job_.nodes, *job_.tasks_per_node));
      }
    }
    const auto batch = effective_batch_of(job_);
    if (job_.effective_batch && batch && *job_.effective_batch != *batch) {
      contradiction(
          fmt::format("an effective batch of {}", *job_.effective_batch),
          fmt::format("{} per GPU on {} GPUs{} are {}", *job_.batch_per_gpu, *job_.gpus,
                      job_.accumulation ? fmt::format(", accumulated {} times,", *job_.accumulation) : "", *batch));
    }
  }

  void times() {
    const auto time = training_time();
    if (!time) return;
    const std::string stated = fmt::format("a training time of {} s", plain_figure(job_.training_seconds->first.value));
    if (job_.training_repeated && !agree(*time, range_of(*job_.training_repeated))) {
      contradiction(stated, fmt::format("gives it as {} s in brackets", plain_figure(job_.training_repeated->value)));
    }
    // The job's clock counts whole seconds and may start one late.
    if (job_.duration_seconds && range_of(*job_.duration_seconds).high + 1 < time->low) {
      contradiction(stated, fmt::format("the whole job took {} s", plain_figure(job_.duration_seconds->value)));
    }
    double sum = 0;
    for (const auto& epoch : job_.epochs) sum += epoch.complete ? epoch.seconds.value_or(0) : 0;
    if (sum > time->high) contradiction(stated, fmt::format("its epochs add up to {} s or more", plain_figure(sum)));
    const auto epochs = epochs_of(job_);
    if (!job_.seconds_per_epoch || !epochs || *epochs <= 0) return;
    const FigureRange mean = *time / exactly(static_cast<double>(*epochs));
    if (!agree(range_of(job_.seconds_per_epoch->first), mean)) {
      contradiction(fmt::format("{} s per epoch", plain_figure(job_.seconds_per_epoch->first.value)),
                    fmt::format("{} s over {} epochs are {} s each", plain_figure(job_.training_seconds->first.value),
                                *epochs, plain_figure(seconds_per_epoch_of(job_).value_or(0))));
    }
  }

  void rates() {
    const auto time = training_time();
    const auto epochs = epochs_of(job_);
    if (!time || !epochs || !job_.samples || !job_.samples_per_second) return;
    const FigureRange rate =
        exactly(static_cast<double>(*job_.samples)) * exactly(static_cast<double>(*epochs)) / *time;
    if (agree(range_of(job_.samples_per_second->first), rate)) return;
    contradiction(fmt::format("{} samples/s", plain_figure(job_.samples_per_second->first.value)),
                  fmt::format("{} samples × {} epochs in {} s are {} samples/s", *job_.samples, *epochs,
                              plain_figure(training_time_of(job_)->value),
                              plain_figure(samples_per_second_of(job_).value_or(0))));
  }

  void validation() {
    const auto shown_everywhere = [&](auto field) {
      return static_cast<std::int64_t>(job_.epochs.size()) == epochs_of(job_) &&
             std::all_of(job_.epochs.begin(), job_.epochs.end(),
                         [&](const SlurmEpoch& epoch) { return (epoch.*field).has_value(); });
    };
    if (job_.best_val_loss && job_.lowest_val_loss_seen) {
      best("validation loss", job_.best_val_loss->first, *job_.lowest_val_loss_seen, true,
           shown_everywhere(&SlurmEpoch::val_loss));
    }
    if (job_.best_val_accuracy && job_.highest_val_accuracy_seen) {
      best("validation accuracy", job_.best_val_accuracy->first, *job_.highest_val_accuracy_seen, false,
           shown_everywhere(&SlurmEpoch::val_accuracy));
    }
  }

  /// The best cannot be worse than one that was shown; nor better than all, if all were shown.
  void best(std::string_view what, const Stated& stated, const Stated& seen, bool low_is_good, bool all_shown) {
    if (agree(range_of(stated), range_of(seen))) return;
    const bool stated_is_better = low_is_good ? stated.value < seen.value : stated.value > seen.value;
    if (stated_is_better && !all_shown) return;
    contradiction(fmt::format("a best {} of {}", what, plain_figure(stated.value)),
                  fmt::format("the best that its progress shows is {}", plain_figure(seen.value)));
  }

  /// Of all ranks.
  std::optional<FigureRange> training_time() const {
    if (!job_.training_seconds) return std::nullopt;
    const double half_unit = job_.training_seconds->first.half_unit;
    return FigureRange{job_.training_seconds->lowest - half_unit, job_.training_seconds->highest + half_unit};
  }

  const SlurmJob& job_;
  std::vector<Flag> flags_;
};

}  // namespace

std::vector<Flag> check_slurm_job(const SlurmJob& job) { return JobChecks(job).run(); }

}  // namespace assay
