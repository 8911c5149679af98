#pragma once

// What differs between LibTorch 1.13 (Debian) and 2.x. No other file has version checks.

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <optional>
#include <string>

#include "formats/train_spec.h"

namespace assay::engine {

/// A tensor argument of an autograd::Function that may be absent: those must not be undefined tensors.
#if TORCH_VERSION_MAJOR >= 2
using MaybeTensor = std::optional<at::Tensor>;
#else
using MaybeTensor = c10::optional<at::Tensor>;
#endif
inline MaybeTensor if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : MaybeTensor();
}
inline at::Tensor or_undefined(const MaybeTensor& tensor) { return tensor.has_value() ? *tensor : at::Tensor(); }

/// LibTorch's own attention over (batch, heads, tokens, width); k and v may have fewer heads, as long as they divide
/// q's. Which kernel runs was chosen by `choose_attention`.
at::Tensor torch_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double dropout);

/// Allows only the kernel of that name (sdpa: any, the fastest first). Throws Failure `unsupported` with the reason
/// where the device or the number format lacks it.
void choose_attention(Attention kind, at::Device device, at::ScalarType type);

/// TF32 for fp32 products and convolutions on or off; cuDNN picks the fastest algorithm by trying.
void choose_matrix_precision(bool tf32);

/// Whether an exception says that memory ran out, on the device or on the host.
bool is_out_of_memory(const std::exception& error);

/// An exception's message without LibTorch's stack trace.
std::string brief_message(const std::exception& error);

}  // namespace assay::engine
