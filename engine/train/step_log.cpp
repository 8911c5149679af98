#include "train/step_log.h"

#include <ATen/ATen.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cmath>

#include "formats/events.h"
#include "formats/failure.h"
#include "train/host_memory.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr double kFlushSeconds = 0.25;
constexpr std::size_t kLossesKept = 100;
constexpr std::array<const char*, kPhases> kPhaseNames = {"data_seconds", "forward_seconds", "backward_seconds",
                                                          "communication_seconds", "optimizer_seconds"};

const auto kProcessStart = std::chrono::steady_clock::now();

json::value finite_or_null(double value) { return std::isfinite(value) ? json::value(value) : json::value(nullptr); }

}  // namespace

double StepLog::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - kProcessStart).count();
}

StepLog::StepLog(StepLedger& ledger, const StepLogOptions& options)
    : ledger_(ledger), options_(options), on_device_(options.device.is_cuda()), last_flush_(now()) {
  snapshot_ = at::empty({ledger.window(), 2}, at::TensorOptions().dtype(at::kFloat).pinned_memory(on_device_));
}

TimePoint StepLog::fresh_time_point() {
  if (spare_.empty()) return {};
  TimePoint point = std::move(spare_.back());
  spare_.pop_back();
  return point;
}

void StepLog::restart_clock() { paused_ = true; }

void StepLog::begin(std::int64_t step, double learning_rate) {
  // The ring has one place per step of the window: none may be overwritten before it was read.
  if (static_cast<std::int64_t>(open_.size()) >= ledger_.window() - 1) drain();
  Record record;
  record.step = step;
  record.learning_rate = learning_rate;
  record.begun_at = now();
  record.after_pause = paused_;
  if (paused_) {
    record.start = fresh_time_point();
    record.start.record(on_device_);
  }
  if (!spare_marks_.empty()) {
    record.marks = std::move(spare_marks_.back());
    spare_marks_.pop_back();
  }
  paused_ = false;
  open_.push_back(std::move(record));
}

void StepLog::mark(Phase phase) {
  auto& marks = open_.back().marks;
  marks.push_back({phase, fresh_time_point()});
  marks.back().time.record(on_device_);
}

void StepLog::waited_for_data(double seconds) { open_.back().data_wait += seconds; }

void StepLog::end() {
  if (open_.back().marks.empty()) mark(Phase::optimizer);
}

void StepLog::poll() {
  if (in_snapshot_ > 0) {
    if (!snapshot_done_.reached()) return;
    emit_snapshot();
  }
  if (!open_.empty() && now() - last_flush_ >= kFlushSeconds) take_snapshot();
  if (in_snapshot_ > 0 && !on_device_) emit_snapshot();
}

void StepLog::drain() {
  if (in_snapshot_ > 0) emit_snapshot();
  if (open_.empty()) return;
  take_snapshot();
  emit_snapshot();
}

void StepLog::take_snapshot() {
  snapshot_.copy_(ledger_.ring(), true);
  snapshot_done_.record(on_device_);
  in_snapshot_ = open_.size();
  last_flush_ = now();
}

void StepLog::emit_snapshot() {
  snapshot_done_.wait();
  std::vector<Record*> records;
  for (std::size_t i = 0; i < in_snapshot_; ++i) records.push_back(&open_[i]);
  in_snapshot_ = 0;
  emit(records, snapshot_.data_ptr<float>());
  for (std::size_t i = 0; i < records.size(); ++i) {
    Record& record = open_.front();
    // The end of this step is where the next one's time begins.
    std::swap(last_end_, record.marks.back().time);
    for (auto& mark : record.marks) spare_.push_back(std::move(mark.time));
    if (record.after_pause) spare_.push_back(std::move(record.start));
    record.marks.clear();
    spare_marks_.push_back(std::move(record.marks));
    open_.pop_front();
  }
}

