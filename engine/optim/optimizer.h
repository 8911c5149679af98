#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "core/parameters.h"
#include "formats/train_spec.h"
#include "kernels/adam_update.h"

namespace assay::engine {

/// The learning rate of each step: warm-up, then the schedule over the steps that remain. `total_steps` 0: not known (a
/// run limited by time), then linear and cosine stay at the full rate.
double learning_rate_at(const TrainSpec& spec, std::int64_t step, std::int64_t total_steps);

/// Updates arenas in place from their gradients. Values of a step come from a tensor of StepValues (4 floats) on the
/// parameters' device, so that a recorded step can be replayed with new ones.
class ParameterUpdate {
 public:
  virtual ~ParameterUpdate() = default;
  virtual void apply(const at::Tensor& values) = 0;
  /// Bytes of its states, on the device and in page-locked host memory.
  virtual std::int64_t device_bytes() const = 0;
  virtual std::int64_t host_bytes() const = 0;
};

std::unique_ptr<ParameterUpdate> make_update(const TrainSpec& spec, std::vector<Arena>& arenas);

/// Step by step: how large the gradient was, what the step's values are, what came of it. Keeps the last `window` steps
/// in device memory, so that nothing has to be read back while the GPU works.
class StepLedger {
 public:
  StepLedger(std::int64_t window, double clip, bool loss_scaling, at::Device device);

  std::int64_t window() const { return window_; }
  /// The learning rates of the steps first … first + learning_rates.size(), before they run.
  void plan(std::int64_t first, const std::vector<float>& learning_rates);

  /// In a step, after the backward pass: the norm over all arenas, and this step's values.
  const at::Tensor& begin_update(const std::vector<Arena>& arenas);
  /// Last in a step: notes loss and norm, moves on to the next one. The norm is that of the reduced gradients, alike on
  /// every rank: so is the loss scale that it decides about (see LossScale).
  void end_step(const at::Tensor& loss);

  /// The place of the next step in the ring, int64 (1) on the device.
  const at::Tensor& place() const { return place_; }
  /// (window, 2): loss and gradient norm of the step in that place.
  const at::Tensor& ring() const { return ring_; }

  /// fp16: what the loss is multiplied by. Undefined without loss scaling.
  const at::Tensor& loss_scale() const { return loss_scale_; }

 private:
  void move_loss_scale(const at::Tensor& norm);
  LossScale* scaling_on_device() const;

  std::int64_t window_;
  double clip_;
  at::Tensor rates_;    // (window)
  at::Tensor values_;   // a StepValues
  at::Tensor applied_;  // int64 (1): steps that were not skipped
  at::Tensor place_;
  at::Tensor ring_;
  at::Tensor norm_squared_;
  at::Tensor partial_;
  at::Tensor scaling_;     // a LossScale
  at::Tensor loss_scale_;  // view of its first number
};

}  // namespace assay::engine
