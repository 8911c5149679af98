#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <boost/json/array.hpp>
#include <cmath>
#include <iostream>
#include <numeric>

#include "core/blas.h"
#include "core/torch_compat.h"
#include "core/torch_facts.h"
#include "formats/events.h"
#include "formats/failure.h"
#include "train/batch_estimate.h"
#include "train/host_memory.h"
#include "train/throughput.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr std::int64_t kWindow = 1024;
constexpr std::int64_t kHeldBatches = 4;
constexpr std::int64_t kEagerSteps = 4;  // before a step may be recorded: allocations and algorithms settle
constexpr double kLaunchBound = 0.6;     // host time over step time from which recording pays
constexpr std::int64_t kResidentBytes = 256 << 20;
constexpr std::int64_t kSmallEvaluation = 1024;  // rows at a time for vectors
// Below this many operations a batch, threads cost more in waiting for each other than they save.
constexpr double kWorthThreads = 1e8;

json::value number(double value) { return std::isfinite(value) ? json::value(value) : json::value(nullptr); }

std::int64_t evaluation_rows(const TrainSpec& spec, const DataShape& shape) {
  return shape.kind == DataShape::Kind::vectors ? std::max(spec.batch_size, kSmallEvaluation) : spec.batch_size;
}

Batch to_device(const Batch& batch, at::Device device) {
  if (!device.is_cuda()) return batch;
  return {batch.inputs.to(device, true), batch.targets.to(device, true)};
}

}  // namespace

std::int64_t first_profiled_step(std::int64_t profile_steps, std::int64_t total_steps) {
  if (total_steps == 0) return kEagerSteps;
  return std::min(kEagerSteps, std::max<std::int64_t>(0, total_steps - profile_steps));
}

Trainer::Trainer(const TrainSpec& spec, const Workplace& place)
    : spec_(spec),
      place_(place),
      group_(*place.group),
      on_device_(place.device.is_cuda()),
      started_(StepLog::now()),
      dataset_(make_dataset(spec, vocabulary_of(spec.model))),
      training_samples_(dataset_->training_samples(spec.dataset.validation)),
      order_(spec.seed, training_samples_, spec.batch_size * spec.gradient_accumulation * group_.size()),
      step_(spec, dataset_->shape(), place.device, group_, kWindow),
      log_(step_.ledger(), {.device = place.device,
                            .emits = group_.rank() == 0,
                            .communicates = group_.size() > 1,
                            .samples = order_.global_batch(),
                            .tokens = dataset_->shape().seq_length * order_.global_batch()}),
      total_steps_(planned_steps()) {
  refuse_too_large_batch(spec, step_.model(), dataset_->shape(), place.device);
  const double flops = training_flops(step_.model().forward_flops()) * static_cast<double>(spec.batch_size);
  if (!on_device_ && flops < kWorthThreads) {
    at::set_num_threads(1);
    set_blas_threads(1);
  }
  if (dataset_->validation_samples(spec.dataset.validation) > 0) {
    validation_ = std::make_unique<EvaluationReader>(
        *dataset_, EvaluationReader::Options{.validation_share = spec.dataset.validation,
                                             .rank = group_.rank(),
                                             .ranks = group_.size(),
                                             .rows = evaluation_rows(spec, dataset_->shape()),
                                             .pinned = on_device_});
  }
  loader_ = std::make_unique<Loader>(*dataset_, order_,
                                     LoaderOptions{.rank = group_.rank(),
                                                   .ranks = group_.size(),
                                                   .rows = spec.batch_size,
                                                   .micro_batches = spec.gradient_accumulation,
                                                   .workers = spec.data_workers,
                                                   .prefetch = spec.data_prefetch,
                                                   .held = spec.gradient_accumulation + (on_device_ ? kHeldBatches : 0),
                                                   .pinned = on_device_});
}

Trainer::~Trainer() = default;

std::int64_t Trainer::planned_steps() const {
  if (spec_.steps) return *spec_.steps;
  if (spec_.duration_seconds) return 0;
  return spec_.epochs * order_.steps_per_epoch();
}

