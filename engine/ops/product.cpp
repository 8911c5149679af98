#include "ops/product.h"

#include <ATen/ATen.h>

#include "core/cuda.h"

namespace assay::engine {
namespace {

#ifdef ASSAY_ENGINE_KERNELS

bool is_aligned(const at::Tensor& x) {
  constexpr std::uintptr_t kBytes = 16;
  const auto row_bytes = static_cast<std::uintptr_t>(x.element_size() * std::max(x.stride(0), x.stride(1)));
  return reinterpret_cast<std::uintptr_t>(x.data_ptr()) % kBytes == 0 && row_bytes % kBytes == 0;
}

bool is_transposed(const at::Tensor& x) { return x.stride(1) != 1; }

/// Rows or columns lie dense in memory, and none overlap.
bool is_matrix(const at::Tensor& x) {
  return (x.stride(1) == 1 && x.stride(0) >= x.size(1)) || (x.stride(0) == 1 && x.stride(1) >= x.size(0));
}

kernels::Product::Factor factor(const at::Tensor& x) {
  return {x.data_ptr(), is_transposed(x) ? x.stride(1) : x.stride(0), is_transposed(x)};
}

bool has_fast_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (!has_own_kernels(a) || (a.scalar_type() != at::kBFloat16 && a.scalar_type() != at::kHalf)) return false;
  return b.scalar_type() == a.scalar_type() && out.scalar_type() == a.scalar_type() && is_matrix(a) && is_matrix(b) &&
         is_matrix(out) && !is_transposed(out) && is_aligned(a) && is_aligned(b) && is_aligned(out);
}

/// False: not done, since it is not one for `kernels::product`.
bool fast_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, bool add = false,
                  const at::Tensor& bias = {}, const at::Tensor& before_gelu = {}) {
  if (!has_fast_product(out, a, b)) return false;
  return kernels::product({.a = factor(a),
                           .b = factor(b),
                           .c = out.data_ptr(),
                           .c_stride = out.stride(0),
                           .m = a.size(0),
                           .n = b.size(1),
                           .k = a.size(1),
                           .bias = bias.defined() ? bias.data_ptr() : nullptr,
                           .before_gelu = before_gelu.defined() ? before_gelu.data_ptr() : nullptr,
                           .add = add,
                           .type = kernel_type(a)},
                          current_stream());
}

#else

bool fast_product(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool = false, const at::Tensor& = {},
                  const at::Tensor& = {}) {
  return false;
}

#endif

at::Tensor empty_product(const at::Tensor& a, const at::Tensor& b) {
  return at::empty({a.size(0), b.size(1)}, a.options());
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  at::Tensor out = empty_product(a, b);
  product_into(out, a, b, bias);
  return out;
}

void product_into(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  if (fast_product(out, a, b, false, bias)) return;
  at::Tensor same_memory = out;
  if (bias.defined()) {
    at::addmm_out(same_memory, bias, a, b);
  } else {
    at::mm_out(same_memory, a, b);
  }
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (!fast_product(sum, a, b, true)) sum.addmm_(a, b);
}

GeluProduct gelu_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  GeluProduct out{empty_product(a, b), empty_product(a, b)};
  if (fast_product(out.after, a, b, false, bias, out.before)) return out;
  product_into(out.before, a, b, bias);
  at::gelu_out(out.after, out.before, "tanh");
  return out;
}

}  // namespace assay::engine