void StepLog::emit(const std::vector<Record*>& records, const float* ring) {
  json::array losses, perplexities, norms, rates, seconds_list, samples, tokens, times;
  std::array<json::array, kPhases> phases;
  const TimePoint* previous = &last_end_;
  std::int64_t failed_step = -1;
  const char* failed = "";
  // With loss scaling a gradient that is not finite is expected now and then, and its step is left out.
  const bool may_overflow = ledger_.loss_scale().defined();
  // All alike: the trainer drains before it begins to replay recorded steps, which have one mark, at their end.
  const bool has_split = !records.empty() && records.front()->marks.size() > 1;
  for (auto* record : records) {
    const auto* values = ring + record->step % ledger_.window() * 2;
    const TimePoint* begin = record->after_pause ? &record->start : previous;
    const TimePoint& end = record->marks.back().time;
    const double seconds = end.seconds_since(*begin);
    const double loss = values[0];
    std::array<double, kPhases> split{};
    const TimePoint* from = begin;
    for (const auto& mark : record->marks) {
      split[static_cast<std::size_t>(mark.phase)] += mark.time.seconds_since(*from);
      from = &mark.time;
    }
    if (on_device_) split[static_cast<std::size_t>(Phase::data)] = record->data_wait;
    for (std::size_t i = 0; i < kPhases; ++i) {
      if (i > 0 && !has_split) break;
      phase_totals_[i] += split[i];
      phases[i].push_back(split[i]);
    }
    all_seconds_.push_back(static_cast<float>(seconds));
    recent_losses_.push_back(loss);
    if (recent_losses_.size() > kLossesKept) recent_losses_.pop_front();
    epoch_sum_ += loss;
    ++epoch_steps_;
    if (!std::isfinite(values[1])) ++overflows_;
    const bool norm_fails = !std::isfinite(values[1]) && !may_overflow;
    if (failed_step < 0 && (!std::isfinite(loss) || norm_fails)) {
      failed_step = record->step;
      failed = std::isfinite(loss) ? "the gradient's norm" : "the loss";
    }
    losses.push_back(finite_or_null(loss));
    perplexities.push_back(finite_or_null(std::exp(loss)));
    norms.push_back(finite_or_null(values[1]));
    rates.push_back(record->learning_rate);
    seconds_list.push_back(seconds);
    samples.push_back(static_cast<double>(options_.samples) / seconds);
    tokens.push_back(static_cast<double>(options_.tokens) / seconds);
    times.push_back(record->begun_at + seconds);
    previous = &end;
  }
  if (options_.emits && !records.empty()) {
    json::object event{{"first", records.front()->step},
                       {"t", std::move(times)},
                       {"loss", std::move(losses)},
                       {"learning_rate", std::move(rates)},
                       {"grad_norm", std::move(norms)},
                       {"step_seconds", std::move(seconds_list)},
                       {"samples_per_second", std::move(samples)}};
    if (options_.tokens > 0) {
      event["perplexity"] = std::move(perplexities);
      event["tokens_per_second"] = std::move(tokens);
    }
    for (std::size_t i = 0; i < kPhases; ++i) {
      if (i == static_cast<std::size_t>(Phase::communication) && !options_.communicates) continue;
      if (has_split || i == 0) event[kPhaseNames[i]] = std::move(phases[i]);
    }
    event["host_rss_bytes"] = resident_bytes();
    if (on_device_) {
      const DeviceMemory memory = device_memory(options_.device);
      event["gpu_memory_bytes"] = memory.allocated_bytes;
      event["gpu_memory_reserved_bytes"] = memory.reserved_bytes;
      event["gpu_memory_peak_bytes"] = memory.peak_bytes;
    }
    emit_event("steps", event);
  }
  if (failed_step >= 0) {
    throw Failure("nan", std::string(failed) + " is not a finite number at step " + std::to_string(failed_step),
                  "Try a smaller learning_rate, gradient_clipping: 1.0, or precision bf16 or fp32.");
  }
}

double StepLog::recent_loss(std::size_t count) const {
  const std::size_t used = std::min(count, recent_losses_.size());
  double sum = 0;
  for (std::size_t i = recent_losses_.size() - used; i < recent_losses_.size(); ++i) sum += recent_losses_[i];
  return used == 0 ? std::nan("") : sum / static_cast<double>(used);
}

double StepLog::epoch_loss() const {
  return epoch_steps_ == 0 ? std::nan("") : epoch_sum_ / static_cast<double>(epoch_steps_);
}

void StepLog::forget_epoch() {
  epoch_sum_ = 0;
  epoch_steps_ = 0;
}

}  // namespace assay::engine