void Trainer::say_hello() {
  if (group_.rank() != 0) return;
  const CudaFacts cuda = cuda_facts();
  json::array devices;
  if (on_device_) {
    const auto& device = cuda.devices.at(static_cast<std::size_t>(place_.device.index()));
    devices.push_back(json::object{{"name", device.name}, {"uuid", device.uuid}});
  } else {
    devices.push_back(json::object{{"name", "CPU"}, {"threads", at::get_num_threads()}});
  }
  json::object versions{{"engine", ASSAY_ENGINE_VERSION}, {"torch", torch_version()}};
  if (on_device_) versions["cuda"] = cuda.toolkit;
  json::object hello{{"name", spec_.name},
                     {"versions", std::move(versions)},
                     {"devices", std::move(devices)},
                     {"parameters", step_.model().parameters().count()},
                     {"trainable_parameters", step_.model().parameters().trainable_count()},
                     {"flops_per_sample", training_flops(step_.model().forward_flops())},
                     {"model", spec_.model.name},
                     {"dataset", dataset_->description()},
                     {"ranks", group_.size()}};
  if (total_steps_ > 0) hello["total_steps"] = total_steps_;
  emit_event("hello", hello);
  if (order_.repeats_within_batch()) {
    emit_event("warning",
               {{"kind", "repeated_samples"},
                {"about", "batch_size"},
                {"message", "a step takes " + std::to_string(order_.global_batch()) + " samples and the data set has " +
                                std::to_string(training_samples_) + ": samples repeat within a step"}});
  }
  if (place_.oversubscribed) {
    emit_event("warning", {{"kind", "oversubscribed"},
                           {"about", "ranks"},
                           {"message", "more ranks than CPU cores: ranks wait for each other's cores"}});
  }
}

void Trainer::run() {
  say_hello();
  if (group_.rank() == 0) emit_event("phase", {{"name", "train"}});
  std::int64_t step = 0;
  while (!is_over(step)) {
    begin_trace(step);
    if (step % (kWindow / 2) == 0) plan_window(step);
    one_step(step);
    ++step;
    if (step == first_profiled_step(spec_.profile_steps, total_steps_) + spec_.profile_steps) end_trace();
    after_step(step);
  }
  end_trace();
  log_.drain();
  if (last_evaluated_ != step) report_progress(step, true, false);
  report_result(step);
}

void Trainer::begin_trace(std::int64_t step) {
  if (spec_.profile_steps == 0 || group_.rank() != 0) return;
  if (step == first_profiled_step(spec_.profile_steps, total_steps_)) trace_ = std::make_unique<Trace>(on_device_);
}

void Trainer::end_trace() {
  if (!trace_) return;
  synchronize(place_.device);
  trace_->write(place_.trace_path);
  trace_.reset();
  has_trace_ = true;
}

bool Trainer::is_over(std::int64_t step) {
  if (!spec_.duration_seconds) return step >= total_steps_;
  if (step < next_check_) return false;
  // Rank 0's clock decides for all; it is asked about twice a second.
  const double elapsed = StepLog::now() - started_;
  const double per_step = elapsed / static_cast<double>(std::max<std::int64_t>(step, 1));
  const std::int64_t ahead = std::clamp<std::int64_t>(std::llround(0.5 / per_step), 1, kWindow / 2);
  const json::object mine{{"over", elapsed >= *spec_.duration_seconds}, {"next", step + ahead}};
  const json::value decision = group_.gather(mine).front();
  next_check_ = decision.at("next").to_number<std::int64_t>();
  return decision.at("over").as_bool();
}

void Trainer::plan_window(std::int64_t step) {
  std::vector<float> rates;
  for (std::int64_t i = step; i < step + kWindow / 2; ++i) {
    rates.push_back(static_cast<float>(learning_rate_at(spec_, i, total_steps_)));
  }
  step_.ledger().plan(step, rates);
  if (resident_.inputs.defined()) plan_resident(step);
}

void Trainer::one_step(std::int64_t step) {
  if (step == kEagerSteps) consider_recording(step);
  log_.begin(step, learning_rate_at(spec_, step, total_steps_));
  if (recorded_) {
    if (!resident_.inputs.defined()) load_batches();
    recorded_->replay();
  } else {
    load_batches();
    const double begun = StepLog::now();
    step_.run(batches_, &log_);
    if (step > 0) eager_host_seconds_ += StepLog::now() - begun;
  }
  log_.end();
}

