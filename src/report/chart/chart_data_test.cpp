#include "report/chart/chart_data.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

XyChart chart_of(std::vector<ChartPoint> points, Stroke stroke = Stroke::line) {
  return {.x = {}, .y = {}, .series = {{.name = "a", .stroke = stroke, .points = std::move(points)}}, .references = {}};
}

std::vector<PlacedRun> placed(const XyChart& chart, double width = 100) {
  const XyExtent extent = extent_of(chart);
  const XyScales scales{fit_axis(chart.x, extent.x, {.padding = 0}), fit_axis(chart.y, extent.y, {.padding = 0})};
  return place(chart.series[0], chart, scales, {.left = 0, .top = 0, .width = width, .height = 50});
}

TEST(ChartData, NonFinitePointsLeaveAGap) {
  const XyChart chart = chart_of({{0, 0}, {1, 1}, {2, kNan}, {3, 3}, {4, std::numeric_limits<double>::infinity()}});
  EXPECT_THAT(placed(chart), ElementsAre(SizeIs(2), SizeIs(1)));
  EXPECT_THAT(placed(chart_of({{kNan, 1}})), IsEmpty());
}

TEST(ChartData, ThinningKeepsTheExtremesOfEveryColumn) {
  std::vector<ChartPoint> points;
  points.reserve(10000);
  for (int i = 0; i < 10000; ++i) points.push_back({i * 1.0, std::sin(i * 0.01)});
  points[5005].y = 40;
  points[5007].y = -40;
  const XyChart chart = chart_of(points);
  const auto runs = placed(chart);
  ASSERT_THAT(runs, SizeIs(1));
  const PlacedRun thin = thin_out(runs[0]);
  EXPECT_LE(thin.size(), 4U * 101U);
  EXPECT_TRUE(std::any_of(thin.begin(), thin.end(), [](const auto& one) { return one.point->y == 40; }));
  EXPECT_TRUE(std::any_of(thin.begin(), thin.end(), [](const auto& one) { return one.point->y == -40; }));
  EXPECT_EQ(thin.front().point, runs[0].front().point);
  EXPECT_EQ(thin.back().point, runs[0].back().point);
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(), [](const auto& a, const auto& b) { return a.x < b.x; }));
}

TEST(ChartData, PointsOutOfOrderAreSorted) {
  const XyChart chart = chart_of({{3, 1}, {1, 2}, {2, 3}});
  const auto runs = placed(chart);
  ASSERT_THAT(runs, ElementsAre(SizeIs(3)));
  EXPECT_EQ(runs[0].front().point->x, 1);
}

TEST(ChartData, ACurveThatTurnsBackIsJoinedAsItStands) {
  XyChart chart = chart_of({{0, 0}, {10, 1}, {6, 5}});
  chart.series[0].turns_back = true;
  const auto runs = placed(chart);
  ASSERT_THAT(runs, ElementsAre(SizeIs(3)));
  EXPECT_LT(runs[0][2].x, runs[0][1].x);
  EXPECT_LT(runs[0][2].y, runs[0][1].y) << "higher";
}

TEST(ChartData, FlaggedPointsAreAlwaysMarked) {
  std::vector<ChartPoint> points;
  points.reserve(1000);
  for (int i = 0; i < 1000; ++i) points.push_back({i * 1.0, 1.0 * i, std::nullopt, i == 500});
  const XyChart chart = chart_of(points);
  const auto runs = placed(chart);
  EXPECT_THAT(points_to_mark(runs, Stroke::line, false), SizeIs(1));
  const auto sparse = points_to_mark(runs, Stroke::line, true);
  EXPECT_GE(sparse.size(), 6U);
  EXPECT_LE(sparse.size(), 9U);
}

TEST(ChartData, SaysWhatALogarithmicAxisCannotShow) {
  XyChart chart = chart_of({{1, 1}, {2, 0}, {3, -1}, {4, 10}});
  chart.y.logarithmic = true;
  EXPECT_THAT(chart_notes({.id = "", .title = "", .caption = "", .chart = chart}),
              ElementsAre("2 points at or below zero are left out: the axis is logarithmic."));
  chart.y.logarithmic = false;
  EXPECT_THAT(chart_notes({.id = "", .title = "", .caption = "", .chart = chart}), IsEmpty());
}

TEST(ChartData, BandsCountByTheirRangesAlone) {
  const XyChart chart = chart_of({{1, 999, std::pair(2.0, 3.0)}, {2, 999, std::nullopt}}, Stroke::expected_range);
  const XyExtent extent = extent_of(chart);
  EXPECT_EQ(extent.y.low, 2);
  EXPECT_EQ(extent.y.high, 3);
  EXPECT_EQ(extent.x.high, 1);
}

TEST(ChartData, BoundsAreSaid) {
  BarChart bars;
  bars.bars.assign(kMostBars + 3, Bar{.name = "n", .value = 1.0, .range = {}});
  EXPECT_THAT(chart_notes({.id = "", .title = "", .caption = "", .chart = bars}),
              ElementsAre("The first 400 of 403 are shown."));
}

}  // namespace
}  // namespace assay
