#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>

#include "core/cuda.h"
#include "core/torch_compat.h"
#include "ops/attention.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/product.h"

// The engine's own kernels against LibTorch's operations on the CPU: values and gradients. Only where there is a GPU.

namespace assay::engine {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

double relative(const at::Tensor& got, const at::Tensor& wanted) {
  const at::Tensor a = got.to(at::kCPU, at::kDouble);
  const at::Tensor b = wanted.to(at::kCPU, at::kDouble);
  return (a - b).norm().item<double>() / (b.norm().item<double>() + 1e-12);
}

/// Outputs and gradients of the inputs, for a loss that weighs every output element differently; all positive, since
/// sums that cancel would show nothing but rounding.
Tensors run(const Function& function, const Tensors& inputs, at::Device device, at::ScalarType type) {
  Tensors leaves;
  for (const auto& input : inputs) {
    const bool is_number = input.is_floating_point();
    at::Tensor leaf = is_number ? input.to(device, type).clone() : input.to(device);
    leaves.push_back(is_number ? leaf.set_requires_grad(true) : leaf);
  }
  const Tensors outputs = function(leaves);
  at::Tensor loss = at::zeros({}, at::TensorOptions().device(device).dtype(at::kFloat));
  for (const auto& output : outputs) {
    const at::Tensor weights = (1.0 + 0.5 * at::sin(at::arange(output.numel(), at::TensorOptions().dtype(at::kFloat))))
                                   .to(device)
                                   .view(output.sizes());
    loss = loss + (output.to(at::kFloat) * weights).sum();
  }
  torch::autograd::backward({loss}, {});
  Tensors results = outputs;
  for (const auto& leaf : leaves) {
    if (leaf.is_floating_point()) results.push_back(leaf.grad());
  }
  return results;
}

class OwnKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (usable_gpus() == 0) GTEST_SKIP() << "no GPU here";
    at::manual_seed(11);
    choose_matrix_precision(false);
    choose_attention(Attention::math, at::Device(at::kCUDA, 0), at::kFloat);
  }
  void expect_same(const Function& function, const Tensors& inputs) {
    const std::vector<std::pair<at::ScalarType, double>> formats = {
        {at::kFloat, 5e-5}, {at::kBFloat16, 3e-2}, {at::kHalf, 4e-3}};
    for (const auto& [type, tolerance] : formats) {
      Tensors rounded;
      for (const auto& input : inputs) {
        rounded.push_back(input.is_floating_point() ? input.to(type).to(at::kFloat) : input);
      }
      const Tensors wanted = run(function, rounded, at::kCPU, at::kFloat);
      const Tensors got = run(function, inputs, at::Device(at::kCUDA, 0), type);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_LT(relative(got[i], wanted[i]), tolerance) << "result " << i << ", " << at::toString(type);
      }
    }
  }
};

at::Tensor full(const at::Tensor& x) { return x.to(at::kFloat); }

TEST_F(OwnKernels, LayerAndRmsNormOfEveryWidthClass) {
  for (const std::int64_t width : {64, 256, 512, 768, 1024, 1600, 4096, 5120}) {
    for (const bool bias : {true, false}) {
      const Function function = [&](const Tensors& in) -> Tensors {
        const auto out =
            add_and_norm(in[0], in[1], {full(in[2]), bias ? full(in[3]) : at::Tensor()}, in[0].scalar_type());
        return {out.residual, out.normed};
      };
      Tensors inputs = {at::randn({37, width}), at::randn({37, width}), at::randn({width})};
      if (bias) inputs.push_back(at::randn({width}));
      expect_same(function, inputs);
    }
  }
}

TEST_F(OwnKernels, NormWithoutDelta) {
  expect_same(
      [](const Tensors& in) -> Tensors {
        const auto out = add_and_norm(in[0], at::Tensor(), {full(in[1]), {}}, in[0].scalar_type());
        return {out.normed, out.residual * 0.5};
      },
      {at::randn({5, 7, 128}), at::randn({128})});
}

TEST_F(OwnKernels, NormOfAnFp32StreamWithRoundedBranches) {
  for (const std::int64_t width : {64, 768, 1024, 4096}) {
    for (const at::ScalarType format : {at::kBFloat16, at::kHalf}) {
      const Tensors inputs = {at::randn({37, width}), at::randn({37, width}).to(format).to(at::kFloat),
                              at::randn({width}), at::randn({width})};
      const auto on = [&](at::Device device) {
        return run(
            [&](const Tensors& in) -> Tensors {
              const auto out = add_and_norm(in[0], in[1].to(format), {in[2], in[3]}, format);
              return {out.residual, out.normed};
            },
            inputs, device, at::kFloat);
      };
      const Tensors wanted = on(at::kCPU);
      const Tensors got = on(at::Device(at::kCUDA, 0));
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].scalar_type(), wanted[i].scalar_type()) << i;
        EXPECT_LT(relative(got[i], wanted[i]), i == 0 ? 1e-6 : 4e-3) << "result " << i << ", width " << width;
      }
    }
  }
}

