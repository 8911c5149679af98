#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "parallel/group.h"
#include "parallel/test_ranks.h"
#include "train/batch_estimate.h"
#include "train/trainer.h"

// Ranks are processes of their own on the CPU; see TestRanks.

namespace assay::engine {
namespace {

std::unique_ptr<Group> group_of(const TestRank& rank) {
  ControlOptions control;
  control.listening_fd = rank.listening_fd;
  return join_group(rank.place, at::kCPU, std::move(control));
}

double checksum(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).flatten();
  return (values * at::arange(1, values.numel() + 1, at::kDouble).sin()).sum().item<double>();
}

void expect_same_on_all_ranks(Group& group, const at::Tensor& tensor, const std::string& about) {
  const auto sums = group.gather(checksum(tensor));
  for (const auto& sum : sums) EXPECT_EQ(sum.as_double(), sums[0].as_double()) << about;
}

// --- Evaluation ------------------------------------------------------------------------------------------------------

TrainSpec resnet_spec() {
  return parse_train_spec({{"model", {{"name", "resnet18"}}}, {"optimizer", "sgd"}, {"learning_rate", 1e-3}});
}
constexpr DataShape kSmallImages{.kind = DataShape::Kind::images, .image_size = 32, .classes = 10};

Batch random_images(std::uint64_t seed) {
  at::manual_seed(seed);
  return {at::randint(256, {4, 32, 32, 3}, at::kByte), at::randint(10, {4}, at::kLong)};
}

/// What all ranks get where only `reader` has something to score.
at::Tensor scored_by(int reader, TrainingStep& step, Group& group) {
  bool is_left = group.rank() == reader;
  return step.score([&]() -> std::optional<Batch> {
    if (!is_left) return std::nullopt;
    is_left = false;
    return random_images(77);
  });
}

void score_after_training_on_unlike_images(const TestRank& rank) {
  const auto group = group_of(rank);
  const TrainSpec spec = resnet_spec();
  TrainingStep step(spec, kSmallImages, at::kCPU, *group, 8);
  step.ledger().plan(0, {1e-3F, 1e-3F});
  for (std::uint64_t i = 0; i < 2; ++i) {
    step.run({random_images(10 * i + static_cast<std::uint64_t>(group->rank()))}, nullptr);
  }
  std::vector<at::Tensor> own;
  for (const auto& parameter : step.model().parameters().all()) {
    if (parameter.buffer) own.push_back(parameter.value.clone());
  }
  const at::Tensor first = scored_by(0, step, *group);
  const at::Tensor second = scored_by(1, step, *group);
  EXPECT_TRUE(at::equal(first, second)) << "scored by rank 0: " << first << "scored by rank 1: " << second;
  EXPECT_EQ(first[2].item<float>(), 4);
  std::size_t i = 0;
  for (const auto& parameter : step.model().parameters().all()) {
    if (!parameter.buffer) continue;
    at::Tensor mean = own[i++];
    group->start_mean(mean);
    group->finish();
    EXPECT_TRUE(at::allclose(parameter.value, mean)) << parameter.name();
  }
  EXPECT_EQ(i, 40u) << "resnet18 has 20 batch norms";
  group->leave();
}

TEST(TrainingSteps, WhichRankScoresASampleDoesNotMatter) {
  TestRanks ranks(2, score_after_training_on_unlike_images);
  ranks.expect_success();
}

// --- The start -------------------------------------------------------------------------------------------------------

TrainSpec lora_spec(std::uint64_t seed) {
  TrainSpec spec = parse_train_spec(
      {{"model", {{"name", "mistral-7b"}, {"layers", 1}, {"width", 64}, {"heads", 4}, {"vocabulary", 300}}},
       {"task", "lora"},
       {"precision", "bf16"},
       {"dataset", {{"name", "synthetic-tokens"}}}});
  spec.seed = seed;
  return spec;
}

/// As on unlike devices, whose random numbers differ.
void start_with_unlike_random_numbers(const TestRank& rank) {
  const auto group = group_of(rank);
  const auto seed = static_cast<std::uint64_t>(1 + group->rank());
  const TrainSpec lora = lora_spec(seed);
  TrainSpec resnet = resnet_spec();
  resnet.seed = seed;
  TrainingStep adapted(lora, {.kind = DataShape::Kind::tokens, .vocabulary = 300, .seq_length = 8}, at::kCPU, *group,
                       8);
  TrainingStep images(resnet, kSmallImages, at::kCPU, *group, 8);
  for (TrainingStep* step : {&adapted, &images}) {
    for (const auto& parameter : step->model().parameters().all()) {
      expect_same_on_all_ranks(*group, parameter.value, parameter.name());
      expect_same_on_all_ranks(*group, parameter.for_products(), parameter.name() + ", rounded");
    }
  }
  group->leave();
}

TEST(TrainingSteps, EveryRankStartsWithTheSameWeightsFrozenOnesToo) {
  TestRanks ranks(2, start_with_unlike_random_numbers);
  ranks.expect_success();
}

// --- Loss scaling ----------------------------------------------------------------------------------------------------

constexpr DataShape kPoints{.kind = DataShape::Kind::vectors, .features = 4, .classes = 3};
constexpr int kOverflowAt = 1;
const std::vector<float> kRates(8, 0.01F);

std::unique_ptr<Model> small_mlp() {
  const TrainSpec spec = parse_train_spec({{"model", {{"name", "mlp"}, {"hidden", {8}}}}});
  auto model = make_model(spec, kPoints);
  model->parameters().allocate(at::kCPU, {}, 1);
  model->prepare(at::kCPU, at::kFloat);
  return model;
}

Batch points_of(int rank, int step) {
  at::manual_seed(static_cast<std::uint64_t>(100 * rank + step));
  return {at::randn({16, 4}), at::randint(3, {16}, at::kLong)};
}

/// So far out that the scaled gradient has no number in fp32, while the loss has one.
Batch overflowing(Batch batch) {
  batch.inputs = batch.inputs * 1e35;
  return batch;
}

/// The step of fp16 around a model in fp32, since CPUs have no products in fp16. Rank 1 overflows once.
void train_with_an_overflow(const TestRank& rank) {
  const auto group = group_of(rank);
  TrainSpec scaled_spec = parse_train_spec({{"gradient_clipping", 1.0}});
  const TrainSpec plain_spec = scaled_spec;
  scaled_spec.precision = Precision::fp16;
  TrainingStep scaled(scaled_spec, small_mlp(), at::kCPU, *group, 8);
  TrainingStep plain(plain_spec, small_mlp(), at::kCPU, *group, 8);
  scaled.ledger().plan(0, kRates);
  plain.ledger().plan(0, kRates);
  for (int step = 0; step < 5; ++step) {
    const Batch batch = points_of(group->rank(), step);
    if (step != kOverflowAt) plain.run({batch}, nullptr);
    const bool overflows = step == kOverflowAt && group->rank() == 1;
    const at::Tensor before = scaled.model().parameters().arenas()[0].master.clone();
    scaled.run({overflows ? overflowing(batch) : batch}, nullptr);
    const at::Tensor& after = scaled.model().parameters().arenas()[0].master;
    EXPECT_EQ(at::equal(before, after), step == kOverflowAt) << "rank " << group->rank() << ", step " << step;
    EXPECT_EQ(scaled.ledger().loss_scale().item<float>(),
              step < kOverflowAt ? LossScale::kFirst : LossScale::kFirst / 2)
        << "rank " << group->rank() << ", step " << step;
  }
  EXPECT_TRUE(std::isfinite(scaled.ledger().ring()[kOverflowAt][0].item<float>())) << "the loss was a number";
  EXPECT_FALSE(std::isfinite(scaled.ledger().ring()[kOverflowAt][1].item<float>()));
  // The step that was left out is no step for Adam's bias corrections either: the weights are those of four.
  const at::Tensor& got = scaled.model().parameters().arenas()[0].master;
  const at::Tensor& wanted = plain.model().parameters().arenas()[0].master;
  EXPECT_LT((got - wanted).abs().max().item<float>(), 1e-5F);
  expect_same_on_all_ranks(*group, got, "weights");
  group->leave();
}

TEST(LossScaling, AnOverflowOnOneRankLeavesTheStepOutOnAllAndHalvesTheirScale) {
  TestRanks ranks(2, train_with_an_overflow);
  ranks.expect_success();
}

// --- What the log says of it -----------------------------------------------------------------------------------------

/// A step whose loss is a number and whose gradient is not.
void log_an_endless_gradient(bool scales) {
  Parameters parameters;
  parameters.add("w", {256}, Init::ones());
  parameters.allocate(at::kCPU, {}, 1);
  StepLedger ledger(8, 1.0, scales, at::kCPU);
  ledger.plan(0, kRates);
  StepLog log(ledger, {.emits = false, .samples = 1});
  log.begin(0, kRates[0]);
  parameters.arenas()[0].grad.fill_(std::numeric_limits<float>::infinity());
  ledger.begin_update(parameters.arenas());
  ledger.end_step(at::ones({1}));
  log.end();
  log.drain();
  EXPECT_EQ(log.overflows(), 1);
}

TEST(StepLogs, AnEndlessGradientEndsTheRunUnlessTheLossIsScaled) {
  TestRanks ranks(1, [](const TestRank&) {
    log_an_endless_gradient(true);
    try {
      log_an_endless_gradient(false);
      ADD_FAILURE() << "clipping must not turn the step into one that is left out in silence";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.kind(), "nan");
      EXPECT_STREQ(failure.what(), "the gradient's norm is not a finite number at step 0");
    }
  });
  ranks.expect_success();
}

// --- Profiles and hints ----------------------------------------------------------------------------------------------

TEST(Profiles, BeginAfterTheWarmUpWhereThereAreStepsEnough) {
  EXPECT_EQ(first_profiled_step(2, 100), 4);
  EXPECT_EQ(first_profiled_step(10, 12), 2);
  EXPECT_EQ(first_profiled_step(10, 5), 0);
  EXPECT_EQ(first_profiled_step(2, 0), 4) << "a run limited by time has a warm-up as well";
}

TEST(BatchHints, ABatchThatDidNotFitIsNotAdvised) {
  TrainSpec spec = parse_train_spec({});
  spec.batch_size = 1;
  const std::string hint = largest_batch_hint(spec, at::kCPU, 1);
  EXPECT_EQ(hint.find("fit, by"), std::string::npos) << hint;
  EXPECT_NE(hint.find("Not even a batch of 1 fits"), std::string::npos) << hint;
}

}  // namespace
}  // namespace assay::engine
