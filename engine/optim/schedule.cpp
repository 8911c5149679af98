#include <cmath>
#include <numbers>

#include "optim/optimizer.h"

namespace assay::engine {

double learning_rate_at(const TrainSpec& spec, std::int64_t step, std::int64_t total_steps) {
  if (step < spec.warmup_steps) {
    return spec.learning_rate * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  }
  if (spec.schedule == Schedule::constant || total_steps <= spec.warmup_steps) return spec.learning_rate;
  const double progress = std::min(
      1.0, static_cast<double>(step - spec.warmup_steps) / static_cast<double>(total_steps - spec.warmup_steps));
  if (spec.schedule == Schedule::linear) return spec.learning_rate * (1 - progress);
  return spec.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace assay::engine
