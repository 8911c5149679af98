#include "analysis/consistency.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The four nodes of the LLM-training guide.
TEST(Consistency, GoldenNodesAreWithinTolerance) {
  std::vector<NodeFigures> nodes;
  for (const double rate : {1.46, 1.45, 1.47, 1.44}) {
    nodes.push_back({.node = fmt::format("node{}", nodes.size() + 1), .samples_per_second = rate});
  }
  const auto table = check_consistency(nodes);
  EXPECT_EQ(fmt::format("{:.2f} %", *table.speed_variation * 100), "0.89 %");
  EXPECT_TRUE(table.consistent);
  for (const auto& row : table.rows) {
    EXPECT_TRUE(row.within);
    EXPECT_EQ(row.speed.mark, ConsistencyMark::within);
    EXPECT_EQ(row.memory.mark, ConsistencyMark::missing);
  }
}

TEST(Consistency, MarksWhatIsOutOfLineAndSaysWhatItFound) {
  std::vector<NodeFigures> nodes;
  nodes.reserve(5);
  for (int i = 0; i < 5; ++i) {
    nodes.push_back(
        {.node = fmt::format("gpu{:02}", i), .samples_per_second = 100, .gpu_memory_bytes = 20e9, .temperature_c = 60});
  }
  nodes[1].samples_per_second = 94;
  nodes[1].temperature_c = 75;
  nodes[1].health.thermal_throttle_share = 0.3;
  nodes[2].gpu_memory_bytes = 20.6e9;
  nodes[3].samples_per_second = 105;
  nodes[4].health.thermal_throttle_share = 0.3;  // in line: not looked at
  const auto table = check_consistency(nodes);
  EXPECT_FALSE(table.consistent);
  EXPECT_EQ(table.rows[1].speed.mark, ConsistencyMark::low);
  EXPECT_NEAR(*table.rows[1].speed.deviation, -0.06, 1e-12);
  EXPECT_EQ(table.rows[1].temperature.mark, ConsistencyMark::high);
  EXPECT_NEAR(*table.rows[1].temperature.deviation, 15, 1e-12);
  ASSERT_EQ(table.rows[1].findings.size(), 1u);
  EXPECT_EQ(table.rows[1].findings[0].kind, "thermal");
  EXPECT_EQ(table.rows[2].memory.mark, ConsistencyMark::high);
  EXPECT_THAT(table.rows[2].findings, IsEmpty());
  EXPECT_EQ(table.rows[3].speed.mark, ConsistencyMark::within);  // exactly 5 %
  EXPECT_THAT(table.rows[4].findings, IsEmpty());
  EXPECT_TRUE(check_consistency(nodes, {.speed = 0.1, .memory = 0.1, .temperature_c = 20}).consistent);
}

TEST(Consistency, AMissingSpeedIsNotConsistent) {
  const std::vector<NodeFigures> nodes = {{.node = "a", .samples_per_second = 1}, {.node = "b"}};
  EXPECT_FALSE(check_consistency(nodes).consistent);
  EXPECT_FALSE(check_consistency(std::vector<NodeFigures>{{.node = "a", .samples_per_second = 1}}).consistent);
  EXPECT_THAT(check_consistency({}).rows, IsEmpty());
}

// Worked by hand: samples of the same shape at a distance d have an area of d between them.
TEST(Similarity, IsOneLessTheAreaBetween) {
  EXPECT_NEAR(distribution_similarity(std::vector{100.0, 102.0}, std::vector{95.0, 97.0}), 1 - 5.0 / 101, 1e-12);
  EXPECT_EQ(distribution_similarity(std::vector{1.0, 2.0, 3.0}, std::vector{3.0, 1.0, 2.0}), 1);
  // {1, 3} against {2}: |F₁−F₂| is ½ from 1 to 3.
  EXPECT_NEAR(distribution_similarity(std::vector{1.0, 3.0}, std::vector{2.0}), 0.5, 1e-12);
  EXPECT_EQ(distribution_similarity(std::vector{1.0}, std::vector{100.0, 100.0}), 1 - 99.0 / 100);
  EXPECT_TRUE(std::isnan(distribution_similarity({}, std::vector{1.0})));
}

