#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine {

// Products of matrices, for code that computes its gradients itself: nothing here is seen by autograd. On GPUs in bf16
// and fp16 each shape is done in the fastest of cuBLASLt's ways, which is found out when it is met for the first time
// (kernels::product); elsewhere they are LibTorch's. Factors may be transposed views.

/// a · b, and + bias on every row unless that is undefined.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// The same into the memory of `out`.
void product_into(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

/// sum += a · b.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b);

/// gelu(a · b + bias), in GPT-2's tanh form, and what went into it.
struct GeluProduct {
  at::Tensor before;
  at::Tensor after;
};
GeluProduct gelu_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias);

}  // namespace assay::engine
