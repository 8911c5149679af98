#include "ops/loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "core/cuda.h"
#include "core/torch_compat.h"
#include "ops/product.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Logits are made for so many bytes at a time: 4 GiB is one piece for GPT-2 at 32 × 1024 tokens, and no more than a
// large GPU can spare.
constexpr std::int64_t kMostLogitBytes = std::int64_t{4} << 30;

std::int64_t rows_at_a_time(std::int64_t rows, const at::Tensor& weight) {
  const std::int64_t row_bytes = weight.size(0) * weight.element_size();
  return std::clamp<std::int64_t>(kMostLogitBytes / row_bytes, 1, rows);
}

at::Tensor logits_of(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias) {
  return bias.defined() ? at::addmm(bias, hidden, weight.t()) : at::mm(hidden, weight.t());
}

/// The value as it is, its gradient times `scale`.
struct ScaledGradient : torch::autograd::Function<ScaledGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& value, const at::Tensor& scale) {
    context->save_for_backward({scale});
    return value.clone();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {gradients[0] * context->get_saved_variables()[0].squeeze(), at::Tensor()};
  }
};

#ifdef ASSAY_ENGINE_KERNELS

/// Gradients are computed on the way forward, piece by piece, while the logits are there; backward hands them out.
struct HeadLoss : torch::autograd::Function<HeadLoss> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const MaybeTensor& bias_given, const at::Tensor& targets, std::int64_t classes,
                            bool some_unasked, const MaybeTensor& gradient_scale) {
    const at::Tensor bias = or_undefined(bias_given);
    const std::int64_t rows = hidden.size(0);
    const auto floats = hidden.options().dtype(at::kFloat);
    const at::Tensor losses = at::empty({rows}, floats);
    const at::Tensor share = some_unasked ? targets.ge(0).sum(at::kFloat).clamp_min(1).reciprocal()
                                          : at::full({}, 1.0 / static_cast<double>(rows), floats);
    const at::Tensor factor = gradient_scale ? share * gradient_scale->squeeze() : share;
    const bool trains = weight.requires_grad();
    at::Tensor d_hidden = at::empty_like(hidden);
    at::Tensor d_weight;
    at::Tensor d_bias;
    const std::int64_t piece = rows_at_a_time(rows, weight);
    for (std::int64_t first = 0; first < rows; first += piece) {
      const std::int64_t count = std::min(piece, rows - first);
      const at::Tensor input = hidden.narrow(0, first, count);
      const at::Tensor logits = product(input, weight.t(), bias);
      kernels::cross_entropy(logits.data_ptr(), targets.data_ptr<std::int64_t>() + first,
                             losses.data_ptr<float>() + first, nullptr, factor.data_ptr<float>(), true, count, classes,
                             logits.size(1), kernel_type(logits), current_stream());
      product_into(d_hidden.narrow(0, first, count), logits, weight);
      if (!trains) continue;
      if (d_weight.defined()) {
        add_product(d_weight, logits.t(), input);
        if (bias.defined()) d_bias.add_(logits.sum(0));
      } else {
        d_weight = product(logits.t(), input);
        if (bias.defined()) d_bias = logits.sum(0);
      }
    }
    context->save_for_backward({d_hidden, d_weight, d_bias});
    return losses.sum() * share;
  }

  static variable_list backward(AutogradContext* context, const variable_list&) {
    const auto saved = context->get_saved_variables();
    return {saved[0], saved[1], saved[2], at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

#endif

}  // namespace

at::Tensor head_loss(const at::Tensor& states, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& targets, std::int64_t classes, [[maybe_unused]] bool some_unasked,
                     const at::Tensor& gradient_scale) {
  const at::Tensor hidden = states.to(weight.scalar_type());
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(hidden) && weight.size(0) % 8 == 0) {
    return HeadLoss::apply(hidden.contiguous(), weight, if_defined(bias), targets, classes, some_unasked,
                           if_defined(gradient_scale));
  }
#endif
  const at::Tensor logits = logits_of(hidden, weight, bias).narrow(1, 0, classes).to(at::kFloat);
  const at::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Mean, -100);
  return gradient_scale.defined() ? ScaledGradient::apply(loss, gradient_scale) : loss;
}

at::Tensor head_score(const at::Tensor& states, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& targets, std::int64_t classes) {
  const at::NoGradGuard no_grad;
  const at::Tensor hidden = states.to(weight.scalar_type());
  at::Tensor sums = at::zeros({3}, hidden.options().dtype(at::kFloat));
  const std::int64_t rows = hidden.size(0);
  const std::int64_t piece = rows_at_a_time(rows, weight);
  for (std::int64_t first = 0; first < rows; first += piece) {
    const std::int64_t count = std::min(piece, rows - first);
    const at::Tensor wanted = targets.narrow(0, first, count);
    const at::Tensor asked = wanted.ge(0);
    const at::Tensor logits =
        logits_of(hidden.narrow(0, first, count), weight, bias).narrow(1, 0, classes).to(at::kFloat);
    const at::Tensor loss = at::cross_entropy_loss(logits, wanted, {}, at::Reduction::Sum, -100);
    const at::Tensor right = logits.argmax(1).eq(wanted).logical_and(asked).sum(at::kFloat);
    sums.add_(at::stack({loss, right, asked.sum(at::kFloat)}));
  }
  return sums;
}

}  // namespace assay::engine
