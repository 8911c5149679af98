#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/torch_compat.h"
#include "ops/attention.h"
#include "ops/checkpoint.h"
#include "ops/linear.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/test_gradients.h"

namespace assay::engine {
namespace {

class Ops : public testing::Test {
 protected:
  void SetUp() override { at::manual_seed(7); }
};

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST_F(Ops, AdaptedLinearAddsTheLowRankProductToItsRowsOnly) {
  const at::Tensor x = at::randn({2, 3, 8});
  const at::Tensor weight = at::randn({12, 8});
  const at::Tensor down = at::randn({2, 8});
  const at::Tensor up = at::randn({4, 2});
  const at::Tensor out = adapted_linear(x, weight, {{down, up, 4, 0.5}});
  const at::Tensor base = at::linear(x, weight);
  EXPECT_EQ(difference(out.narrow(2, 0, 4), base.narrow(2, 0, 4)), 0);
  EXPECT_EQ(difference(out.narrow(2, 8, 4), base.narrow(2, 8, 4)), 0);
  const at::Tensor added = at::matmul(at::matmul(x, down.t()), up.t()) * 0.5;
  EXPECT_LT(difference(out.narrow(2, 4, 4), base.narrow(2, 4, 4) + added), 1e-5);
}

TEST_F(Ops, AdaptedLinearHasTheRightGradients) {
  const at::Tensor weight = at::randn({12, 8}, at::kDouble);
  expect_gradients(
      [&](const std::vector<at::Tensor>& in) {
        const std::vector<Adapter> adapters = {{in[1], in[2], 4, 0.5}, {in[3], in[4], 0, 2.0}};
        return adapted_linear(in[0], weight, adapters).square().sum();
      },
      {random_leaf({2, 3, 8}), random_leaf({2, 8}), random_leaf({4, 2}), random_leaf({3, 8}), random_leaf({12, 3})},
      1e-5, 1e-4);
}

TEST_F(Ops, SwigluIsSiluOfGateTimesUp) {
  const at::Tensor gate_up = random_leaf({3, 8});
  const at::Tensor gate = gate_up.narrow(1, 0, 4);
  EXPECT_LT(difference(swiglu(gate_up), gate * at::sigmoid(gate) * gate_up.narrow(1, 4, 4)), 1e-12);
  expect_gradients([](const std::vector<at::Tensor>& in) { return swiglu(in[0]).square().sum(); }, {gate_up}, 1e-5,
                   1e-6);
}

TEST_F(Ops, AddAndNormReturnsTheSumAndItsNorm) {
  const at::Tensor x = at::randn({4, 16});
  const at::Tensor delta = at::randn({4, 16});
  const at::Tensor weight = at::randn({16});
  const at::Tensor bias = at::randn({16});
  const auto out = add_and_norm(x, delta, {weight, bias}, at::kFloat);
  EXPECT_EQ(difference(out.residual, x + delta), 0);
  const at::Tensor sum = x + delta;
  const at::Tensor centred = sum - sum.mean(-1, true);
  const at::Tensor layer = centred / (centred.square().mean(-1, true) + 1e-5).sqrt() * weight + bias;
  EXPECT_LT(difference(out.normed, layer), 1e-5);
  const auto rms = add_and_norm(x, at::Tensor(), {weight, {}}, at::kFloat);
  EXPECT_LT(difference(rms.normed, x / (x.square().mean(-1, true) + 1e-5).sqrt() * weight), 1e-5);
}

TEST_F(Ops, AStreamInFp32TakesBranchesInBf16) {
  const at::Tensor x = at::randn({4, 16}).set_requires_grad(true);
  const at::Tensor delta = at::randn({4, 16}).to(at::kBFloat16).set_requires_grad(true);
  const auto out = add_and_norm(x, delta, {at::ones({16}), at::zeros({16})}, at::kBFloat16);
  EXPECT_EQ(out.normed.scalar_type(), at::kBFloat16);
  EXPECT_EQ(difference(out.residual, x + delta.to(at::kFloat)), 0) << "the sum is not rounded";
  torch::autograd::backward({(out.residual * 1.0009765625).sum()}, {});
  EXPECT_EQ(difference(x.grad(), at::full({4, 16}, 1.0009765625)), 0) << "nor is its gradient";
  EXPECT_EQ(delta.grad().scalar_type(), at::kBFloat16);
}

TEST_F(Ops, RotaryTableTurnsByThePositionAndScalesLongWavesOnly) {
  const RotaryTable plain = rotary_table(4, 8, 10000, {}, at::kCPU);
  EXPECT_NEAR(plain.cosine[3][0].item<double>(), std::cos(3.0), 1e-6);
  EXPECT_NEAR(plain.sine[2][1].item<double>(), std::sin(2.0 * std::pow(10000.0, -0.25)), 1e-6);
  const RotaryTable scaled = rotary_table(4, 128, 500000, {.factor = 8}, at::kCPU);
  const RotaryTable unscaled = rotary_table(4, 128, 500000, {}, at::kCPU);
  EXPECT_NEAR(scaled.sine[1][0].item<double>(), unscaled.sine[1][0].item<double>(), 1e-7);  // a short wave
  const double slowest = std::pow(500000.0, -126.0 / 128);
  EXPECT_NEAR(scaled.sine[1][63].item<double>(), std::sin(slowest / 8), 1e-9);
}

TEST_F(Ops, AttentionKernelsAgree) {
  const HeadShape shape{4, 2, 8};
  const at::Tensor packed = at::randn({2, 6, (4 + 2 * 2) * 8}, at::kDouble);
  const RotaryTable rotary = rotary_table(6, 8, 10000, {}, at::kCPU);
  for (const bool causal : {true, false}) {
    const at::Tensor eager = packed_attention(packed, shape, &rotary, {Attention::eager, causal, 0});
    for (const Attention kind : {Attention::math, Attention::sdpa}) {
      choose_attention(kind, at::kCPU, at::kDouble);
      EXPECT_LT(difference(packed_attention(packed, shape, &rotary, {kind, causal, 0}), eager), 1e-6)
          << name_of(kind) << (causal ? ", causal" : "");
    }
  }
}

TEST_F(Ops, CausalAttentionDoesNotSeeTheFuture) {
  const HeadShape shape{2, 2, 4};
  const at::Tensor packed = at::randn({1, 5, 24});
  at::Tensor changed = packed.clone();
  changed[0][4] += 1;
  for (const Attention kind : {Attention::eager, Attention::sdpa}) {
    const at::Tensor before = packed_attention(packed, shape, nullptr, {kind, true, 0});
    const at::Tensor after = packed_attention(changed, shape, nullptr, {kind, true, 0});
    EXPECT_LT(difference(before.narrow(1, 0, 4), after.narrow(1, 0, 4)), 1e-6);
    EXPECT_GT(difference(before.narrow(1, 4, 1), after.narrow(1, 4, 1)), 1e-3);
  }
}

TEST_F(Ops, AttentionHasTheRightGradients) {
  const RotaryTable rotary = rotary_table(3, 4, 10000, {}, at::kCPU);
  const RotaryTable exact{rotary.cosine.to(at::kDouble), rotary.sine.to(at::kDouble)};
  for (const Attention kind : {Attention::eager, Attention::sdpa}) {
    // Rotation computes in fp32: larger steps, a looser tolerance.
    expect_gradients(
        [&](const std::vector<at::Tensor>& in) {
          return packed_attention(in[0], {2, 1, 4}, &exact, {kind, true, 0}).square().sum();
        },
        {random_leaf({2, 3, 16})}, 1e-2, 5e-3);
  }
}

TEST_F(Ops, FusedKernelsAreRefusedOnTheCpuWithTheReason) {
  for (const Attention kind : {Attention::flash, Attention::efficient, Attention::cudnn}) {
    try {
      choose_attention(kind, at::kCPU, at::kFloat);
      FAIL() << name_of(kind);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("CPU"), std::string::npos) << error.what();
    }
  }
}

TEST_F(Ops, HeadLossIsTheMeanOverAskedTargets) {
  const at::Tensor hidden = at::randn({4, 8});
  const at::Tensor weight = at::randn({16, 8});  // 10 classes, 6 rows of padding
  const at::Tensor targets = at::tensor({3, -100, 9, 0}, at::kLong);
  const at::Tensor logits = at::mm(hidden, weight.t()).narrow(1, 0, 10);
  const at::Tensor chances = at::log_softmax(logits, 1);
  const double expected = -(chances[0][3] + chances[2][9] + chances[3][0]).item<double>() / 3;
  EXPECT_NEAR(head_loss(hidden, weight, at::Tensor(), targets, 10, true, at::Tensor()).item<double>(), expected, 1e-5);
  const at::Tensor score = head_score(hidden, weight, at::Tensor(), targets, 10);
  EXPECT_NEAR(score[0].item<double>(), 3 * expected, 1e-4);
  EXPECT_EQ(score[2].item<double>(), 3);
  const at::Tensor best = logits.argmax(1);
  const at::Tensor right = head_score(hidden, weight, at::Tensor(), best, 10);
  EXPECT_EQ(right[1].item<double>(), 4);
}

TEST_F(Ops, GradientScaleMultipliesGradientsAndNotTheLoss) {
  const at::Tensor hidden = random_leaf({4, 8}, at::kFloat);
  const at::Tensor weight = random_leaf({8, 8}, at::kFloat);
  const at::Tensor targets = at::tensor({1, 2, 3, 4}, at::kLong);
  const at::Tensor plain = head_loss(hidden, weight, at::Tensor(), targets, 8, false, at::Tensor());
  torch::autograd::backward({plain}, {});
  const at::Tensor first = weight.grad().clone();
  weight.mutable_grad() = at::Tensor();
  const at::Tensor scaled = head_loss(hidden, weight, at::Tensor(), targets, 8, false, at::full({1}, 4.0));
  torch::autograd::backward({scaled}, {});
  EXPECT_EQ(plain.item<double>(), scaled.item<double>());
  EXPECT_LT(difference(weight.grad(), first * 4), 1e-6);
}

TEST_F(Ops, CheckpointingGivesTheSameResultAndGradients) {
  const at::Tensor weight = random_leaf({6, 6}, at::kFloat);
  const at::Tensor x = random_leaf({3, 6}, at::kFloat);
  const at::Tensor delta = random_leaf({3, 6}, at::kFloat);
  const Block block = [&](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    const at::Tensor sum = in.size() > 1 ? in[0] + in[1] : in[0];
    return {sum, at::tanh(at::mm(sum, weight))};
  };
  const auto run = [&](bool checkpointed) {
    for (const auto& leaf : {weight, x, delta}) leaf.mutable_grad() = at::Tensor();
    auto state = checkpointed ? checkpoint(block, {x, delta}, false) : block({x, delta});
    state = checkpointed ? checkpoint(block, state, false) : block(state);
    const at::Tensor loss = (state[0] * state[1]).sum();
    torch::autograd::backward({loss}, {});
    return std::vector<at::Tensor>{loss.detach(), weight.grad().clone(), x.grad().clone(), delta.grad().clone()};
  };
  const auto plain = run(false);
  const auto checkpointed = run(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_LT(difference(plain[i], checkpointed[i]), 1e-6) << i;
}

TEST_F(Ops, CheckpointingRepeatsDropout) {
  const at::Tensor x = random_leaf({64, 64}, at::kFloat);
  const Block block = [](const std::vector<at::Tensor>& in) -> std::vector<at::Tensor> {
    return {at::dropout(in[0], 0.5, true)};
  };
  const at::Tensor out = checkpoint(block, {x}, true)[0];
  torch::autograd::backward({out.sum()}, {});
  // Where dropout let a value through, its gradient is 2; the second run must have dropped the same ones.
  EXPECT_EQ(difference(x.grad(), out.detach().ne(0).to(at::kFloat) * 2), 0);
}

TEST_F(Ops, BatchNormAddsTheShortcutBeforeTheRelu) {
  const at::Tensor x = at::randn({4, 8, 3, 3});
  const at::Tensor other = at::randn({4, 8, 3, 3});
  const BatchNormState state{at::rand({8}), at::randn({8}), at::zeros({8}), at::ones({8})};
  const at::Tensor mean = x.mean({0, 2, 3}, true);
  const at::Tensor variance = x.var({0, 2, 3}, false, true);
  const at::Tensor normal =
      (x - mean) / (variance + 1e-5).sqrt() * state.weight.view({1, 8, 1, 1}) + state.bias.view({1, 8, 1, 1});
  EXPECT_LT(difference(batch_norm(x, state, other, true, true).value, at::relu(normal + other)), 1e-4);
  EXPECT_LT(difference(state.running_mean, mean.view({8}) * 0.1), 1e-5);
  const at::Tensor later = batch_norm(x, state, at::Tensor(), false, false).value;
  EXPECT_GT(difference(later, normal), 0.1) << "evaluation uses the running statistics";
}

}  // namespace
}  // namespace assay::engine
