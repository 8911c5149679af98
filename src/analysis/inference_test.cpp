#include "analysis/inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LatencyCdf, IsExactAtEveryPoint) {
  const auto all = latency_cdf(std::vector{3.0, 1.0, 2.0, 2.0});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].value, 1);
  EXPECT_EQ(all[0].share, 0.25);
  EXPECT_EQ(all[1].value, 2);
  EXPECT_EQ(all[1].share, 0.75);
  EXPECT_EQ(all[2].value, 3);
  EXPECT_EQ(all[2].share, 1);

  std::vector<double> many;
  many.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) many.push_back((i * 7919) % 10'000);
  const auto thin = latency_cdf(many, 50);
  ASSERT_EQ(thin.size(), 50u);
  EXPECT_EQ(thin.front().value, 0);
  EXPECT_EQ(thin.back().value, 9999);
  EXPECT_EQ(thin.back().share, 1);
  for (const auto& point : thin) EXPECT_DOUBLE_EQ(point.share, (point.value + 1) / 10'000);
  EXPECT_THAT(latency_cdf({}), IsEmpty());
  EXPECT_EQ(latency_cdf(std::vector{5.0, std::nan("")}).size(), 1u);
}

TEST(LoadCurve, ChoosesTheMostWithinTheLimits) {
  std::vector<LoadPoint> points = {
      {40, 30, 5.0, false}, {10, 10, 0.1}, {20, 19.9, 0.3}, {30, 29.8, 0.9, false}, {25, 25, 0.4, true, false}};
  const auto curve = load_curve(points, LoadKind::by_rate);
  EXPECT_EQ(curve.points[1].offered, 20);
  EXPECT_THAT(curve.saturated, ElementsAre(false, false, false, false, true));
  EXPECT_EQ(curve.best, 1u);       // 25 did more, but was not valid
  EXPECT_EQ(curve.first_bad, 3u);  // 30: beyond the limit
  for (auto& point : points) point.within_limits = true;
  EXPECT_EQ(load_curve(points, LoadKind::by_rate).best, 3u);
  for (auto& point : points) point.within_limits = false;
  EXPECT_FALSE(load_curve(points, LoadKind::by_rate).best);
  EXPECT_FALSE(load_curve({}, LoadKind::by_rate).best);
}

TEST(LoadCurve, AClosedLoopIsSaturatedWhereMoreBringsNothing) {
  const std::vector<LoadPoint> points = {{1, 10, 0.1}, {2, 20, 0.1}, {4, 38, 0.11}, {8, 39, 0.2}, {16, 37, 0.4}};
  const auto curve = load_curve(points, LoadKind::by_concurrency);
  EXPECT_THAT(curve.saturated, ElementsAre(false, false, false, true, true));
  EXPECT_EQ(curve.best, 2u);
  EXPECT_EQ(curve.first_bad, 3u);
  EXPECT_FALSE(load_curve(std::vector<LoadPoint>{{1, 10, 0.1}, {2, 20, 0.1}}, LoadKind::by_concurrency).first_bad);
}

TEST(HeatMap, SortsNumbersAndAveragesRepeats) {
  const std::vector<HeatSample> samples = {
      {"16", "flash", 30}, {"8", "eager", 10}, {"8", "eager", 12}, {"8", "flash", 20}, {"128", "flash", {}}};
  const auto map = heat_map(samples);
  EXPECT_THAT(map.rows, ElementsAre("8", "16", "128"));
  EXPECT_THAT(map.columns, ElementsAre("eager", "flash"));
  EXPECT_EQ(map.cells[0][0].value, 11);
  EXPECT_EQ(map.cells[0][0].repeats, 2u);
  EXPECT_FALSE(map.cells[1][0].value);
  EXPECT_EQ(map.cells[2][1].failed, 1u);
  EXPECT_FALSE(map.cells[2][1].value);
  EXPECT_EQ(map.least, 11);
  EXPECT_EQ(map.most, 30);
  EXPECT_FALSE(heat_map({}).most);
}

}  // namespace
}  // namespace assay
