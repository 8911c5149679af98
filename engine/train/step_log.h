#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/cuda.h"
#include "optim/optimizer.h"

namespace assay::engine {

enum class Phase { data, forward, backward, communication, optimizer };
constexpr std::size_t kPhases = 5;

struct StepLogOptions {
  at::Device device = at::kCPU;
  bool emits = true;          ///< rank 0 speaks for all
  bool communicates = false;  ///< more than one rank
  std::int64_t samples = 0;   ///< per step, all ranks together
  std::int64_t tokens = 0;    ///< 0: not a language model
};

/// What the steps took and brought, on its way to the protocol. On a GPU nothing waits for a step: times come from
/// events, losses from the ledger's ring, both read when they are long done, and leave as batched `steps` events.
class StepLog {
 public:
  StepLog(StepLedger& ledger, const StepLogOptions& options);

  /// The time until now belongs to no step (start, evaluation).
  void restart_clock();
  void begin(std::int64_t step, double learning_rate);
  /// What happened since the last mark belongs to `phase`.
  void mark(Phase phase);
  /// Host time that a GPU step spent waiting; CPU steps have it in their marks.
  void waited_for_data(double seconds);
  void end();

  /// Emits what is ready, at most a few times a second. Throws Failure `nan` when a loss is not finite,
  /// or without loss scaling a gradient norm.
  void poll();
  /// Waits for every step and emits it.
  void drain();

  const std::vector<float>& step_seconds() const { return all_seconds_; }
  double phase_seconds(Phase phase) const { return phase_totals_[static_cast<std::size_t>(phase)]; }
  /// Steps whose gradient was not finite; with loss scaling they were skipped.
  std::int64_t overflows() const { return overflows_; }
  /// Mean loss of the last `count` steps; of all since `forget_epoch` for the epoch.
  double recent_loss(std::size_t count) const;
  double epoch_loss() const;
  void forget_epoch();
  /// Seconds from the start of the process, by its own clock.
  static double now();

 private:
  struct Mark {
    Phase phase;
    TimePoint time;
  };
  struct Record {
    std::int64_t step = 0;
    double learning_rate = 0;
    double data_wait = 0;
    double begun_at = 0;       // host
    bool after_pause = false;  // its time counts from `start`, not from the step before
    TimePoint start;
    std::vector<Mark> marks;
  };

  void take_snapshot();
  void emit_snapshot();
  void emit(const std::vector<Record*>& records, const float* ring);
  TimePoint fresh_time_point();

  StepLedger& ledger_;
  const StepLogOptions options_;
  const bool on_device_;
  std::deque<Record> open_;  // not emitted yet
  std::vector<TimePoint> spare_;
  std::vector<std::vector<Mark>> spare_marks_;
  bool paused_ = true;
  TimePoint clock_start_;
  TimePoint last_end_;  // of the last emitted step
  std::size_t in_snapshot_ = 0;
  at::Tensor snapshot_;
  TimePoint snapshot_done_;
  double last_flush_ = 0;
  std::vector<float> all_seconds_;
  std::array<double, kPhases> phase_totals_{};
  std::deque<double> recent_losses_;
  double epoch_sum_ = 0;
  std::int64_t epoch_steps_ = 0;
  std::int64_t overflows_ = 0;
};

}  // namespace assay::engine
