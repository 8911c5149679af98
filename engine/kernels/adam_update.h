#pragma once

#include <cmath>

#include "kernels/eight_bit.h"

namespace assay::engine {

/// What one optimiser step needs to know. On CUDA it lies in device memory, so that a recorded graph can be replayed
/// with new values.
struct StepValues {
  float learning_rate = 0;
  float bias1 = 1;       ///< 1 − β₁ᵗ, where t counts the steps that were not skipped, this one included
  float bias2 = 1;       ///< 1 − β₂ᵗ
  float multiplier = 1;  ///< of the gradient: clipping and loss scale; 0: the step is skipped
};

/// fp16: what the loss is multiplied by, and for how many steps in a row nothing has overflowed. Two floats in device
/// memory; every rank has the same, since every rank has the same gradient norm.
struct LossScale {
  static constexpr float kFirst = 65536;
  static constexpr float kLeast = 1;
  static constexpr float kMost = 16777216;
  static constexpr float kGoodStepsToGrow = 2000;

  float scale = kFirst;
  float good_steps = 0;
};

/// After a step: half the scale after an overflow, twice the scale after 2,000 good steps, as PyTorch's GradScaler.
ASSAY_HOST_DEVICE inline LossScale after_step(LossScale now, bool overflowed) {
  if (overflowed) return {now.scale * 0.5F < LossScale::kLeast ? LossScale::kLeast : now.scale * 0.5F, 0};
  if (now.good_steps + 1 < LossScale::kGoodStepsToGrow) return {now.scale, now.good_steps + 1};
  return {now.scale * 2 > LossScale::kMost ? LossScale::kMost : now.scale * 2, 0};
}

struct AdamSettings {
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0;
  bool decoupled = true;  ///< AdamW; false: the decay is part of the gradient
};

/// 1 − βᵗ. By functions that are exact for β close to 1 and that fast-math leaves alone.
ASSAY_HOST_DEVICE inline float bias_correction(float beta, float t) { return -expm1f(t * log1pf(beta - 1.0F)); }

/// One parameter, one step: the single definition that the CPU loops and the CUDA kernels share.
ASSAY_HOST_DEVICE inline void adam_update(float& parameter, float gradient, float& moment1, float& moment2,
                                          const StepValues& values, const AdamSettings& settings) {
  gradient *= values.multiplier;
  if (settings.decoupled) {
    parameter -= values.learning_rate * settings.weight_decay * parameter;
  } else {
    gradient += settings.weight_decay * parameter;
  }
  moment1 += (1.0F - settings.beta1) * (gradient - moment1);
  moment2 += (1.0F - settings.beta2) * (gradient * gradient - moment2);
  const float denominator = sqrtf(moment2 / values.bias2) + settings.epsilon;
  parameter -= values.learning_rate / values.bias1 * moment1 / denominator;
}

ASSAY_HOST_DEVICE inline void sgd_update(float& parameter, float gradient, const StepValues& values,
                                         float weight_decay) {
  parameter -= values.learning_rate * (gradient * values.multiplier + weight_decay * parameter);
}

}  // namespace assay::engine