void Trainer::load_batches() {
  const double begun = StepLog::now();
  recycle(false);
  std::vector<Loader::Loaded> loaded;
  for (std::int64_t i = 0; i < spec_.gradient_accumulation; ++i) {
    if (static_cast<std::int64_t>(pending_.size()) >= kHeldBatches) recycle(true);
    loaded.push_back(loader_->next());
  }
  if (on_device_) log_.waited_for_data(StepLog::now() - begun);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (recorded_) {
      batches_[i].inputs.copy_(loaded[i].batch.inputs, true);
      batches_[i].targets.copy_(loaded[i].batch.targets, true);
    } else {
      batches_.resize(loaded.size());
      batches_[i] = to_device(loaded[i].batch, place_.device);
    }
    pending_.push_back({loaded[i], TimePoint()});
    pending_.back().copied.record(on_device_);
  }
}

void Trainer::recycle(bool wait) {
  // On the CPU the step works in the loader's memory: a batch is free once the next one is asked for.
  while (!pending_.empty() && (wait || pending_.front().copied.reached())) {
    pending_.front().copied.wait();
    loader_->recycle(pending_.front().loaded);
    pending_.pop_front();
    wait = false;
  }
}

void Trainer::consider_recording(std::int64_t step) {
  const bool possible = on_device_ && group_.size() == 1 && spec_.profile_steps == 0 && step_.model().can_be_recorded();
  if (spec_.cuda_graphs == Switch::on && !possible) {
    throw Failure("unsupported", "cuda_graphs: on is not possible here",
                  "It needs one rank on a GPU, no dropout and no profile; `auto` records where it can.");
  }
  if (!possible || spec_.cuda_graphs == Switch::off) return;
  log_.drain();
  double device_seconds = 0;
  for (std::size_t i = 1; i < log_.step_seconds().size(); ++i) device_seconds += log_.step_seconds()[i];
  if (spec_.cuda_graphs == Switch::automatic && eager_host_seconds_ < kLaunchBound * device_seconds) return;
  recorded_from_ = step;
  try {
    record_step();
  } catch (const std::exception& error) {
    if (spec_.cuda_graphs == Switch::on || is_out_of_memory(error)) throw;
    std::cerr << "assay-engine: a step could not be recorded as a CUDA graph, going on without: "
              << brief_message(error) << '\n';
    resident_ = {};
  }
}

void Trainer::record_step() {
  // From here on a step reads its batches from the same memory every time.
  const DataShape& shape = dataset_->shape();
  if (shape.bytes_per_sample() * dataset_->samples() <= kResidentBytes) {
    resident_ = to_device(load_all(*dataset_), place_.device);
    const std::int64_t rows = spec_.batch_size * spec_.gradient_accumulation;
    resident_order_ = at::zeros({kWindow, rows}, at::TensorOptions().dtype(at::kLong).device(place_.device));
    plan_resident(recorded_from_);
  } else {
    for (auto& batch : batches_) batch = {batch.inputs.clone(), batch.targets.clone()};
  }
  recycle(true);
  synchronize(place_.device);
  auto recording = std::make_unique<RecordedStep>();
  recording->record([this] {
    if (resident_.inputs.defined()) fetch_resident_batch();
    step_.run(batches_, nullptr);
  });
  recorded_ = std::move(recording);
}

void Trainer::fetch_resident_batch() {
  const at::Tensor rows = resident_order_.index_select(0, step_.ledger().place()).squeeze(0);
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    const at::Tensor own = rows.narrow(0, static_cast<std::int64_t>(i) * spec_.batch_size, spec_.batch_size);
    batches_[i] = {resident_.inputs.index_select(0, own), resident_.targets.index_select(0, own)};
  }
}

void Trainer::plan_resident(std::int64_t step) {
  const std::int64_t rows = resident_order_.size(1);
  const at::Tensor host = at::empty({kWindow, rows}, at::kLong);
  host.copy_(resident_order_);
  // From a window's boundary half a window ahead; in between, to the end of the half.
  const std::int64_t last = (step / (kWindow / 2) + 1) * (kWindow / 2);
  for (std::int64_t i = step; i < last; ++i) {
    auto* row = host.data_ptr<std::int64_t>() + i % kWindow * rows;
    order_.indices(i, 0, {row, static_cast<std::size_t>(rows)});
  }
  resident_order_.copy_(host);
}

