#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "store/run_contract_fixture.h"
#include "store/run_curves.h"

namespace assay {

TEST_P(RunStoreContract, ASeriesIsReadAtAWidth) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const auto handle = writer->open_series({"loss", {}}, "nat");
  std::vector<SeriesPoint> points;
  for (int step = 0; step < 1000; ++step) points.push_back(point(step, step % 10 == 3 ? NAN : step));
  ASSERT_OK(writer->append_points(handle, points));
  ASSERT_OK(writer->append_points(writer->open_series({"other", {}}, ""), std::vector{point(5, 1)}));
  ASSERT_OK(writer->flush());

  const auto chart = store_->read_curves(run.id, {.names = {"loss"}, .width = 10});
  ASSERT_OK(chart);
  ASSERT_EQ(chart->size(), 1U);
  EXPECT_EQ(chart->front().unit, "nat");
  EXPECT_EQ(chart->front().span, 100);
  ASSERT_EQ(chart->front().buckets.size(), 10U);
  double sum = 0;
  for (int step = 300; step < 400; ++step) sum += step % 10 == 3 ? 0 : step;
  EXPECT_EQ(chart->front().buckets[3],
            (CurveBucket{.begin = 300, .points = 100, .finite = 90, .min = 300, .max = 399, .sum = sum, .last = 399}));

  // What comes later is there at once.
  ASSERT_OK(writer->append_points(handle, std::vector{point(1000, 7)}));
  ASSERT_OK(writer->finish(run));
  const auto part = store_->read_curves(run.id, {.names = {"loss"}, .from = 999, .width = 10});
  ASSERT_OK(part);
  ASSERT_EQ(part->size(), 1U);
  ASSERT_EQ(part->front().buckets.size(), 2U);
  EXPECT_EQ(part->front().buckets[1].last, 7);
  EXPECT_EQ(store_->read_curves(run.id, {})->size(), 2U);
  EXPECT_TRUE(store_->read_curves(run.id, {.names = {"nothing"}})->empty());
}

TEST_P(RunStoreContract, ASeriesIsReadByTime) {
  Run run = a_run();
  const auto writer = writer_of(run);
  const auto handle = writer->open_series({"host.cpu_util", {}}, "");
  std::vector<SeriesPoint> points;
  for (int second = 0; second < 60; ++second) points.push_back(point(second, second));
  for (auto& one : points) one.step = kNoStep;
  ASSERT_OK(writer->append_points(handle, points));
  ASSERT_OK(writer->finish(run));
  EXPECT_TRUE(store_->read_curves(run.id, {.axis = CurveQuestion::Axis::step})->empty());
  const auto second = [](int n) { return at(n).time_since_epoch().count(); };
  const auto chart = store_->read_curves(
      run.id, {.axis = CurveQuestion::Axis::time, .from = second(10), .to = second(30), .width = 2});
  ASSERT_OK(chart);
  ASSERT_EQ(chart->size(), 1U);
  ASSERT_EQ(chart->front().buckets.size(), 2U);
  EXPECT_EQ(chart->front().buckets[0].begin, second(10));
  EXPECT_EQ(chart->front().buckets[0].min, 10);
  EXPECT_EQ(chart->front().buckets[1].max, 29);
  EXPECT_EQ(chart->front().buckets[0].points + chart->front().buckets[1].points, 20);
}

TEST_P(RunStoreContract, ManySeriesTogetherAreDrawnInFewerBuckets) {
  // A thousand series of one point each beside a long one: all of them are on one grid.
  Run run = a_run();
  const auto writer = writer_of(run);
  constexpr std::int64_t kSteps = 20'000;
  std::vector<SeriesPoint> points;
  for (std::int64_t step = 0; step < kSteps; ++step) points.push_back({0, step, 1});
  ASSERT_OK(writer->append_points(writer->open_series({"loss", {}}, ""), points));
  for (int i = 0; i < 1999; ++i) {
    const auto handle = writer->open_series({"m", {{"n", std::to_string(i)}}}, "");
    ASSERT_OK(writer->append_points(handle, std::vector<SeriesPoint>{{0, i, 1}}));
  }
  ASSERT_OK(writer->finish(run));
  const auto all = store_->read_curves(run.id, {.width = kMostBuckets});
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 2000U);
  std::int64_t seen = 0;
  for (const auto& curve : *all) {
    EXPECT_LE(curve.buckets.size(), 250U);
    for (const auto& bucket : curve.buckets) seen += bucket.points;
  }
  EXPECT_EQ(seen, kSteps + 1999) << "every point counts";
  const auto one = store_->read_curves(run.id, {.names = {"loss"}, .width = kMostBuckets});
  ASSERT_OK(one);
  EXPECT_EQ(one->front().buckets.size(), static_cast<std::size_t>(kSteps)) << "by itself it has all the room";
}

TEST_P(RunStoreContract, StrangeChartsAreRefusedOrDrawn) {
  Run run = a_run();
  const auto writer = writer_of(run);
  constexpr auto kFar = std::numeric_limits<std::int64_t>::max();
  const auto handle = writer->open_series({"loss", {}}, "");
  ASSERT_OK(writer->append_points(handle, std::vector<SeriesPoint>{{0, kFar, 1}, {0, 0, 2}, {0, -kFar, 3}}));
  ASSERT_OK(writer->finish(run));
  const auto chart = store_->read_curves(run.id, {.width = 1000});
  ASSERT_OK(chart);
  EXPECT_EQ(chart->front().buckets.size(), 3U);
  EXPECT_ERROR(ErrorKind::usage, store_->read_curves(run.id, {.width = 0}));
  EXPECT_ERROR(ErrorKind::usage, store_->read_curves(run.id, {.width = kMostBuckets + 1}));
  EXPECT_ERROR(ErrorKind::usage, store_->read_curves(run.id, {.from = 5, .to = 5}));
  EXPECT_ERROR(ErrorKind::not_found, store_->read_curves("nobody", {}));
}

}  // namespace assay