TEST_F(OwnKernels, LinearWithBiasAndGelu) {
  for (const std::int64_t rows : {3, 200, 5000}) {
    const Tensors inputs = {at::randn({rows, 40}), at::randn({72, 40}) * 0.2, at::randn({72})};
    expect_same([](const Tensors& in) -> Tensors { return {linear(in[0], in[1], in[2])}; }, inputs);
    expect_same([](const Tensors& in) -> Tensors { return {linear_gelu(in[0], in[1], in[2])}; }, inputs);
  }
}

/// A matrix in the memory of a wider one, or of its transpose.
at::Tensor matrix(std::int64_t rows, std::int64_t columns, bool transposed, at::ScalarType type) {
  const auto options = at::TensorOptions().device(at::kCUDA, 0);
  const at::Tensor wide = at::randn({transposed ? columns : rows, (transposed ? rows : columns) + 8}, options).to(type);
  const at::Tensor narrow = wide.narrow(1, 8, transposed ? rows : columns);
  return transposed ? narrow.t() : narrow;
}

at::Tensor exact_product(const at::Tensor& a, const at::Tensor& b) {
  return at::mm(a.to(at::kDouble), b.to(at::kDouble));
}

TEST_F(OwnKernels, ProductsOfEveryLayout) {
  for (const auto& [type, tolerance] : {std::pair{at::kBFloat16, 4e-3}, std::pair{at::kHalf, 6e-4}}) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        const at::Tensor a = matrix(120, 72, a_transposed, type);
        const at::Tensor b = matrix(72, 264, b_transposed, type);
        const at::Tensor bias = at::randn({264}, a.options());
        const at::Tensor wanted = exact_product(a, b);
        EXPECT_LT(relative(product(a, b), wanted), tolerance);
        EXPECT_LT(relative(product(a, b, bias), wanted + bias), tolerance);
        const GeluProduct both = gelu_product(a, b, bias);
        EXPECT_LT(relative(both.before, wanted + bias), tolerance);
        EXPECT_LT(relative(both.after, at::gelu(wanted + bias, "tanh")), tolerance);
        const at::Tensor wide = at::full({120, 300}, 7, a.options());
        product_into(wide.narrow(1, 16, 264), a, b);
        EXPECT_LT(relative(wide.narrow(1, 16, 264), wanted), tolerance);
        EXPECT_TRUE(wide.narrow(1, 0, 16).eq(7).all().item<bool>() && wide.narrow(1, 280, 20).eq(7).all().item<bool>());
      }
    }
  }
}

TEST_F(OwnKernels, ASumGrowsOnceThoughSeveralWaysAreTried) {
  const at::Tensor a = matrix(104, 88, true, at::kBFloat16);
  const at::Tensor b = matrix(88, 200, false, at::kBFloat16);
  const at::Tensor sum = at::randn({104, 200}, a.options());
  const at::Tensor wanted = sum.to(at::kDouble) + exact_product(a, b);
  add_product(sum, a, b);
  EXPECT_LT(relative(sum, wanted), 4e-3);
}

TEST_F(OwnKernels, ProductsOfShapesThatDoNotFitAreLibTorchs) {
  const at::Tensor a = matrix(5, 7, false, at::kBFloat16);
  const at::Tensor b = matrix(7, 3, true, at::kBFloat16);
  EXPECT_LT(relative(product(a, b), exact_product(a, b)), 4e-3);
}

TEST_F(OwnKernels, AProductThatIsMetFirstWhileAStepIsRecorded) {
  const DeviceScope scope(at::Device(at::kCUDA, 0));
  const at::Tensor a = matrix(136, 56, false, at::kBFloat16);
  const at::Tensor b = matrix(56, 168, false, at::kBFloat16);
  const at::Tensor out = at::zeros({136, 168}, a.options());
  synchronize(a.device());
  RecordedStep step;
  step.record([&] { product_into(out, a, b); });
  step.replay();
  synchronize(a.device());
  EXPECT_LT(relative(out, exact_product(a, b)), 4e-3);
}

TEST_F(OwnKernels, LinearOfAFrozenWeight) {
  const auto results = [](at::Device device, at::ScalarType type) {
    at::manual_seed(3);
    const at::Tensor x = at::randn({50, 40}).to(device, type).set_requires_grad(true);
    const at::Tensor weight = (at::randn({72, 40}) * 0.2).to(device, type);
    const at::Tensor y = linear(x, weight, at::Tensor());
    torch::autograd::backward({y.to(at::kFloat).sum()}, {});
    EXPECT_FALSE(weight.grad().defined());
    return Tensors{y.detach(), x.grad()};
  };
  const Tensors wanted = results(at::kCPU, at::kFloat);
  const Tensors got = results(at::Device(at::kCUDA, 0), at::kBFloat16);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LT(relative(got[i], wanted[i]), 1e-2) << i;
}