TEST(Snapshot, DropsSlowNodesAndKeepsFastOnes) {
  const std::vector<SnapshotNode> nodes = {{"a", {100, 101, 99}},  {"b", {100, 100, 100}},    {"c", {101, 99, 100}},
                                           {"slow", {92, 93, 91}}, {"fast", {112, 113, 111}}, {"silent", {}}};
  const auto result = accept_snapshot(nodes);
  std::vector<bool> accepted;
  accepted.reserve(result.verdicts.size());
  for (const auto& verdict : result.verdicts) accepted.push_back(verdict.accepted);
  EXPECT_THAT(accepted, ElementsAre(true, true, true, false, true, false));
  EXPECT_NEAR(result.verdicts[3].similarity, 0.92, 0.005);
  EXPECT_THAT(result.verdicts[3].reason, HasSubstr("Slower than"));
  EXPECT_THAT(result.verdicts[5].reason, HasSubstr("No value"));
}

TEST(Snapshot, AFloorHoldsWhateverTheOthersDo) {
  const std::vector<SnapshotNode> nodes = {{"a", {50, 51}}, {"b", {50, 50}}, {"c", {70, 71}}};
  const auto result = accept_snapshot(nodes, 0.95, 60);
  EXPECT_FALSE(result.verdicts[0].accepted);
  EXPECT_THAT(result.verdicts[0].reason, HasSubstr("below the floor of 60"));
  EXPECT_TRUE(result.verdicts[2].accepted);
  EXPECT_EQ(result.centre, 2u);
  EXPECT_FALSE(accept_snapshot({}).centre);
}

TEST(Trend, FindsASlope) {
  std::vector<TrendPoint> points;
  Random random(2, "trend");
  points.reserve(60);
  for (int day = 0; day < 60; ++day)
    points.push_back({static_cast<double>(day), 200 - 0.1 * day + random.normal(0, 0.5)});
  points[30].value = 20;  // an outlier does not matter
  const auto trend = find_trend(points);
  ASSERT_TRUE(trend);
  EXPECT_NEAR(trend->percent_per_30_days, -0.1 * 30 / 197 * 100, 0.3);
  EXPECT_TRUE(trend->significant);
  EXPECT_TRUE(trend->interval->contains(-0.1 * 30 / 197 * 100));
}

// Ten points that alternate: Kendall's S is small, and the interval holds 0.
TEST(Trend, NoiseHasNone) {
  std::vector<TrendPoint> points;
  points.reserve(10);
  for (int day = 0; day < 10; ++day) points.push_back({static_cast<double>(day), day % 2 == 0 ? 100.0 : 101.0});
  EXPECT_FALSE(find_trend(points)->significant);
  points.resize(5);
  EXPECT_FALSE(find_trend(points)->interval);
  EXPECT_FALSE(find_trend(std::vector<TrendPoint>{{1, 5}}));
  EXPECT_FALSE(find_trend(std::vector<TrendPoint>{{1, 5}, {1, 6}}));
}

// Worked by hand.
TEST(Trend, IsTheMedianOfAllSlopes) {
  const std::vector<TrendPoint> points = {{1, 1}, {2, 3}, {3, 2}, {4, 5}, {5, 6}};
  // Slopes: 2, ½, 4/3, 5/4, −1, 1, 1, 3, 2, 1 → sorted −1, ½, 1, 1, 1, 5/4, 4/3, 2, 2, 3; median 1.125.
  EXPECT_NEAR(find_trend(points)->percent_per_30_days, 100 * 30 * 1.125 / 3, 1e-9);
}

}  // namespace
}  // namespace assay
