#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine {

struct NormedResidual {
  at::Tensor residual;  ///< x + delta, or x
  at::Tensor normed;
};

/// The step between two branches of a transformer: adds a branch's output to the residual stream and normalises the sum
/// for the next branch. `delta` may be undefined; without `bias` it is an RMS norm. Weight and bias are fp32. The
/// residual keeps the format of x, `normed` comes in `format`.
struct NormWeights {
  at::Tensor weight;
  at::Tensor bias;
  double epsilon = 1e-5;
};
NormedResidual add_and_norm(const at::Tensor& x, const at::Tensor& delta, const NormWeights& norm,
                            at::ScalarType format);

/// Batch norm over a channels-last (N, C, H, W), then + other (may be undefined) and ReLU if asked. Running statistics
/// are updated in training and used otherwise.
struct BatchNormState {
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor running_mean;
  at::Tensor running_variance;
};
/// The same values twice. Where a branch reads one and its shortcut the other, their gradients are added in passing;
/// of one that both read, autograd adds them in a pass of its own.
struct BatchNormed {
  at::Tensor value;
  at::Tensor shortcut;
};
BatchNormed batch_norm(const at::Tensor& x, const BatchNormState& state, const at::Tensor& other, bool relu,
                       bool training);

}  // namespace assay::engine