TEST_F(OwnKernels, LinearWithAdapters) {
  expect_same(
      [](const Tensors& in) -> Tensors {
        return {adapted_linear(in[0], in[1].detach(), {{in[2], in[3], 0, 0.5}, {in[4], in[5], 48, 2.0}}), in[1]};
      },
      {at::randn({6, 50, 40}), at::randn({72, 40}) * 0.2, at::randn({8, 40}) * 0.2, at::randn({24, 8}) * 0.2,
       at::randn({8, 40}) * 0.2, at::randn({24, 8}) * 0.2});
}

TEST_F(OwnKernels, Swiglu) {
  expect_same([](const Tensors& in) -> Tensors { return {swiglu(in[0])}; }, {at::randn({9, 5, 176})});
}

TEST_F(OwnKernels, AttentionWithAndWithoutRotationAndGroups) {
  for (const bool rotated : {true, false}) {
    for (const std::int64_t kv_heads : {4, 2}) {
      expect_same(
          [&](const Tensors& in) -> Tensors {
            const RotaryTable rotary = rotary_table(12, 32, 10000, {}, in[0].device());
            return {
                packed_attention(in[0], {4, kv_heads, 32}, rotated ? &rotary : nullptr, {Attention::eager, true, 0})};
          },
          {at::randn({2, 12, (4 + 2 * kv_heads) * 32})});
    }
  }
}

TEST_F(OwnKernels, CrossEntropyWithPaddingAndUnaskedTargets) {
  const at::Tensor targets = at::randint(90, {33}, at::kLong);
  targets[4] = -100;
  targets[32] = -100;
  for (const bool bias : {true, false}) {
    const Function function = [&](const Tensors& in) -> Tensors {
      // The loss must be what the backward pass starts from: scaled by 1.
      return {head_loss(in[1], in[2], bias ? in[3] : at::Tensor(), in[0], 90, true, at::Tensor()).reshape({1})};
    };
    Tensors inputs = {targets, at::randn({33, 24}), at::randn({96, 24})};
    if (bias) inputs.push_back(at::randn({96}));
    // sin(0) = 0 would make the loss of `run` zero: compare here with a plain backward pass.
    const auto gradients = [&](at::Device device, at::ScalarType type) {
      Tensors leaves = {inputs[0].to(device)};
      for (std::size_t i = 1; i < inputs.size(); ++i) {
        leaves.push_back(inputs[i].to(device, type).clone().set_requires_grad(true));
      }
      const at::Tensor loss = function(leaves)[0].sum();
      torch::autograd::backward({loss}, {});
      Tensors results = {loss.detach().reshape({1})};
      for (std::size_t i = 1; i < leaves.size(); ++i) results.push_back(leaves[i].grad());
      return results;
    };
    const Tensors wanted = gradients(at::kCPU, at::kFloat);
    const Tensors got = gradients(at::Device(at::kCUDA, 0), at::kFloat);
    const Tensors rounded = gradients(at::Device(at::kCUDA, 0), at::kBFloat16);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LT(relative(got[i], wanted[i]), 2e-5) << i;
      EXPECT_LT(relative(rounded[i], wanted[i]), 4e-2) << i;
    }
  }
}

TEST_F(OwnKernels, BatchNormWithShortcutAndRelu) {
  for (const std::int64_t channels : {64, 256, 2048}) {
    for (const bool shortcut : {true, false}) {
      expect_same(
          [&](const Tensors& in) -> Tensors {
            const auto fresh = full(in[1]).detach();
            const BatchNormState state{full(in[1]), full(in[2]), at::zeros_like(fresh), at::ones_like(fresh)};
            const at::Tensor x = in[0].permute({0, 3, 1, 2});
            const at::Tensor other = shortcut ? in[3].permute({0, 3, 1, 2}) : at::Tensor();
            const BatchNormed y = batch_norm(x, state, other, shortcut, true);
            return {(2 * y.value + y.shortcut).permute({0, 2, 3, 1})};
          },
          shortcut ? Tensors{at::randn({4, 7, 7, channels}), at::rand({channels}) + 0.5, at::randn({channels}),
                             at::randn({4, 7, 7, channels})}
                   : Tensors{at::randn({4, 7, 7, channels}), at::rand({channels}) + 0.5, at::randn({channels})});
    }
  }
}

// Small whole numbers: exact in bf16, and many windows have equals.
TEST_F(OwnKernels, MaxPool) {
  for (const std::int64_t size : {1, 2, 7, 12}) {
    expect_same(
        [](const Tensors& in) -> Tensors { return {max_pool(in[0].permute({0, 3, 1, 2})).permute({0, 2, 3, 1})}; },
        {at::randint(-3, 4, {2, size, size + 1, 16}, at::kFloat)});
  }
}

}  // namespace
}  // namespace assay::engine
