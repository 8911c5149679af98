#include "net/piece_budget.h"

#include <gtest/gtest.h>

#include <optional>

#include "net/io.h"

namespace assay {
namespace {

class PieceBudgetTest : public testing::Test {
 protected:
  PieceBudgetTest() { budget_.limit = 100; }
  asio::io_context context_;
  Wakeup wakeup_{context_.get_executor()};
  PieceBudget budget_;
};

TEST_F(PieceBudgetTest, CallersWaitAndTakeTurns) {
  std::optional<PieceTurn> first;
  first.emplace(budget_, 1, 60, wakeup_);
  EXPECT_TRUE(first->granted());
  std::optional<PieceTurn> second;
  second.emplace(budget_, 1, 50, wakeup_);
  std::optional<PieceTurn> third;
  third.emplace(budget_, 1, 50, wakeup_);
  PieceTurn other(budget_, 2, 50, wakeup_);
  EXPECT_FALSE(second->granted() || third->granted() || other.granted());
  PieceTurn small(budget_, 3, 10, wakeup_);
  EXPECT_FALSE(small.granted()) << "nobody overtakes, or large pieces would wait for ever";
  first.reset();
  EXPECT_TRUE(second->granted());
  EXPECT_TRUE(other.granted()) << "before the same caller's next";
  EXPECT_FALSE(third->granted() || small.granted());
  EXPECT_EQ(budget_.taken(), 100U);
  second->resize(5);
  EXPECT_TRUE(small.granted());
  EXPECT_FALSE(third->granted());
  third.reset();
  second.reset();
  EXPECT_EQ(budget_.taken(), 60U);
}

TEST_F(PieceBudgetTest, APieceLargerThanEverythingIsMadeAlone) {
  std::optional<PieceTurn> one;
  one.emplace(budget_, 1, 10, wakeup_);
  PieceTurn large(budget_, 2, 1000, wakeup_);
  EXPECT_FALSE(large.granted());
  one.reset();
  EXPECT_TRUE(large.granted());
}

}  // namespace
}  // namespace assay
