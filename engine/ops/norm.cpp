#include "ops/norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/cuda.h"
#include "core/torch_compat.h"

namespace assay::engine {
namespace {

constexpr double kBatchNormEpsilon = 1e-5;
constexpr double kBatchNormMomentum = 0.1;

/// The same from LibTorch's own operations, in fp32 as under autocast.
NormedResidual composed_norm(const at::Tensor& x, const at::Tensor& delta, const NormWeights& norm,
                             at::ScalarType format) {
  at::Tensor residual = delta.defined() ? x + delta : x;
  const at::Tensor exact = residual.to(at::kFloat);
  at::Tensor normed;
  if (norm.bias.defined()) {
    normed = at::layer_norm(exact, {x.size(-1)}, norm.weight, norm.bias, norm.epsilon);
  } else {
    normed = exact * at::rsqrt(exact.square().mean(-1, true) + norm.epsilon) * norm.weight;
  }
  return {std::move(residual), normed.to(format)};
}

at::Tensor composed_batch_norm(const at::Tensor& x, const BatchNormState& state, const at::Tensor& other, bool relu,
                               bool training) {
  at::Tensor y = at::batch_norm(x.to(at::kFloat), state.weight, state.bias, state.running_mean, state.running_variance,
                                training, kBatchNormMomentum, kBatchNormEpsilon, true)
                     .to(x.scalar_type());
  if (other.defined()) y = y + other;
  return relu ? at::relu(y) : y;
}

#ifdef ASSAY_ENGINE_KERNELS

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

float* floats(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }
void* data(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

bool keeps_sum(const at::Tensor& parameter) {
  return parameter.is_leaf() && parameter.grad().defined() && parameter.grad().scalar_type() == at::kFloat;
}

struct AddAndNorm : torch::autograd::Function<AddAndNorm> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x_given, const MaybeTensor& delta_given,
                               const at::Tensor& weight, const MaybeTensor& bias_given, double epsilon,
                               at::ScalarType format) {
    const at::Tensor x = x_given.contiguous();
    const at::Tensor delta = delta_given ? delta_given->contiguous() : at::Tensor();
    const at::Tensor bias = or_undefined(bias_given);
    const std::int64_t width = x.size(-1);
    const std::int64_t rows = x.numel() / width;
    const at::Tensor residual = delta.defined() ? at::empty_like(x) : x;
    const at::Tensor normed = at::empty(x.sizes(), x.options().dtype(format));
    const at::Tensor mean = bias.defined() ? at::empty({rows}, weight.options()) : at::Tensor();
    const at::Tensor rstd = at::empty({rows}, weight.options());
    kernels::norm_forward({.x = x.data_ptr(),
                           .delta = data(delta),
                           .weight = floats(weight),
                           .bias = floats(bias),
                           .residual = data(residual),
                           .normed = normed.data_ptr(),
                           .mean = floats(mean),
                           .rstd = floats(rstd),
                           .rows = rows,
                           .width = static_cast<int>(width),
                           .epsilon = static_cast<float>(epsilon),
                           .stream = kernel_type(x),
                           .type = kernel_type(normed)},
                          current_stream());
    context->save_for_backward({residual, weight, mean, rstd, bias});
    context->saved_data["has_delta"] = delta.defined();
    context->saved_data["weight_trains"] = weight.requires_grad();
    return {residual, normed};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& residual = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& mean = saved[2];
    const int width = static_cast<int>(residual.size(-1));
    const bool trains = context->saved_data["weight_trains"].toBool();
    const at::Tensor d_normed = gradients[1].contiguous();
    const at::Tensor d_residual = gradients[0].defined() ? gradients[0].contiguous() : at::Tensor();
    const bool has_delta = context->saved_data["has_delta"].toBool();
    const bool same_format = d_normed.scalar_type() == residual.scalar_type();
    const at::Tensor dx = at::empty_like(residual);
    const at::Tensor d_delta = has_delta && !same_format ? at::empty_like(d_normed) : at::Tensor();
    // Where parameters keep a sum of their gradients, it grows here, and autograd has nothing to add.
    const bool kept = trains && keeps_sum(weight) && (!mean.defined() || keeps_sum(saved[4]));
    const auto gradient_of = [&](const at::Tensor& parameter) {
      return kept ? parameter.grad() : at::empty_like(parameter);
    };
    const at::Tensor dweight = trains ? gradient_of(weight) : at::Tensor();
    const at::Tensor dbias = trains && mean.defined() ? gradient_of(saved[4]) : at::Tensor();
    const at::Tensor partial = at::empty({2, kernels::norm_partials(width), width}, weight.options());
    kernels::norm_backward({.d_normed = d_normed.data_ptr(),
                            .d_residual = data(d_residual),
                            .residual = residual.data_ptr(),
                            .weight = floats(weight),
                            .mean = floats(mean),
                            .rstd = floats(saved[3]),
                            .dx = dx.data_ptr(),
                            .d_delta = data(d_delta),
                            .dweight = floats(dweight),
                            .dbias = floats(dbias),
                            .add = kept,
                            .partial = floats(partial),
                            .rows = residual.numel() / width,
                            .width = width,
                            .stream = kernel_type(residual),
                            .type = kernel_type(d_normed)},
                           current_stream());
    return {dx,
            has_delta && same_format ? dx : d_delta,
            kept ? at::Tensor() : dweight,
            kept ? at::Tensor() : dbias,
            at::Tensor(),
            at::Tensor()};
  }
};

/// The channels-last memory of (N, C, H, W) as (N·H·W, C).
std::int64_t rows_of(const at::Tensor& x) { return x.numel() / x.size(1); }

struct FusedBatchNorm : torch::autograd::Function<FusedBatchNorm> {
  static variable_list forward(AutogradContext* context, const at::Tensor& x_given, const at::Tensor& weight,
                               const at::Tensor& bias, const MaybeTensor& other_given, const at::Tensor& running_mean,
                               const at::Tensor& running_variance, bool relu) {
    const at::Tensor x = x_given.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor other = other_given ? other_given->contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
    const at::Tensor y = at::empty_like(x);
    const at::Tensor mean = at::empty_like(weight);
    const at::Tensor rstd = at::empty_like(weight);
    const std::int64_t channels = x.size(1);
    const at::Tensor partial =
        at::empty({2, kernels::column_sum_splits(rows_of(x), channels), channels}, weight.options());
    kernels::batch_norm_forward({.x = x.data_ptr(),
                                 .other = data(other),
                                 .y = y.data_ptr(),
                                 .weight = floats(weight),
                                 .bias = floats(bias),
                                 .mean = floats(mean),
                                 .rstd = floats(rstd),
                                 .running_mean = floats(running_mean),
                                 .running_variance = floats(running_variance),
                                 .partial = floats(partial),
                                 .rows = rows_of(x),
                                 .channels = static_cast<int>(channels),
                                 .epsilon = static_cast<float>(kBatchNormEpsilon),
                                 .momentum = static_cast<float>(kBatchNormMomentum),
                                 .relu = relu,
                                 .type = kernel_type(x)},
                                current_stream());
    context->save_for_backward({x, relu ? y : at::Tensor(), weight, mean, rstd});
    context->saved_data["has_other"] = other.defined();
    context->set_materialize_grads(false);  // most are read under one name only
    return {y, y.variable_data()};          // the same memory under two names, with a gradient each
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    // Whichever of the two has a gradient; where both do, the kernel adds them.
    const bool both = gradients[0].defined() && gradients[1].defined();
    const at::Tensor dy = gradients[gradients[0].defined() ? 0 : 1].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor dy_shortcut = both ? gradients[1].contiguous(at::MemoryFormat::ChannelsLast) : at::Tensor();
    const bool has_other = context->saved_data["has_other"].toBool();
    const at::Tensor dx = at::empty_like(x);
    const at::Tensor d_other = has_other ? at::empty_like(x) : at::Tensor();
    const at::Tensor dweight = at::empty_like(saved[2]);
    const at::Tensor dbias = at::empty_like(saved[2]);
    const std::int64_t channels = x.size(1);
    const at::Tensor partial =
        at::empty({2, kernels::column_sum_splits(rows_of(x), channels), channels}, dweight.options());
    kernels::batch_norm_backward({.dy = dy.data_ptr(),
                                  .dy_shortcut = data(dy_shortcut),
                                  .x = x.data_ptr(),
                                  .y = data(saved[1]),
                                  .weight = floats(saved[2]),
                                  .mean = floats(saved[3]),
                                  .rstd = floats(saved[4]),
                                  .dx = dx.data_ptr(),
                                  .d_other = data(d_other),
                                  .dweight = floats(dweight),
                                  .dbias = floats(dbias),
                                  .partial = floats(partial),
                                  .rows = rows_of(x),
                                  .channels = static_cast<int>(channels),
                                  .type = kernel_type(x)},
                                 current_stream());
    return {dx, dweight, dbias, d_other, at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

#endif

}  // namespace

NormedResidual add_and_norm(const at::Tensor& x, const at::Tensor& delta, const NormWeights& norm,
                            at::ScalarType format) {
#ifdef ASSAY_ENGINE_KERNELS
  const bool fits = x.scalar_type() == format || x.scalar_type() == at::kFloat;
  if (has_own_kernels(x) && kernels::norm_supported(static_cast<int>(x.size(-1))) && fits) {
    // The kernel adds a branch in the format of the normed result; any other is added before.
    const bool fused = !delta.defined() || delta.scalar_type() == format;
    auto out = AddAndNorm::apply(fused ? x : x + delta, if_defined(fused ? delta : at::Tensor()), norm.weight,
                                 if_defined(norm.bias), norm.epsilon, format);
    return {std::move(out[0]), std::move(out[1])};
  }
#endif
  return composed_norm(x, delta, norm, format);
}

BatchNormed batch_norm(const at::Tensor& x, const BatchNormState& state, const at::Tensor& other, bool relu,
                       bool training) {
#ifdef ASSAY_ENGINE_KERNELS
  if (training && has_own_kernels(x) && x.size(1) % 8 == 0) {
    auto out = FusedBatchNorm::apply(x, state.weight, state.bias, if_defined(other), state.running_mean,
                                     state.running_variance, relu);
    return {std::move(out[0]), std::move(out[1])};
  }
#endif
  const at::Tensor y = composed_batch_norm(x, state, other, relu, training);
  return {y, y};
}

}  // namespace assay::engine
