#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace assay::engine {

/// Mean cross-entropy (fp32 scalar) of hidden · weightᵀ (in the format of the weight) against `targets`. With
/// `some_unasked`, negative targets are not asked; without, there must be none, which saves counting them. The first
/// `classes` rows of `weight` count; further ones are padding. The logits, the largest tensor of a language model's
/// step, are never kept in fp32, and on CUDA their gradient takes their place. Gradients are those of the loss times
/// `gradient_scale` (fp32 (1); undefined: 1), multiplied in before anything is rounded to fp16. The result must be what
/// the backward pass starts from.
at::Tensor head_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& targets, std::int64_t classes, bool some_unasked,
                     const at::Tensor& gradient_scale);

/// Without gradient: fp32 (3), the sum of losses, the number of right answers, the number of targets.
at::Tensor head_score(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                      const at::Tensor& targets, std::int64_t classes);

}  // namespace assay::engine
