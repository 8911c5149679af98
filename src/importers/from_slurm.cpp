#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "importers/draft_study.h"
#include "model/metric.h"

namespace assay {
namespace {

bool is_about_nothing(const Flag& flag) { return flag.kind == "empty" || flag.kind == "nothing_found"; }

/// What ended a job that did not finish: the lack of memory or time where it says so, else what it complained of first.
const LogProblem* cause_of_end(const SlurmJob& job) {
  for (const ErrorKind kind : {ErrorKind::oom, ErrorKind::timeout}) {
    const auto found = std::find_if(job.problems.begin(), job.problems.end(),
                                    [&](const LogProblem& problem) { return problem.kind == kind; });
    if (found != job.problems.end()) return &*found;
  }
  const auto first = std::min_element(job.problems.begin(), job.problems.end(),
                                      [](const auto& a, const auto& b) { return a.line < b.line; });
  return first == job.problems.end() ? nullptr : &*first;
}

void put_error(Run& run, const SlurmJob& job) {
  if (finished(job)) return;
  const LogProblem* cause = cause_of_end(job);
  if (!cause) {
    run.error = RunError{.kind = ErrorKind::interrupted, .message = "the log ends before the training does"};
    return;
  }
  const std::string rank = cause->rank ? fmt::format("rank {}: ", *cause->rank) : "";
  run.error = RunError{.kind = cause->kind, .message = rank + cause->message};
}

void put_job_settings(Run& run, const SlurmJob& job) {
  json::object& spec = run.spec;
  put_setting(spec, "dataset.samples", job.samples);
  put_setting(spec, "epochs", job.epochs_planned ? job.epochs_planned : epochs_of(job));
  put_setting(spec, "batch_size", job.batch_per_gpu);
  put_setting(spec, "gradient_accumulation", job.accumulation);
  put_setting(spec, "effective_batch", effective_batch_of(job));
  auto settings = job.settings;
  for (const auto* version : {"driver_version", "pytorch_version"}) settings.erase(version);
  put_settings(spec, settings);
}

void put_figures(Run& run, const SlurmJob& job) {
  put_duration(run, job.duration_seconds ? std::optional(job.duration_seconds->value) : std::nullopt);
  put_metric(run, "train_seconds", training_time_of(job));
  put_count(run, "epochs_done", epochs_of(job));
  put_metric(run, "seconds_per_epoch", seconds_per_epoch_of(job));
  put_metric(run, "samples_per_second", samples_per_second_of(job));
  if (job.tokens_per_second) put_metric(run, "tokens_per_second", job.tokens_per_second->first.value);
  if (const auto epochs = epochs_of(job); epochs && job.samples)
    put_metric(run, "samples_done", static_cast<double>(*epochs) * static_cast<double>(*job.samples));
  put_metric(run, "val_loss", val_loss_of(job));
  put_metric(run, "val_accuracy", val_accuracy_of(job));
  put_metric(run, "gpu.util", gpu_utilisation_of(job));
  if (!job.epochs.empty()) put_metric(run, "loss", job.epochs.back().loss);
}

/// Named like what our own workloads report once per epoch, so that figures that a progress bar rounds do not pass for
/// the run's own.
void put_epochs(RunWithSeries& recorded, const SlurmJob& job) {
  const std::array columns = {std::pair{"epoch.loss", &SlurmEpoch::loss},
                              std::pair{"epoch.val_loss", &SlurmEpoch::val_loss},
                              std::pair{"epoch.val_accuracy", &SlurmEpoch::val_accuracy}};
  for (const auto& [name, field] : columns) {
    SeriesWithPoints series{.key = {.name = name}};
    if (const MetricInfo* info = find_metric(name)) series.unit = info->unit;
    for (const auto& epoch : job.epochs) {
      if (epoch.*field) series.points.push_back({.step = epoch.number, .value = (epoch.*field)->value});
    }
    if (!series.points.empty()) recorded.series.push_back(std::move(series));
  }
}

/// Only of the time of training: means over idle GPUs would say nothing about it.
void put_gpu_readings(RunWithSeries& recorded, const SlurmJob& job) {
  std::map<SeriesKey, SeriesWithPoints> all;
  for (const auto& reading : job.gpu_readings) {
    if (!reading.during_training) continue;
    const auto add = [&](const char* name, std::optional<double> value) {
      if (!value) return;
      const SeriesKey key{name, {{"gpu", std::to_string(reading.index)}}};
      auto& series = all[key];
      series.key = key;
      series.unit = find_metric(name)->unit;
      series.points.push_back({.value = *value});
    };
    add("gpu.util", reading.utilisation);
    if (reading.memory_used_bytes) add("gpu.memory_used_bytes", static_cast<double>(*reading.memory_used_bytes));
    add("gpu.temperature_c", reading.temperature_c);
    add("gpu.power_w", reading.power_w);
  }
  for (auto& [key, series] : all) recorded.series.push_back(std::move(series));
}

void put_provenance(Provenance& provenance, const SlurmJob& job) {
  provenance.hostname = job.node_list;
  const auto setting = [&](const char* name) {
    const auto found = job.settings.find(name);
    return found == job.settings.end() ? std::string() : found->second;
  };
  provenance.gpu_driver = setting("driver_version");
  provenance.torch_version = setting("pytorch_version");
  // The same index comes again with every table, and from every node.
  std::map<std::int64_t, GpuInfo> gpus;
  for (const auto& reading : job.gpu_readings) {
    if (!reading.name.empty())
      gpus.try_emplace(reading.index,
                       GpuInfo{.name = reading.name, .memory_bytes = reading.memory_total_bytes.value_or(0)});
  }
  for (const auto& [index, gpu] : gpus) provenance.gpus.push_back(gpu);
  if (!job.id.empty()) provenance.job["SLURM_JOB_ID"] = job.id;
  if (!job.name.empty()) provenance.job["SLURM_JOB_NAME"] = job.name;
  if (job.nodes) provenance.job["SLURM_NNODES"] = std::to_string(*job.nodes);
  if (job.tasks) provenance.job["SLURM_NTASKS"] = std::to_string(*job.tasks);
}

DraftRun run_from(const SlurmJob& job, std::vector<Flag> flags) {
  DraftRun draft = draft_run(ImportFormat::slurm, "train", job.name.empty() ? fmt::format("job {}", job.id) : job.name);
  Run& run = draft.run();
  run.flags = std::move(flags);
  put_size(draft, job.gpus ? job.gpus : job.tasks, job.nodes ? job.nodes : count_hosts(job.node_list));
  if (count_hosts(job.node_list) == 1) draft.node = job.node_list;
  put_job_settings(run, job);
  put_figures(run, job);
  put_error(run, job);
  put_provenance(run.provenance, job);
  put_epochs(draft.recorded, job);
  put_gpu_readings(draft.recorded, job);
  // The parser keeps finite losses only: where the last epoch has none, it ended in NaN.
  draft.figures_unusable = job.non_finite_losses > 0 && (job.epochs.empty() || !job.epochs.back().loss);
  return draft;
}

}  // namespace

ImportedStudy study_from_slurm(const SlurmImport& import) {
  DraftStudy draft;
  std::map<std::string, int> jobs_in_file;
  for (const auto& job : import.jobs) {
    for (const auto& source : job.sources) ++jobs_in_file[source];
  }
  std::vector<Flag> of_jobs;
  for (const auto& job : import.jobs) {
    std::vector<Flag> flags = check_slurm_job(job);
    of_jobs.insert(of_jobs.end(), flags.begin(), flags.end());
    if (std::any_of(flags.begin(), flags.end(), is_about_nothing)) {
      for (auto& flag : flags) {
        if (!job.sources.empty()) flag.about = job.sources.front();
      }
      draft.flags.insert(draft.flags.end(), flags.begin(), flags.end());
      continue;
    }
    // What is about a file is about its job, where it has but one.
    for (const auto& flag : import.flags) {
      const bool own = std::find(job.sources.begin(), job.sources.end(), flag.about) != job.sources.end();
      if (own && jobs_in_file[flag.about] == 1) {
        flags.push_back(flag);
        of_jobs.push_back(flag);
      }
    }
    draft.runs.push_back(run_from(job, std::move(flags)));
  }
  for (const auto& flag : import.flags) {
    if (std::find(of_jobs.begin(), of_jobs.end(), flag) == of_jobs.end()) draft.flags.push_back(flag);
  }
  settle_variants(draft);
  return finish_study(std::move(draft));
}

}  // namespace assay
