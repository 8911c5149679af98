#include "parallel/gradient_buckets.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "parallel/test_ranks.h"

namespace assay::engine {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kInputs = 3;
constexpr std::int64_t kHidden = 5;
constexpr std::int64_t kBatch = 8;

/// Numbers without a pattern that would hide an error, the same in every process.
at::Tensor some_values(std::vector<std::int64_t> shape, double phase) {
  std::int64_t count = 1;
  for (const auto length : shape) count *= length;
  return (at::arange(0, count, at::kFloat) * 1.7 + phase).sin().reshape(shape);
}

/// y = tanh(x·W1)·W2 + b, with an unused parameter in between; parameters as Parameters::allocate lays them out.
struct Model {
  explicit Model(at::ScalarType format) {
    const std::vector<std::pair<const char*, std::vector<std::int64_t>>> shapes = {
        {"w1", {kInputs, kHidden}}, {"unused", {4}}, {"w2", {kHidden, 2}}, {"bias", {2}}};
    std::int64_t total = 0;
    for (const auto& [name, shape] : shapes) {
      Parameter parameter;
      parameter.parts = {{.name = name}};
      parameter.shape = shape;
      parameters.push_back(parameter);
      total += shape.size() == 2 ? shape[0] * shape[1] : shape[0];
    }
    total += kGap;
    Arena arena;
    arena.work = at::zeros({total}, format);
    arena.grad = at::zeros({total}, format);
    std::int64_t offset = 0;
    for (auto& parameter : parameters) {
      const at::Tensor values = some_values(parameter.shape, static_cast<double>(offset));
      const std::int64_t count = values.numel();
      parameter.value = arena.work.narrow(0, offset, count).view(parameter.shape).detach();
      parameter.value.copy_(values);
      parameter.value.set_requires_grad(true);
      parameter.value.mutable_grad() = arena.grad.narrow(0, offset, count).view(parameter.shape);
      arena.slices.push_back({.parameter = &parameter, .offset = offset, .count = count});
      offset += count;
      if (&parameter == &parameters.front()) offset += kGap;
    }
    arenas.push_back(arena);
  }

  at::Tensor loss(const at::Tensor& rows) {
    const at::Tensor x = rows.to(arenas[0].work.scalar_type());
    return (at::mm(at::tanh(at::mm(x, parameters[0].value)), parameters[2].value) + parameters[3].value).pow(2).mean();
  }

  static constexpr std::int64_t kGap = 3;  // between w1 and the next one, as alignment makes them
  std::deque<Parameter> parameters;
  std::vector<Arena> arenas;
};

at::Tensor whole_batch() { return some_values({kBatch, kInputs}, 0.5); }
at::Tensor my_batch(const Group& group) {
  const std::int64_t rows = kBatch / group.size();
  return whole_batch().narrow(0, rows * group.rank(), rows);
}

/// What one rank with the whole batch has.
at::Tensor reference_gradient(at::ScalarType format, int passes) {
  Model model(format);
  for (int i = 0; i < passes; ++i) model.loss(whole_batch()).backward();
  return model.arenas[0].grad;
}

double largest_difference(const at::Tensor& left, const at::Tensor& right) {
  return (left.to(at::kDouble) - right.to(at::kDouble)).abs().max().item<double>();
}

std::unique_ptr<Group> join_as(const TestRank& rank) {
  return join_group(rank.place, at::kCPU, {.listening_fd = rank.listening_fd});
}

class GradientBucketsOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, GradientBucketsOf, testing::Values(2, 4), testing::PrintToStringParamName());

TEST_P(GradientBucketsOf, GiveTheGradientOfTheWholeBatch) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_as(rank);
    const at::Tensor expected = reference_gradient(at::kFloat, 1);
    ASSERT_GT(expected.abs().max().item<double>(), 1e-3);
    for (const std::int64_t bucket_bytes : {1, 40, 1 << 20}) {
      Model model(at::kFloat);
      GradientBuckets buckets(model.arenas, *group, bucket_bytes);
      EXPECT_EQ(buckets.count(), bucket_bytes == 1 ? 4U : bucket_bytes == 40 ? 2U : 1U);
      for (int step = 0; step < 3; ++step) {
        model.arenas[0].grad.zero_();
        buckets.prepare(true);
        model.loss(my_batch(*group)).backward();
        EXPECT_EQ(buckets.left_early(), step == 0 ? 0U : buckets.count());
        buckets.finish();
        EXPECT_LT(largest_difference(model.arenas[0].grad, expected), 1e-6);
      }
    }
    group->leave();
  }).expect_success();
}

TEST_P(GradientBucketsOf, CommunicateOnceAfterAccumulation) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_as(rank);
    const at::Tensor expected = reference_gradient(at::kFloat, 3);
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group, 1);
    for (int step = 0; step < 3; ++step) {
      model.arenas[0].grad.zero_();
      for (int pass = 0; pass < 3; ++pass) {
        buckets.prepare(pass == 2);
        model.loss(my_batch(*group)).backward();
        EXPECT_EQ(buckets.left_early(), step == 0 || pass < 2 ? 0U : buckets.count());
        buckets.finish();
      }
      EXPECT_LT(largest_difference(model.arenas[0].grad, expected), 2e-6);
    }
    group->leave();
  }).expect_success();
}

