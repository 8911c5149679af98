#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/eight_bit.h"
#include "optim/optimizer.h"

namespace assay::engine {
namespace {

class Optimisers : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(5);
    parameters_.add("w", {300}, Init::normal(1));
    parameters_.allocate(at::kCPU, {}, 1);
    arena().grad.copy_(at::randn_like(arena().grad));
  }
  Arena& arena() { return parameters_.arenas()[0]; }
  at::Tensor values(double rate, int step, double multiplier = 1) {
    return at::tensor({rate, 1 - std::pow(0.9, step), 1 - std::pow(0.999, step), multiplier}, at::kFloat);
  }

  Parameters parameters_;
};

// The formulas of Kingma and Ba, and of Loshchilov and Hutter for the decoupled decay, in double precision.
TEST_F(Optimisers, AdamwAndAdamFollowTheirDefinitions) {
  for (const Optimizer kind : {Optimizer::adamw, Optimizer::adam}) {
    TrainSpec spec = parse_train_spec({});
    spec.optimizer = kind;
    spec.weight_decay = 0.1;
    const auto update = make_update(spec, parameters_.arenas());
    at::Tensor expected = arena().master.to(at::kDouble);
    at::Tensor m = at::zeros_like(expected);
    at::Tensor v = at::zeros_like(expected);
    for (int step = 1; step <= 5; ++step) {
      arena().grad.copy_(at::randn_like(arena().grad));
      at::Tensor g = arena().grad.to(at::kDouble) * 0.5;
      if (kind == Optimizer::adamw) {
        expected = expected * (1 - 0.01 * 0.1);
      } else {
        g = g + expected * 0.1;
      }
      m = m * 0.9 + g * 0.1;
      v = v * 0.999 + g * g * 0.001;
      expected = expected - (m / (1 - std::pow(0.9, step))) / ((v / (1 - std::pow(0.999, step))).sqrt() + 1e-8) * 0.01;
      update->apply(values(0.01, step, 0.5));
    }
    EXPECT_LT((arena().master - expected).abs().max().item<double>(), 1e-5) << name_of(kind);
  }
}

TEST_F(Optimisers, SgdSubtractsTheScaledGradient) {
  TrainSpec spec = parse_train_spec({});
  spec.optimizer = Optimizer::sgd;
  const auto update = make_update(spec, parameters_.arenas());
  const at::Tensor expected = arena().master - arena().grad * 0.05;
  update->apply(values(0.1, 1, 0.5));
  EXPECT_LT((arena().master - expected).abs().max().item<double>(), 1e-6);
}

TEST_F(Optimisers, ASkippedStepChangesNothing) {
  for (const Optimizer kind : {Optimizer::sgd, Optimizer::adamw, Optimizer::adamw_8bit}) {
    TrainSpec spec = parse_train_spec({});
    spec.optimizer = kind;
    spec.weight_decay = 0.5;
    const auto update = make_update(spec, parameters_.arenas());
    const at::Tensor before = arena().master.clone();
    arena().grad.fill_(std::nan(""));
    update->apply(values(0.1, 1, 0));
    EXPECT_TRUE(at::equal(before, arena().master)) << name_of(kind);
  }
}

TEST_F(Optimisers, EightBitStatesFollowTheExactOnesAndTakeAQuarter) {
  TrainSpec spec = parse_train_spec({});
  spec.optimizer = Optimizer::adamw_8bit;
  Parameters exact;
  exact.add("w", {300}, Init::normal(1));
  exact.allocate(at::kCPU, {}, 1);
  TrainSpec exact_spec = parse_train_spec({});
  const auto update = make_update(spec, parameters_.arenas());
  const auto reference = make_update(exact_spec, exact.arenas());
  const at::Tensor start = arena().master.clone();
  for (int step = 1; step <= 50; ++step) {
    const at::Tensor gradient = at::randn_like(arena().grad) * 0.3 + arena().master * 0.5;
    arena().grad.copy_(gradient);
    exact.arenas()[0].grad.copy_(gradient);
    update->apply(values(0.01, step));
    reference->apply(values(0.01, step));
  }
  const double moved = (exact.arenas()[0].master - start).norm().item<double>();
  const double apart = (exact.arenas()[0].master - arena().master).norm().item<double>();
  EXPECT_LT(apart, 0.05 * moved);
  EXPECT_LT(update->device_bytes() * 3.9, static_cast<double>(reference->device_bytes()));
}

