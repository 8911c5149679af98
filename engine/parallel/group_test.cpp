#include "parallel/group.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "parallel/test_ranks.h"

namespace assay::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::unique_ptr<Group> join_ranks(const TestRank& rank, ControlOptions options = {}) {
  options.listening_fd = rank.listening_fd;
  return join_group(rank.place, at::kCPU, options);
}

void expect_lost_peer(const TestRank& rank, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "rank " << rank.place.rank << " noticed nothing";
  } catch (const PeerFailure& failure) {
    rank.say(failure.kind() + ": " + failure.what() + (failure.reports() ? " [reports]" : " [quiet]"));
  }
}

/// Adds up until somebody is lost. The odd sizes make Gloo cut segments unevenly.
void sum_for_ever(const TestRank& rank, Group& group, std::int64_t size) {
  at::Tensor tensor = at::ones({size});
  group.start_sum(tensor);
  group.finish();
  rank.say("ready");
  expect_lost_peer(rank, [&] {
    while (true) {
      group.start_mean(tensor);
      group.start_mean(tensor);
      group.finish();
    }
  });
  expect_lost_peer(rank, [&] { group.start_sum(tensor); });
  expect_lost_peer(rank, [&] { group.finish(); });
  expect_lost_peer(rank, [&] { group.broadcast(tensor); });
  expect_lost_peer(rank, [&] { group.gather(nullptr); });
}

class GroupOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, GroupOf, testing::Values(2, 3, 4, 5), testing::PrintToStringParamName());

TEST_P(GroupOf, AddsUpInEveryFormat) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    const int size = group->size();
    EXPECT_EQ(group->rank(), rank.place.rank);
    // 1 + 2 + … + size, times the position; all values are exact in every format.
    const at::Tensor positions = at::arange(0, 17, at::kFloat);
    const at::Tensor expected = positions * (size * (size + 1) / 2);
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
      const at::Tensor sum = (positions * (group->rank() + 1)).to(type);
      const at::Tensor mean = (positions * (group->rank() + 1)).to(type);
      group->start_sum(sum);
      group->start_mean(mean);
      EXPECT_GE(group->finish(), 0);
      EXPECT_TRUE(at::equal(sum.to(at::kFloat), expected)) << sum;
      const double tolerance = type == at::kFloat || type == at::kDouble ? 1e-6 : 1e-2;
      EXPECT_TRUE(at::allclose(mean.to(at::kFloat), expected / size, tolerance)) << mean;
    }
    group->leave();
  }).expect_success();
}

TEST_P(GroupOf, RoundsBf16OnlyOnce) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    // 256 + 1 is 256 in bf16; added in fp32, the ones of all other ranks survive.
    const at::Tensor tensor = at::full({3}, group->rank() == 0 ? 256 : 1, at::kBFloat16);
    group->start_sum(tensor);
    group->finish();
    const float sum = 256.0F + static_cast<float>(group->size()) - 1;
    EXPECT_TRUE(at::equal(tensor, at::full({3}, sum, at::kFloat).to(at::kBFloat16)));
    group->leave();
  }).expect_success();
}

TEST_P(GroupOf, AddsUpMoreThanOneSegment) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    constexpr std::int64_t kCount = (5 << 20) + 3;
    const at::Tensor tensor = at::arange(0, kCount, at::kFloat).mul_(group->rank() + 1);
    const at::Tensor empty = at::zeros({0});
    group->start_sum(empty);
    group->start_mean(tensor);
    group->finish();
    EXPECT_TRUE(at::allclose(tensor, at::arange(0, kCount, at::kFloat).mul_((group->size() + 1) / 2.0), 1e-6));
    group->leave();
  }).expect_success();
}

TEST_P(GroupOf, BroadcastsRank0sValues) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    for (const auto type : {at::kFloat, at::kBFloat16, at::kLong, at::kBool}) {
      const at::Tensor tensor = (at::arange(0, 1001).remainder(2) + (group->rank() == 0 ? 0 : 7)).to(type);
      group->broadcast(tensor);
      EXPECT_TRUE(at::equal(tensor, at::arange(0, 1001).remainder(2).to(type)));
    }
    const auto ranks = group->gather(group->rank());
    for (int i = 0; i < group->size(); ++i) EXPECT_EQ(ranks[static_cast<std::size_t>(i)], i);
    group->leave();
  }).expect_success();
}

TEST_P(GroupOf, DoesManySmallSums) {
  TestRanks(GetParam(), [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    std::vector<at::Tensor> tensors;
    for (int round = 0; round < 5; ++round) {
      tensors.clear();
      for (int i = 0; i < 100; ++i) {
        tensors.push_back(at::full({1 + i % 7}, i, at::kFloat));
        group->start_sum(tensors.back());
        if (i % 33 == 0) group->finish();
      }
      group->finish();
      for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(
            at::equal(tensors[static_cast<std::size_t>(i)], at::full({1 + i % 7}, i * group->size(), at::kFloat)));
      }
    }
    group->leave();
  }).expect_success();
}

