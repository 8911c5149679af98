#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <vector>

namespace assay::engine {

/// Compares the gradients of a scalar function with central differences, at random places of every input (double, with
/// gradient).
inline void expect_gradients(const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
                             std::vector<at::Tensor> inputs, double step, double tolerance) {
  torch::autograd::backward({function(inputs)}, {});
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_TRUE(inputs[k].grad().defined()) << "input " << k << " has no gradient";
    const std::int64_t count = inputs[k].numel();
    for (std::int64_t place = 0; place < count; place += std::max<std::int64_t>(1, count / 7)) {
      const auto shifted = [&](double by) {
        const at::NoGradGuard no_grad;
        std::vector<at::Tensor> changed = inputs;
        changed[k] = inputs[k].clone();
        changed[k].view({-1})[place] += by;
        return function(changed).item<double>();
      };
      const double slope = (shifted(step) - shifted(-step)) / (2 * step);
      EXPECT_NEAR(inputs[k].grad().contiguous().view({-1})[place].item<double>(), slope, tolerance)
          << "input " << k << ", element " << place;
    }
  }
}

inline at::Tensor random_leaf(std::vector<std::int64_t> shape, at::ScalarType type = at::kDouble) {
  return at::randn(shape, at::TensorOptions().dtype(type)).set_requires_grad(true);
}

}  // namespace assay::engine
