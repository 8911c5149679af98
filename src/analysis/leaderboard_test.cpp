#include "analysis/leaderboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

std::vector<double> spread_around(double rate) { return {rate * 0.99, rate * 1.01, rate, rate * 0.995, rate * 1.005}; }

TEST(Leaderboard, RanksWhatIsValid) {
  const std::vector<LeaderboardEntry> entries = {
      {.model = "m", .device = "A", .values = spread_around(100), .cost = Money{1.0, "USD"}},
      {.model = "m", .device = "B", .values = spread_around(900), .valid = false, .remark = "client too late"},
      {.model = "m", .device = "C", .values = spread_around(200), .cost = Money{2.0, "USD"}},
      {.model = "m", .device = "D", .values = spread_around(99.9), .cost = Money{1.5, "USD"}},
      {.model = "m", .device = "E"},
  };
  const auto rows = leaderboard(entries);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].entry, 2u);
  EXPECT_EQ(rows[0].rank, 1u);
  EXPECT_EQ(rows[1].entry, 0u);
  EXPECT_FALSE(rows[1].close_to_above);
  EXPECT_EQ(rows[2].entry, 3u);
  EXPECT_EQ(rows[2].rank, 3u);
  EXPECT_TRUE(rows[2].close_to_above);  // 0.1 % apart, and repeats scatter by a percent
  EXPECT_EQ(rows[3].entry, 1u);
  EXPECT_FALSE(rows[3].rank);
  EXPECT_FALSE(rows[4].rank);
  EXPECT_TRUE(rows[0].on_cost_front);
  EXPECT_TRUE(rows[1].on_cost_front);
  EXPECT_FALSE(rows[2].on_cost_front);  // A is faster and cheaper
  EXPECT_TRUE(rows[0].interval);
}

TEST(Leaderboard, LowerMayBeBetterAndTiesShareARank) {
  const std::vector<LeaderboardEntry> entries = {{.values = {3}}, {.values = {1}}, {.values = {3}}, {.values = {5}}};
  const auto rows = leaderboard(entries, Direction::lower_is_better);
  EXPECT_EQ(rows[0].entry, 1u);
  EXPECT_EQ(rows[1].rank, 2u);
  EXPECT_EQ(rows[2].rank, 2u);
  EXPECT_EQ(rows[3].rank, 4u);
  EXPECT_TRUE(rows[3].close_to_above);  // one repeat: too few to say
}

TEST(Leaderboard, DifferentCurrenciesHaveNoFront) {
  const std::vector<LeaderboardEntry> entries = {{.values = {3}, .cost = Money{1, "USD"}},
                                                 {.values = {2}, .cost = Money{9, "EUR"}}};
  for (const auto& row : leaderboard(entries)) EXPECT_FALSE(row.on_cost_front);
  EXPECT_TRUE(leaderboard({}).empty());
}

}  // namespace
}  // namespace assay
