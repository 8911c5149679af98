#include "ops/linear.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/cuda.h"
#include "core/torch_compat.h"
#include "ops/product.h"

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

/// What a parameter keeps as the sum of its gradients, if it does so in this format. Gradients are then added there and
/// autograd gets none, since it would add them in one more pass over the memory; it still visits the parameter, so that
/// whoever waits for its gradient is told.
at::Tensor kept_sum(const at::Tensor& parameter, at::ScalarType format) {
  const at::Tensor sum = parameter.is_leaf() ? parameter.grad() : at::Tensor();
  return sum.defined() && sum.scalar_type() == format ? sum : at::Tensor();
}

at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& input) {
  const at::Tensor sum = kept_sum(weight, gradient.scalar_type());
  if (!sum.defined()) return product(gradient.t(), input);
  add_product(sum, gradient.t(), input);
  return {};
}

/// The gradient of `bias` from rows of gradients, which `add_up` sums.
template <typename AddUp>
at::Tensor bias_gradient(const at::Tensor& bias, const at::Tensor& rows, AddUp&& add_up) {
  const at::Tensor sum = kept_sum(bias, rows.scalar_type());
  const at::Tensor fresh = sum.defined() ? at::Tensor() : at::empty({rows.size(1)}, rows.options());
  const at::Tensor partial = at::empty({kernels::column_sum_splits(rows.size(0), rows.size(1)), rows.size(1)},
                                       rows.options().dtype(at::kFloat));
  add_up(kernels::ColumnSum{
      .out = (sum.defined() ? sum : fresh).data_ptr(), .partial = partial.data_ptr<float>(), .add = sum.defined()});
  return fresh;
}

bool columns_fit(const at::Tensor& weight) { return weight.size(0) % 8 == 0; }

struct OwnLinear : torch::autograd::Function<OwnLinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const MaybeTensor& bias_given) {
    const at::Tensor input = rows_of(x);
    const at::Tensor bias = or_undefined(bias_given);
    const bool weight_trains = weight.requires_grad();
    context->save_for_backward({weight_trains ? input : at::Tensor(), weight, bias});
    context->saved_data["shape"] = x.sizes().vec();
    context->saved_data["x_trains"] = x.requires_grad();
    context->saved_data["weight_trains"] = weight_trains;
    context->saved_data["bias_trains"] = bias.defined() && bias.requires_grad();
    // Not a view of the product: adapters add to it in place.
    at::Tensor out = at::empty(with_last(x, weight.size(0)), input.options());
    product_into(rows_of(out), input, weight.t(), bias);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor gradient = rows_of(gradients[0]).contiguous();
    at::Tensor dx;
    if (context->saved_data["x_trains"].toBool()) {
      dx = product(gradient, saved[1]).view(context->saved_data["shape"].toIntVector());
    }
    at::Tensor dweight;
    if (context->saved_data["weight_trains"].toBool()) dweight = weight_gradient(saved[1], gradient, saved[0]);
    at::Tensor dbias;
    if (context->saved_data["bias_trains"].toBool()) {
      dbias = bias_gradient(saved[2], gradient, [&](const kernels::ColumnSum& sum) {
        kernels::column_sum(gradient.data_ptr(), sum, gradient.size(0), gradient.size(1), kernel_type(gradient),
                            current_stream());
      });
    }
    return {dx, dweight, dbias};
  }
};

struct LinearGelu : torch::autograd::Function<LinearGelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias) {
    const at::Tensor input = rows_of(x);
    const GeluProduct out = gelu_product(input, weight.t(), bias);
    context->save_for_backward({input, weight, bias, out.before});
    context->saved_data["shape"] = x.sizes().vec();
    return out.after.view(with_last(x, weight.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& before = saved[3];
    const at::Tensor gradient = rows_of(gradients[0]).contiguous();
    const at::Tensor d_before = at::empty_like(before);
    const at::Tensor dbias = bias_gradient(saved[2], before, [&](const kernels::ColumnSum& sum) {
      kernels::gelu_backward(gradient.data_ptr(), before.data_ptr(), d_before.data_ptr(), sum, before.size(0),
                             before.size(1), kernel_type(before), current_stream());
    });
    const at::Tensor dx = product(d_before, saved[1]).view(context->saved_data["shape"].toIntVector());
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
  if (has_own_kernels(x) && columns_fit(weight)) return OwnLinear::apply(x, weight, if_defined(bias));
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
  at::Tensor out = linear(x, weight, at::Tensor());
  for (const auto& adapter : adapters) {
    out = AddAdapter::apply(out, x, adapter.down, adapter.up, adapter.first_row, adapter.scale);
  }
  return out;
}

}  // namespace assay::engine
