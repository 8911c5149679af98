#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

// Products are computed in the format of the weight, to which x is converted, as under autocast.

/// x · weightᵀ + bias; bias may be undefined.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// gelu(x · weightᵀ + bias), in GPT-2's tanh form.
at::Tensor linear_gelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// silu(gate) · up, where the last dimension of `gate_up` holds both, one after the other.
at::Tensor swiglu(const at::Tensor& gate_up);

/// A low-rank addition to some rows of a linear layer: their output gets scale · (x · downᵀ) · upᵀ.
struct Adapter {
  at::Tensor down;  ///< (rank, in)
  at::Tensor up;    ///< (rows, rank)
  std::int64_t first_row = 0;
  double scale = 1;
};

/// x · weightᵀ with adapters; the weight itself is frozen and gets no gradient.
at::Tensor adapted_linear(const at::Tensor& x, const at::Tensor& weight, const std::vector<Adapter>& adapters);

}  // namespace assay::engine
