#include "ops/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/cuda.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rows_of(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

/// Adds one adapter's share to the base product, in the product's own memory.
struct AddAdapter : torch::autograd::Function<AddAdapter> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& product, const at::Tensor& x,
                            const at::Tensor& down, const at::Tensor& up, std::int64_t first_row, double scale) {
    const at::Tensor input = rows_of(x);
    const at::Tensor inner = at::mm(input, down.t());
    product.view({-1, product.size(-1)}).narrow(1, first_row, up.size(0)).addmm_(inner, up.t(), 1, scale);
    context->save_for_backward({input, down, up, inner});
    context->saved_data["first_row"] = first_row;
    context->saved_data["scale"] = scale;
    context->saved_data["shape"] = x.sizes().vec();
    context->saved_data["x_trains"] = x.requires_grad();
    context->mark_dirty({product});
    return product;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& up = saved[2];
    const double scale = context->saved_data["scale"].toDouble();
    const at::Tensor part = rows_of(gradients[0]).narrow(1, context->saved_data["first_row"].toInt(), up.size(0));
    const at::Tensor d_inner = at::mm(part, up).mul_(scale);
    at::Tensor dx;
    if (context->saved_data["x_trains"].toBool()) {
      dx = at::mm(d_inner, saved[1]).view(context->saved_data["shape"].toIntVector());
    }
    return {gradients[0], dx,          at::mm(d_inner.t(), saved[0]), at::mm(part.t(), saved[3]).mul_(scale),
            at::Tensor(), at::Tensor()};
  }
};

#ifdef ASSAY_ENGINE_KERNELS

std::vector<std::int64_t> with_last(const at::Tensor& x, std::int64_t width) {
  auto shape = x.sizes().vec();
  shape.back() = width;
  return shape;
}

at::Tensor partial_sums(const at::Tensor& x) {
  return at::empty({kernels::column_sum_splits(x.size(0), x.size(1)), x.size(1)}, x.options().dtype(at::kFloat));
}

at::Tensor column_sums(const at::Tensor& x) {
  at::Tensor sums = at::empty({x.size(1)}, x.options());
  const at::Tensor partial = partial_sums(x);
  kernels::column_sum(x.data_ptr(), sums.data_ptr(), partial.data_ptr<float>(), x.size(0), x.size(1), kernel_type(x),
                      current_stream());
  return sums;
}

/// What a backward pass returns for `weight`: the product of both, or, where the weight keeps a sum of its gradients,
/// nothing, since it is added there. Autograd would add it in one more pass over the memory; it still visits the
/// weight, so that whoever waits for its gradient is told.
at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& input) {
  const at::Tensor sum = weight.is_leaf() ? weight.grad() : at::Tensor();
  if (!sum.defined() || sum.scalar_type() != gradient.scalar_type()) return at::mm(gradient.t(), input);
  sum.addmm_(gradient.t(), input);
  return {};
}

bool columns_fit(const at::Tensor& weight) { return weight.size(0) % 8 == 0; }

struct BiasedLinear : torch::autograd::Function<BiasedLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    const at::Tensor input = rows_of(x);
    context->save_for_backward({input, weight});
    context->saved_data["shape"] = x.sizes().vec();
    context->saved_data["x_trains"] = x.requires_grad();
    return at::addmm(bias, input, weight.t()).view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor gradient = rows_of(gradients[0]).contiguous();
    at::Tensor dx;
    if (context->saved_data["x_trains"].toBool()) {
      dx = at::mm(gradient, saved[1]).view(context->saved_data["shape"].toIntVector());
    }
    return {dx, weight_gradient(saved[1], gradient, saved[0]), column_sums(gradient)};
  }
};

struct LinearGelu : torch::autograd::Function<LinearGelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    const at::Tensor input = rows_of(x);
    const at::Tensor before = at::addmm(bias, input, weight.t());
    const at::Tensor out = at::empty_like(before);
    kernels::gelu_forward(before.data_ptr(), out.data_ptr(), before.numel(), kernel_type(before), current_stream());
    context->save_for_backward({input, weight, before});
    context->saved_data["shape"] = x.sizes().vec();
    return out.view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& before = saved[2];
    const at::Tensor gradient = rows_of(gradients[0]).contiguous();
    const at::Tensor d_before = at::empty_like(before);
    const at::Tensor dbias = at::empty({before.size(1)}, before.options());
    const at::Tensor partial = partial_sums(before);
    kernels::gelu_backward(gradient.data_ptr(), before.data_ptr(), d_before.data_ptr(), dbias.data_ptr(),
                           partial.data_ptr<float>(), before.size(0), before.size(1), kernel_type(before),
                           current_stream());
    const at::Tensor dx = at::mm(d_before, saved[1]).view(context->saved_data["shape"].toIntVector());
    return {dx, weight_gradient(saved[1], d_before, saved[0]), dbias};
  }
};

struct FusedSwiglu : torch::autograd::Function<FusedSwiglu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_up) {
    const std::int64_t width = gate_up.size(-1) / 2;
    at::Tensor out = at::empty(with_last(gate_up, width), gate_up.options());
    kernels::swiglu_forward(gate_up.data_ptr(), out.data_ptr(), out.numel() / width, width, kernel_type(gate_up),
                            current_stream());
    context->save_for_backward({gate_up});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor gradient = gradients[0].contiguous();
    const std::int64_t width = gradient.size(-1);
    at::Tensor out = at::empty_like(saved[0]);
    kernels::swiglu_backward(gradient.data_ptr(), saved[0].data_ptr(), out.data_ptr(), gradient.numel() / width, width,
                             kernel_type(gradient), current_stream());
    return {out};
  }
};

#endif

}  // namespace

at::Tensor linear(const at::Tensor& given, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = given.to(weight.scalar_type());
#ifdef ASSAY_ENGINE_KERNELS
  if (bias.defined() && has_own_kernels(x) && columns_fit(weight) && weight.requires_grad()) {
    return BiasedLinear::apply(x, weight, bias);
  }
#endif
  return at::linear(x, weight, bias);
}

at::Tensor linear_gelu(const at::Tensor& given, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = given.to(weight.scalar_type());
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(x) && columns_fit(weight) && weight.requires_grad()) return LinearGelu::apply(x, weight, bias);
#endif
  return at::gelu(at::linear(x, weight, bias), "tanh");
}

at::Tensor swiglu(const at::Tensor& gate_up) {
  const std::int64_t width = gate_up.size(-1) / 2;
#ifdef ASSAY_ENGINE_KERNELS
  if (has_own_kernels(gate_up) && width % 8 == 0) return FusedSwiglu::apply(gate_up.contiguous());
#endif
  return at::silu(gate_up.narrow(-1, 0, width)) * gate_up.narrow(-1, width, width);
}

at::Tensor adapted_linear(const at::Tensor& given, const at::Tensor& weight, const std::vector<Adapter>& adapters) {
  const at::Tensor x = given.to(weight.scalar_type());
  at::Tensor out = at::linear(x, weight);
  for (const auto& adapter : adapters) {
    out = AddAdapter::apply(out, x, adapter.down, adapter.up, adapter.first_row, adapter.scale);
  }
  return out;
}

}  // namespace assay::engine
