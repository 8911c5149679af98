#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace assay::engine {

using Block = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// Runs `block` (of one or two tensors) without keeping its activations; the backward pass runs it again. `block` must
/// live until then and compute the same both times: with `random` the generators are put back to where they were, so
/// that dropout is the same.
std::vector<at::Tensor> checkpoint(const Block& block, const std::vector<at::Tensor>& inputs, bool random);

}  // namespace assay::engine
