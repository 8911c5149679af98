#include <ATen/ATen.h>

#include <cmath>

#include "core/cuda.h"
#include "optim/optimizer.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kPartialSums = 1024;

constexpr AdamSettings kAdam;

static_assert(sizeof(StepValues) == 4 * sizeof(float), "the values of a step are a StepValues");
static_assert(sizeof(LossScale) == 2 * sizeof(float), "the state of the loss scale is a LossScale");

/// As bias_correction, for devices without our kernels.
at::Tensor bias_corrections(float beta, const at::Tensor& t) {
  return (t * std::log1p(beta - 1.0)).expm1().neg().to(at::kFloat);
}

}  // namespace

StepLedger::StepLedger(std::int64_t window, double clip, bool loss_scaling, at::Device device)
    : window_(window), clip_(clip) {
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
  rates_ = at::zeros({window}, floats);
  values_ = at::zeros({4}, floats);
  applied_ = at::zeros({1}, floats.dtype(at::kLong));
  place_ = at::zeros({1}, floats.dtype(at::kLong));
  ring_ = at::zeros({window, 2}, floats);
  norm_squared_ = at::zeros({1}, floats);
  partial_ = at::zeros({kPartialSums}, floats);
  if (loss_scaling) {
    scaling_ = at::tensor({LossScale::kFirst, 0.0F}, at::kFloat).to(device);
    loss_scale_ = scaling_.narrow(0, 0, 1);
  }
}

void StepLedger::plan(std::int64_t first, const std::vector<float>& learning_rates) {
  const at::Tensor host = at::empty({window_}, at::kFloat);
  host.copy_(rates_);
  for (std::size_t i = 0; i < learning_rates.size(); ++i) {
    host.data_ptr<float>()[(first + static_cast<std::int64_t>(i)) % window_] = learning_rates[i];
  }
  rates_.copy_(host);
}

const at::Tensor& StepLedger::begin_update(const std::vector<Arena>& arenas) {
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(values_)) {
    bool add = false;
    for (const auto& arena : arenas) {
      kernels::sum_squares(arena.grad.data_ptr(), arena.grad.numel(), partial_.data_ptr<float>(), add,
                           norm_squared_.data_ptr<float>(), kernel_type(arena.grad), current_stream());
      add = true;
    }
    kernels::begin_update({.learning_rates = rates_.data_ptr<float>(),
                           .place = place_.data_ptr<std::int64_t>(),
                           .norm_squared = norm_squared_.data_ptr<float>(),
                           .loss_scale = scaling_on_device(),
                           .clip = static_cast<float>(clip_),
                           .adam = kAdam,
                           .applied = applied_.data_ptr<std::int64_t>(),
                           .values = reinterpret_cast<StepValues*>(values_.data_ptr<float>())},
                          current_stream());
    return values_;
  }
#endif
  norm_squared_.zero_();
  for (const auto& arena : arenas) norm_squared_.add_(arena.grad.to(at::kFloat).square().sum());
  const at::Tensor unscale = loss_scale_.defined() ? loss_scale_.reciprocal() : at::ones_like(norm_squared_);
  const at::Tensor norm = norm_squared_.sqrt() * unscale;
  at::Tensor multiplier = unscale;
  if (clip_ > 0) multiplier = multiplier * (clip_ / (norm + 1e-6)).clamp_max(1);
  // With loss scaling an overflow is expected now and then: that step is left out.
  const at::Tensor kept = loss_scale_.defined() ? norm.isfinite() : at::ones_like(norm, at::kBool);
  multiplier = at::where(kept, multiplier, at::zeros_like(multiplier));
  const at::Tensor t = (applied_ + 1).to(at::kDouble);
  at::cat_out(values_, {rates_.index_select(0, place_), bias_corrections(kAdam.beta1, t),
                        bias_corrections(kAdam.beta2, t), multiplier});
  applied_.add_(kept);
  return values_;
}

void StepLedger::end_step(const at::Tensor& loss) {
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(values_)) {
    kernels::end_step(loss.data_ptr<float>(), norm_squared_.data_ptr<float>(), scaling_on_device(),
                      ring_.data_ptr<float>(), place_.data_ptr<std::int64_t>(), window_, current_stream());
    return;
  }
#endif
  at::Tensor norm = norm_squared_.sqrt();
  if (loss_scale_.defined()) norm = norm / loss_scale_;
  ring_.index_copy_(0, place_, at::stack({loss.reshape({1}), norm}, 1));
  place_.add_(1).remainder_(window_);
  if (scaling_.defined()) move_loss_scale(norm);
}

/// As kernels::end_step does, for devices without our kernels.
void StepLedger::move_loss_scale(const at::Tensor& norm) {
  const at::Tensor state = scaling_.to(at::kCPU);
  auto* values = state.data_ptr<float>();
  const LossScale next = after_step({values[0], values[1]}, !std::isfinite(norm.item<float>()));
  values[0] = next.scale;
  values[1] = next.good_steps;
  scaling_.copy_(state);
}

LossScale* StepLedger::scaling_on_device() const {
  return scaling_.defined() ? reinterpret_cast<LossScale*>(scaling_.data_ptr<float>()) : nullptr;
}

}  // namespace assay::engine