TEST(Group, RefusesWhatItCannotAddUp) {
  TestRanks(2, [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    EXPECT_THROW(group->start_sum(at::zeros({4, 4}).t()), std::invalid_argument);
    EXPECT_THROW(group->start_sum(at::zeros({4}, at::kLong)), std::invalid_argument);
    EXPECT_THROW(group->broadcast(at::zeros({4, 4}).t()), std::invalid_argument);
    group->leave();
  }).expect_success();
}

TEST(Group, NamesARankThatIsKilledWhileTheyAddUp) {
  // Small sums die between two messages, large ones in the middle of one.
  for (const std::int64_t size : {101, (8 << 20) + 1}) {
    TestRanks ranks(4, [size](const TestRank& rank) { sum_for_ever(rank, *join_ranks(rank), size); });
    ranks.wait_for(2, "ready");
    ranks.wait_for(0, "ready");
    ranks.signal(2, SIGKILL);
    const std::string died = "lost_peer: rank 2 of 4 on " + this_host() + " died ";
    EXPECT_THAT(ranks.said(0), HasSubstr(died + "[reports]"));
    EXPECT_THAT(ranks.said(1), HasSubstr(died + "[quiet]"));
    EXPECT_THAT(ranks.said(3), HasSubstr(died + "[quiet]"));
    for (const int rank : {0, 1, 3}) EXPECT_EQ(ranks.exit_code(rank), 0);
    EXPECT_EQ(ranks.exit_code(2), -SIGKILL);
  }
}

TEST(Group, NamesRank0ThatIsKilledWhileTheyAddUp) {
  TestRanks ranks(3, [](const TestRank& rank) { sum_for_ever(rank, *join_ranks(rank), 70001); });
  ranks.wait_for(0, "ready");
  ranks.signal(0, SIGKILL);
  EXPECT_THAT(ranks.said(1), HasSubstr("lost_peer: rank 0 of 3 on " + this_host() + " died [reports]"));
  EXPECT_THAT(ranks.said(2), HasSubstr("lost_peer: rank 0 of 3 on " + this_host() + " died [quiet]"));
}

TEST(Group, NamesARankThatIsStoppedWhileTheyAddUp) {
  TestRanks ranks(2, [](const TestRank& rank) {
    ControlOptions options;
    options.limits.heartbeat = 300ms;
    options.limits.silence = 2s;
    sum_for_ever(rank, *join_ranks(rank, options), 4 << 20);
  });
  ranks.wait_for(1, "ready");
  ranks.signal(1, SIGSTOP);
  EXPECT_THAT(ranks.said(0), HasSubstr("lost_peer: rank 1 of 2 on " + this_host() + " has given no sign of life"));
  EXPECT_EQ(ranks.exit_code(0), 0);
}

TEST(Group, PassesOnWhyARankFails) {
  TestRanks ranks(3, [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    if (rank.place.rank == 2) return group->fail(Failure("oom", "no memory for the optimiser"));
    expect_lost_peer(rank, [&] {
      group->start_sum(at::ones({100}));
      group->finish();
    });
  });
  const std::string failed = "oom: rank 2 of 3 on " + this_host() + ": no memory for the optimiser ";
  EXPECT_THAT(ranks.said(0), HasSubstr(failed + "[reports]"));
  EXPECT_THAT(ranks.said(1), HasSubstr(failed + "[quiet]"));
  ranks.expect_success();
}

TEST(Group, OfOneIsItself) {
  TestRanks(1, [](const TestRank& rank) {
    const auto group = join_ranks(rank);
    at::Tensor tensor = at::full({2}, 3, at::kFloat);
    group->start_sum(tensor);
    group->start_mean(tensor);
    group->broadcast(tensor);
    EXPECT_EQ(group->finish(), 0);
    EXPECT_TRUE(at::equal(tensor, at::full({2}, 3, at::kFloat)));
    EXPECT_EQ(group->gather("x").size(), 1U);
    group->leave();
  }).expect_success();
}

TEST(Group, SaysThatThisBuildHasNoNccl) {
#ifdef ASSAY_ENGINE_CUDA
  GTEST_SKIP() << "it has";
#endif
  TestRanks(2, 1, [](const TestRank& rank) {
    try {
      join_group(rank.place, at::Device(at::kCUDA, 0), {.listening_fd = rank.listening_fd});
      ADD_FAILURE() << "joined";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.kind(), "unsupported");
    }
  }).expect_success();
}

}  // namespace
}  // namespace assay::engine
