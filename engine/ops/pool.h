#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine {

/// The largest of each 3 × 3 window, every second pixel, with a border of one, of a channels-last (N, C, H, W). The
/// gradient goes to the first of equals.
at::Tensor max_pool(const at::Tensor& x);

}  // namespace assay::engine