void Trainer::after_step(std::int64_t done) {
  log_.poll();
  const bool epoch_ends = done % order_.steps_per_epoch() == 0;
  const bool due = spec_.eval_interval > 0 ? done % spec_.eval_interval == 0 : epoch_ends;
  if (due || epoch_ends) report_progress(done, due, epoch_ends);
}

at::Tensor Trainer::score_validation_data(std::int64_t count) {
  validation_->rewind(count);
  return step_.score([this]() -> std::optional<Batch> {
    synchronize(place_.device);  // the reader reuses its buffer
    const auto batch = validation_->next();
    if (!batch) return std::nullopt;
    return to_device(*batch, place_.device);
  });
}

/// Of the first `count` training samples; this rank reads its part.
at::Tensor Trainer::score_training_data(std::int64_t count) {
  Batch batch = allocate_batch(dataset_->shape(), spec_.batch_size, false);
  std::int64_t next = count * group_.rank() / group_.size();
  const std::int64_t end = count * (group_.rank() + 1) / group_.size();
  return step_.score([&]() -> std::optional<Batch> {
    if (next >= end) return std::nullopt;
    std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(spec_.batch_size, end - next)));
    std::iota(indices.begin(), indices.end(), next);
    const auto rows = static_cast<std::int64_t>(indices.size());
    dataset_->fill(indices, batch);
    next += rows;
    return to_device({batch.inputs.narrow(0, 0, rows), batch.targets.narrow(0, 0, rows)}, place_.device);
  });
}

std::optional<Trainer::Scores> Trainer::evaluate(bool on_training_data) {
  // No more samples than the validation share of what was learnt from: a short run is not followed by a long
  // evaluation. Which ones does not depend on the number of ranks.
  const double seen = static_cast<double>(log_.step_seconds().size()) * static_cast<double>(order_.global_batch());
  const double share = spec_.dataset.validation / (1 - spec_.dataset.validation);
  const std::int64_t most = std::max<std::int64_t>(1, std::llround(seen * share));
  const at::Tensor sums = on_training_data
                              ? score_training_data(std::min({validation_->samples(), training_samples_, most}))
                              : score_validation_data(most);
  const at::Tensor total = sums.to(at::kCPU, at::kDouble);
  const auto* values = total.data_ptr<double>();
  if (values[2] == 0) return std::nullopt;
  return Scores{values[0] / values[2], values[1] / values[2]};
}

void Trainer::report_progress(std::int64_t done, bool evaluates, bool epoch_ends) {
  log_.drain();
  json::object scores;
  if (evaluates && validation_) {
    if (const auto found = evaluate(false)) {
      scores["val_loss"] = number(found->loss);
      scores["val_accuracy"] = found->accuracy;
      if (spec_.is_language()) scores["val_perplexity"] = number(std::exp(found->loss));
    }
    if (spec_.task == Task::classification) {
      if (const auto found = evaluate(true)) scores["accuracy"] = found->accuracy;
    }
  }
  if (evaluates) {
    last_evaluated_ = done;
    last_scores_ = scores;
  }
  if (group_.rank() == 0) {
    if (!scores.empty()) {
      json::object event{{"step", done - 1}};
      event.insert(scores.begin(), scores.end());
      emit_event("eval", event);
    }
    if (epoch_ends) {
      json::object event{{"epoch", done / order_.steps_per_epoch()}, {"loss", number(log_.epoch_loss())}};
      if (spec_.is_language()) event["perplexity"] = number(std::exp(log_.epoch_loss()));
      event.insert(scores.begin(), scores.end());
      emit_event("epoch", event);
    }
  }
  if (epoch_ends) log_.forget_epoch();
  // The time of an evaluation belongs to no step; what the end of an epoch costs belongs to the next one.
  if (evaluates) log_.restart_clock();
}

