#include "net/fair_budget.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

namespace assay {
namespace {

TEST(FairBudget, NobodyHoldsMoreThanAQuarterOfWhatStaysFree) {
  FairBudget budget(1000);
  EXPECT_FALSE(budget.take(1, 201));
  EXPECT_TRUE(budget.take(1, 150));
  EXPECT_TRUE(budget.take(1, 50));
  EXPECT_FALSE(budget.take(1, 1));
  EXPECT_FALSE(budget.take(2, 161));
  EXPECT_TRUE(budget.take(2, 160));
  EXPECT_FALSE(budget.take(2, 1));
  budget.give_back(1, 200);
  EXPECT_TRUE(budget.take(2, 8)) << "what others give back is there for all";
  EXPECT_EQ(budget.taken(), 168U);
}

TEST(FairBudget, TenThatHoldAllTheyCanLeaveRoom) {
  constexpr std::size_t kAll = std::size_t{256} << 20;
  FairBudget budget(kAll);
  for (std::size_t greedy = 0; greedy < 10; ++greedy) {
    for (std::size_t part = kAll; part > 0; part /= 2) {
      while (budget.take(greedy, part)) {
      }
    }
  }
  EXPECT_TRUE(budget.take(10, std::size_t{4} << 20)) << budget.taken();
}

TEST(FairBudget, WhatIsTooLargeForAnybodyIsRefused) {
  FairBudget budget(1000);
  EXPECT_FALSE(budget.take(1, static_cast<std::size_t>(-1)));
  EXPECT_FALSE(budget.take(1, 1001));
  EXPECT_TRUE(budget.take(1, 200));
}

TEST(FairPart, IsGivenBackOnce) {
  FairBudget budget(1000);
  {
    FairPart share(budget, 1, 200);
    ASSERT_TRUE(share.granted());
    EXPECT_FALSE(FairPart(budget, 1, 1).granted());
    FairPart moved = std::move(share);
    EXPECT_TRUE(moved.granted());
    moved = FairPart(budget, 2, 160);
    ASSERT_TRUE(moved.granted());
    EXPECT_EQ(budget.taken(), 160U) << "the one before was given back";
  }
  EXPECT_EQ(budget.taken(), 0U);
}

}  // namespace
}  // namespace assay
