#include <ATen/ATen.h>

#include <cmath>

#include "core/cuda.h"
#include "optim/optimizer.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kPartialSums = 1024;

static_assert(sizeof(StepValues) == 4 * sizeof(float), "a row of the table is a StepValues");
static_assert(sizeof(LossScale) == 2 * sizeof(float), "the state of the loss scale is a LossScale");

}  // namespace

StepLedger::StepLedger(std::int64_t window, double clip, bool loss_scaling, at::Device device)
    : window_(window), clip_(clip) {
  const auto floats = at::TensorOptions().dtype(at::kFloat).device(device);
  table_ = at::zeros({window, 4}, floats);
  values_ = at::zeros({4}, floats);
  place_ = at::zeros({1}, floats.dtype(at::kLong));
  ring_ = at::zeros({window, 2}, floats);
  norm_squared_ = at::zeros({1}, floats);
  partial_ = at::zeros({kPartialSums}, floats);
  if (loss_scaling) {
    scaling_ = at::tensor({LossScale::kFirst, 0.0F}, at::kFloat).to(device);
    loss_scale_ = scaling_.narrow(0, 0, 1);
  }
}

void StepLedger::plan(std::int64_t first, const std::vector<StepValues>& rows) {
  const at::Tensor host = at::empty({window_, 4}, at::kFloat);
  host.copy_(table_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto* row = host.data_ptr<float>() + (first + static_cast<std::int64_t>(i)) % window_ * 4;
    row[0] = rows[i].learning_rate;
    row[1] = rows[i].bias1;
    row[2] = rows[i].bias2;
    row[3] = 1;
  }
  table_.copy_(host);
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
    kernels::begin_update(reinterpret_cast<const StepValues*>(table_.data_ptr<float>()),
                          place_.data_ptr<std::int64_t>(), norm_squared_.data_ptr<float>(), scaling_on_device(),
                          static_cast<float>(clip_), reinterpret_cast<StepValues*>(values_.data_ptr<float>()),
                          current_stream());
    return values_;
  }
#endif
  norm_squared_.zero_();
  for (const auto& arena : arenas) norm_squared_.add_(arena.grad.to(at::kFloat).square().sum());
  values_.copy_(table_.index_select(0, place_).squeeze(0));
  const at::Tensor unscale = loss_scale_.defined() ? loss_scale_.reciprocal() : at::ones_like(norm_squared_);
  const at::Tensor norm = norm_squared_.sqrt() * unscale;
  at::Tensor multiplier = unscale;
  if (clip_ > 0) multiplier = multiplier * (clip_ / (norm + 1e-6)).clamp_max(1);
  if (loss_scale_.defined()) multiplier = at::where(norm.isfinite(), multiplier, at::zeros_like(multiplier));
  values_.narrow(0, 3, 1).copy_(multiplier);
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