TEST_P(GradientBucketsOf, WorkInBf16) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_as(rank);
    const at::Tensor expected = reference_gradient(at::kFloat, 1);
    const double largest = expected.abs().max().item<double>();
    Model model(at::kBFloat16);
    GradientBuckets buckets(model.arenas, *group, 40);
    for (int step = 0; step < 2; ++step) {
      model.arenas[0].grad.zero_();
      buckets.prepare(true);
      model.loss(my_batch(*group)).backward();
      buckets.finish();
      EXPECT_LT(largest_difference(model.arenas[0].grad, expected), 0.03 * largest);
      const auto sums = group->gather(model.arenas[0].grad.to(at::kDouble).sum().item<double>());
      for (const auto& sum : sums) EXPECT_EQ(sum, sums[0]) << "the ranks have different gradients";
    }
    group->leave();
  }).expect_success();
}

TEST(GradientBuckets, WaitForGradientsThatAreAddedToTwice) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_as(rank);
    const at::Tensor expected = reference_gradient(at::kFloat, 2);
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group, 1);
    for (int step = 0; step < 3; ++step) {
      model.arenas[0].grad.zero_();
      buckets.prepare(true);
      model.loss(my_batch(*group)).backward();
      EXPECT_EQ(buckets.left_early(), 0U);  // as if a layer were used twice: the second half is to come
      model.loss(my_batch(*group)).backward();
      EXPECT_EQ(buckets.left_early(), step == 0 ? 0U : buckets.count());
      buckets.finish();
      EXPECT_LT(largest_difference(model.arenas[0].grad, expected), 2e-6);
    }
    group->leave();
  }).expect_success();
}

TEST(GradientBuckets, SendWhatGotNoGradientInThisPass) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_as(rank);
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group, 1);
    for (int step = 0; step < 3; ++step) {
      model.arenas[0].grad.zero_();
      buckets.prepare(true);
      // After the first step, rank 1 uses the bias only.
      if (step == 0 || rank.place.rank == 0) {
        model.loss(whole_batch()).backward();
      } else {
        model.parameters[3].value.sum().backward();
      }
      buckets.finish();
    }
    const at::Tensor halved = reference_gradient(at::kFloat, 1) / 2;
    const std::int64_t all_but_bias = model.arenas[0].grad.numel() - 2;
    EXPECT_LT(largest_difference(model.arenas[0].grad.narrow(0, 0, all_but_bias), halved.narrow(0, 0, all_but_bias)),
              1e-6);
    EXPECT_LT(
        largest_difference(model.arenas[0].grad.narrow(0, all_but_bias, 2), halved.narrow(0, all_but_bias, 2) + 0.5),
        1e-6);
    group->leave();
  }).expect_success();
}

TEST(GradientBuckets, RefuseAGradientThatComesTooLate) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_as(rank);
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group, 1);
    buckets.prepare(true);
    model.loss(my_batch(*group)).backward();
    buckets.finish();
    buckets.prepare(true);
    model.loss(my_batch(*group)).backward();
    model.loss(my_batch(*group)).backward();
    EXPECT_THROW(buckets.finish(), std::logic_error);
    group->gather(nullptr);  // whoever ended now would be a lost peer to the other
  }).expect_success();
}

TEST(GradientBuckets, LeaveNoHooksBehind) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_as(rank);
    Model model(at::kFloat);
    {
      const GradientBuckets buckets(model.arenas, *group, 1);
    }
    model.loss(whole_batch()).backward();
    EXPECT_TRUE(at::equal(model.arenas[0].grad, reference_gradient(at::kFloat, 1)));
    group->leave();
  }).expect_success();
}

TEST(GradientBuckets, DoNothingForOneRank) {
  TestRanks(1, [](const TestRank&) {
    const auto group = single_group();
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group);
    EXPECT_EQ(buckets.count(), 0U);
    buckets.prepare(true);
    model.loss(whole_batch()).backward();
    EXPECT_EQ(buckets.finish(), 0);
    EXPECT_TRUE(at::equal(model.arenas[0].grad, reference_gradient(at::kFloat, 1)));
  }).expect_success();
}

TEST(GradientBuckets, RefuseGradientsOutsideTheArena) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_as(rank);
    Model model(at::kFloat);
    model.parameters[0].value.mutable_grad() = at::zeros({kInputs, kHidden});
    EXPECT_THROW(GradientBuckets(model.arenas, *group), std::logic_error);
  }).expect_success();
}

TEST(GradientBuckets, ThrowInFinishWhenARankDiesDuringTheBackwardPass) {
  TestRanks ranks(3, [](const TestRank& rank) {
    const auto group = join_as(rank);
    Model model(at::kFloat);
    GradientBuckets buckets(model.arenas, *group, 1);
    bool told = false;
    try {
      while (true) {
        buckets.prepare(true);
        model.loss(whole_batch()).backward();
        buckets.finish();
        if (!told) rank.say("ready");
        told = true;
      }
    } catch (const PeerFailure& failure) {
      rank.say(failure.what());
    }
  });
  ranks.wait_for(1, "ready");
  ranks.signal(1, SIGKILL);
  EXPECT_THAT(ranks.said(0), HasSubstr("rank 1 of 3"));
  EXPECT_THAT(ranks.said(2), HasSubstr("rank 1 of 3"));
  EXPECT_EQ(ranks.exit_code(0), 0);
}

}  // namespace
}  // namespace assay::engine