TEST(EightBit, CodesAreWithinFivePercentAndNeverLoseASign) {
  for (int i = -100; i <= 100; ++i) {
    const float value = (i < 0 ? -1.0F : 1.0F) * std::exp2(-static_cast<float>(std::abs(i)) * 0.15F);
    EXPECT_NEAR(eight_bit::decode_signed(eight_bit::encode_signed(value)) / value, 1, 0.05) << value;
    const float square = value * value;
    EXPECT_NEAR(eight_bit::decode_unsigned(eight_bit::encode_unsigned(square)) / square, 1, 0.05) << square;
  }
  EXPECT_EQ(eight_bit::decode_signed(eight_bit::encode_signed(0)), 0);
  EXPECT_EQ(eight_bit::decode_signed(eight_bit::encode_signed(1)), 1);
  EXPECT_GT(eight_bit::decode_unsigned(eight_bit::encode_unsigned(1e-30F)), 0);
}

TEST(Schedule, WarmsUpThenFollowsItsCourse) {
  TrainSpec spec = parse_train_spec({});
  spec.learning_rate = 1;
  spec.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0, 110), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 9, 110), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 80, 110), 1);
  spec.schedule = Schedule::linear;
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 60, 110), 0.5);
  spec.schedule = Schedule::cosine;
  EXPECT_NEAR(learning_rate_at(spec, 60, 110), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate_at(spec, 110, 110), 0, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 60, 0), 1) << "no end is known";
}

TEST_F(Optimisers, LedgerClipsUnscalesAndRemembers) {
  StepLedger ledger(4, 1.0, true, at::kCPU);
  ledger.plan(0, {0.5F, 0.25F});
  arena().grad.zero_();
  arena().grad[0] = 3 * ledger.loss_scale().item<float>();
  arena().grad[1] = 4 * ledger.loss_scale().item<float>();
  const at::Tensor first = ledger.begin_update(parameters_.arenas()).clone();
  EXPECT_FLOAT_EQ(first[0].item<float>(), 0.5F);
  EXPECT_NEAR(first[3].item<double>() * ledger.loss_scale().item<double>(), 0.2, 1e-5);
  ledger.end_step(at::full({1}, 7.0));
  EXPECT_FLOAT_EQ(ledger.ring()[0][0].item<float>(), 7);
  EXPECT_NEAR(ledger.ring()[0][1].item<double>(), 5, 1e-3);
  arena().grad[0] = INFINITY;
  const at::Tensor second = ledger.begin_update(parameters_.arenas()).clone();
  EXPECT_FLOAT_EQ(second[0].item<float>(), 0.25F);
  EXPECT_EQ(second[3].item<float>(), 0) << "an overflow skips the step";
  const double scale = ledger.loss_scale().item<double>();
  ledger.end_step(at::full({1}, 7.0));
  EXPECT_EQ(ledger.loss_scale().item<double>(), scale / 2) << "the step itself decides, nobody has to look";
}

TEST_F(Optimisers, BiasCorrectionsCountTheStepsThatWereApplied) {
  StepLedger ledger(4, 0, true, at::kCPU);
  ledger.plan(0, {1, 1, 1, 1});
  int applied = 0;
  for (const bool overflows : {false, true, true, false, false, false}) {
    arena().grad.fill_(overflows ? INFINITY : 1.0F);
    const at::Tensor values = ledger.begin_update(parameters_.arenas());
    const int t = applied + 1;
    EXPECT_NEAR(values[1].item<double>(), 1 - std::pow(0.9, t), 1e-6) << "step " << t;
    EXPECT_NEAR(values[2].item<double>() / (1 - std::pow(0.999, t)), 1, 2e-5) << "step " << t;
    ledger.end_step(at::ones({1}));
    if (!overflows) applied = t;
  }
  EXPECT_EQ(applied, 4);
}

TEST(BiasCorrection, IsOneMinusAPowerForEveryStep) {
  for (const float beta : {0.9F, 0.999F}) {
    for (const double t : {1.0, 2.0, 10.0, 1000.0, 1e5, 1e9}) {
      const double wanted = 1 - std::pow(static_cast<double>(beta), t);
      EXPECT_NEAR(bias_correction(beta, static_cast<float>(t)) / wanted, 1, 1e-6) << beta << ' ' << t;
    }
  }
}

TEST(LossScaling, GrowsAfterTwoThousandGoodStepsAndStaysInItsRange) {
  LossScale state;
  for (int i = 0; i < 1999; ++i) state = after_step(state, false);
  EXPECT_EQ(state.scale, LossScale::kFirst);
  state = after_step(state, false);
  EXPECT_EQ(state.scale, 2 * LossScale::kFirst);
  for (int i = 0; i < 1999; ++i) state = after_step(state, false);
  state = after_step(state, true);
  EXPECT_EQ(state.scale, LossScale::kFirst);
  EXPECT_EQ(state.good_steps, 0) << "an overflow starts the count anew";
  for (int i = 0; i < 100; ++i) state = after_step(state, true);
  EXPECT_EQ(state.scale, LossScale::kLeast);
  for (int i = 0; i < 100 * 2000; ++i) state = after_step(state, false);
  EXPECT_EQ(state.scale, LossScale::kMost);
}

}  // namespace
}  // namespace assay::engine
