#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "core/parameters.h"
#include "optim/optimizer.h"
#include "parallel/gradient_buckets.h"
#include "parallel/group.h"
#include "parallel/test_ranks.h"

namespace assay::engine {
namespace {

constexpr int kSteps = 4;
constexpr int kOverflowAt = 1;

/// What TrainingStep::run does after the loss, where fp16's factor matters; rank 1 overflows once.
void train_with_an_overflow(const TestRank& rank) {
  ControlOptions control;
  control.listening_fd = rank.listening_fd;
  const auto group = join_group(rank.place, at::kCPU, std::move(control));
  Parameters parameters;
  Parameter& weight = parameters.add("w", {256}, Init::ones());
  parameters.allocate(at::kCPU, {}, 1);
  TrainSpec spec = parse_train_spec({});
  spec.optimizer = Optimizer::sgd;
  const auto update = make_update(spec, parameters.arenas());
  StepLedger ledger(8, 0, true, at::kCPU);
  ledger.plan(0, std::vector<StepValues>(kSteps, {.learning_rate = 0.5F}));
  GradientBuckets buckets(parameters.arenas(), *group);
  for (int step = 0; step < kSteps; ++step) {
    parameters.zero_grad();
    const bool overflows = rank.place.rank == 1 && step == kOverflowAt;
    const double own = overflows ? std::numeric_limits<double>::infinity() : 1.0 + rank.place.rank;
    buckets.prepare(true);
    torch::autograd::backward({(weight.value * own).sum() * ledger.loss_scale().item<float>()}, {});
    buckets.finish();
    const at::NoGradGuard no_grad;
    update->apply(ledger.begin_update(parameters.arenas()));
    ledger.end_step(at::zeros({1}));
    EXPECT_EQ(ledger.loss_scale().item<float>(), step < kOverflowAt ? LossScale::kFirst : LossScale::kFirst / 2)
        << "rank " << rank.place.rank << ", step " << step;
  }
  // The mean gradient is 1.5; the step that overflowed is left out on both ranks.
  EXPECT_FLOAT_EQ(weight.master[7].item<float>(), 1 - 0.5F * 1.5F * (kSteps - 1));
  group->leave();
}

TEST(LossScaling, AnOverflowOnOneRankHalvesTheScaleOfAllInTheSameStep) {
  TestRanks ranks(2, train_with_an_overflow);
  ranks.expect_success();
}

}  // namespace
}  // namespace assay::engine