boost::json::object Trainer::rank_spread() {
  const auto& seconds = log_.step_seconds();
  double total = 0;
  for (const float step : seconds) total += step;
  const double busy = total - log_.phase_seconds(Phase::communication);
  const auto steps = static_cast<double>(std::max<std::size_t>(1, seconds.size()));
  const DeviceMemory memory = device_memory(place_.device);
  const json::object mine{{"busy", busy / steps}, {"rss", peak_resident_bytes()}, {"gpu", memory.peak_bytes}};
  const auto ranks = group_.gather(mine);
  const auto range = [&](const char* name) {
    std::pair<double, double> found{ranks[0].at(name).to_number<double>(), 0};
    for (const auto& rank : ranks) {
      const double value = rank.at(name).to_number<double>();
      found = {std::min(found.first, value), std::max(found.second, value)};
    }
    return found;
  };
  json::object spread{{"host_rss_peak_bytes", range("rss").second}};
  if (on_device_) spread["gpu_memory_peak_bytes"] = range("gpu").second;
  if (ranks.size() > 1) {
    spread["rank_busy_seconds_min"] = range("busy").first;
    spread["rank_busy_seconds_max"] = range("busy").second;
    const auto bytes = range(on_device_ ? "gpu" : "rss");
    spread["rank_memory_bytes_min"] = bytes.first;
    spread["rank_memory_bytes_max"] = bytes.second;
  }
  return spread;
}

void Trainer::report_result(std::int64_t done) {
  json::object metrics = rank_spread();
  if (group_.rank() != 0) return;
  const auto& seconds = log_.step_seconds();
  double total = 0;
  for (const float step : seconds) total += step;
  const auto least = static_cast<std::size_t>(recorded_ ? recorded_from_ + 1 : std::min<std::int64_t>(3, done / 4));
  const SteadyState steady = steady_state(seconds, least);
  const auto samples = static_cast<double>(order_.global_batch());
  const auto tokens = static_cast<double>(dataset_->shape().seq_length) * samples;
  metrics["steps_done"] = done;
  metrics["samples_done"] = samples * static_cast<double>(done);
  metrics["train_seconds"] = total;
  metrics["warmup_steps_left_out"] = steady.warm_up_steps;
  metrics["step_seconds"] = steady.step_seconds;
  metrics["samples_per_second"] = samples / steady.step_seconds;
  if (steady.low) {
    metrics["samples_per_second_low"] = samples / *steady.high;
    if (*steady.low > 0) metrics["samples_per_second_high"] = samples / *steady.low;
  }
  if (tokens > 0) {
    metrics["tokens_done"] = tokens * static_cast<double>(done);
    metrics["tokens_per_second"] = tokens / steady.step_seconds;
  }
  const double flops = training_flops(step_.model().forward_flops()) * samples / steady.step_seconds;
  metrics["flops_per_second"] = flops;
  if (place_.peak_flops > 0) {
    metrics["peak_flops_per_second"] = place_.peak_flops * group_.size();
    metrics["mfu"] = flops / (place_.peak_flops * group_.size());
  }
  if (spec_.scales_loss()) {
    metrics["skipped_steps"] = log_.overflows();
    metrics["loss_scale"] = step_.ledger().loss_scale().item<double>();
  }
  metrics["final_loss"] = number(log_.recent_loss(20));
  if (const auto floor = dataset_->loss_floor()) metrics["loss_floor"] = *floor;
  if (total > 0) {
    metrics["input_wait_share"] = log_.phase_seconds(Phase::data) / total;
    if (group_.size() > 1) metrics["communication_share"] = log_.phase_seconds(Phase::communication) / total;
  }
  metrics.insert(last_scores_.begin(), last_scores_.end());
  json::array flags;
  if (spec_.profile_steps > 0) {
    const std::string told = has_trace_
                                 ? "some steps were recorded as a trace, which makes them slower: " + place_.trace_path
                                 : "the run was over before the first step that a trace would have shown";
    const char* kind = has_trace_ ? "profiled" : "not_profiled";
    flags.push_back(json::object{{"kind", kind}, {"about", "profile"}, {"message", told}});
  }
  emit_event("result", {{"metrics", std::move(metrics)}, {"flags", std::move(flags)}});
}

}  // namespace assay::engine
