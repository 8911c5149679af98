#include "watch/trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::SizeIs;

const WallTime kFirstDay{hours(24 * 20'000)};

/// Hours of a GPU whose temperature at equal power rises by `per_week`.
std::vector<HourOfGpu> hours_of(int weeks, double per_week, std::uint64_t seed) {
  Random random(seed, "trend");
  std::vector<HourOfGpu> all;
  for (int i = 0; i < weeks * 168; ++i) {
    const double power = random.uniform(200, 680);
    const double room = 1.5 * std::sin(i * 2 * 3.14159 / 24);
    all.push_back({.start = kFirstDay + hours(i),
                   .temperature_c = 25 + 0.06 * power + per_week * i / 168.0 + room + random.normal(0, 1),
                   .power_w = power,
                   .throttle_share = i >= 168 * (weeks - 1) ? 0.1 : 0});
  }
  return all;
}

TEST(Trend, AGpuThatGetsHotterAtEqualPowerIsFound) {
  const GpuTrend trend = trend_of(hours_of(8, 0.6, 1));
  EXPECT_EQ(trend.verdict, TrendVerdict::hotter) << trend.why;
  EXPECT_NEAR(trend.change_c, 7 * 0.6, 0.5);
  EXPECT_LT(trend.low_c, 4.2);
  EXPECT_GT(trend.high_c, 4.2);
  ASSERT_THAT(trend.weeks, SizeIs(8));
  EXPECT_EQ(trend.weeks.front().start, kFirstDay);
  EXPECT_EQ(trend.weeks.front().hours, 168U);
  EXPECT_NEAR(trend.weeks.front().throttled_minutes, 0, 1e-9);
  EXPECT_NEAR(trend.weeks.back().throttled_minutes, 168 * 6, 1e-6);
  EXPECT_THAT(trend.why, HasSubstr("°C in 7 weeks"));
}

TEST(Trend, AGpuThatWasCleanedGetsCooler) { EXPECT_EQ(trend_of(hours_of(8, -0.6, 2)).verdict, TrendVerdict::cooler); }

TEST(Trend, SteadyGpusAreSteady) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const GpuTrend trend = trend_of(hours_of(6, 0, seed));
    EXPECT_EQ(trend.verdict, TrendVerdict::steady) << seed << ": " << trend.why;
    EXPECT_LT(std::abs(trend.change_c), 1) << seed;
  }
}

TEST(Trend, MorePowerIsNotMoreHeatAtEqualPower) {
  auto all = hours_of(8, 0, 3);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double more = 100.0 * static_cast<double>(i) / static_cast<double>(all.size());
    all[i].power_w += more;
    all[i].temperature_c += 0.06 * more;
  }
  EXPECT_EQ(trend_of(all).verdict, TrendVerdict::steady) << trend_of(all).why;
}

TEST(Trend, OutliersDoNotDecide) {
  auto all = hours_of(8, 0, 4);
  for (std::size_t i = 0; i < all.size(); i += 10) all[i].temperature_c = i > all.size() / 2 ? 120 : 0;
  EXPECT_EQ(trend_of(all).verdict, TrendVerdict::steady) << trend_of(all).why;
}

TEST(Trend, TooLittleDataIsSaid) {
  EXPECT_EQ(trend_of({}).verdict, TrendVerdict::too_little_data);
  EXPECT_FALSE(trend_of({}).why.empty());
  EXPECT_EQ(trend_of(hours_of(3, 5, 5)).verdict, TrendVerdict::too_little_data);
  auto sparse = hours_of(8, 5, 6);
  std::erase_if(sparse, [](const HourOfGpu& hour) { return (hour.start - kFirstDay) / hours(1) % 8 != 0; });
  const GpuTrend trend = trend_of(sparse);
  EXPECT_EQ(trend.verdict, TrendVerdict::too_little_data) << "21 hours a week";
  EXPECT_TRUE(std::isnan(trend.change_c));
  auto unknown = hours_of(8, 5, 7);
  for (HourOfGpu& hour : unknown) hour.power_w = std::nan("");
  EXPECT_EQ(trend_of(unknown).verdict, TrendVerdict::too_little_data);
}

TEST(Trend, WeeksAtAnotherPowerAreNotCompared) {
  auto all = hours_of(8, 0, 8);
  for (HourOfGpu& hour : all) {
    const bool idle_week = (hour.start - kFirstDay) / hours(168) == 3;
    if (!idle_week) continue;
    hour.power_w = 90;
    hour.temperature_c = 60;
  }
  const GpuTrend trend = trend_of(all);
  EXPECT_TRUE(std::isnan(trend.weeks[3].temperature_c));
  EXPECT_EQ(trend.verdict, TrendVerdict::steady) << trend.why;
}

TEST(Trend, TheOrderOfTheHoursDoesNotMatterAndConstantPowerIsFine) {
  auto all = hours_of(6, 0.8, 9);
  const GpuTrend forward = trend_of(all);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(trend_of(all).change_c, forward.change_c);
  for (HourOfGpu& hour : all) {
    hour.temperature_c -= 0.06 * (hour.power_w - 500);
    hour.power_w = 500;
  }
  EXPECT_EQ(trend_of(all).verdict, TrendVerdict::hotter) << trend_of(all).why;
}

}  // namespace
}  // namespace assay
