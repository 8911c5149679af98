#include "watch/steady_rise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kGiB = 1 << 30;
constexpr double kCapacity = 100 * kGiB;
const WallTime kStart{hours(24 * 20'000)};

/// Feeds `value(minute)` every ten seconds.
template <typename Value>
SteadyRise after(int length, Value value) {
  SteadyRise rise;
  for (int i = 0; i < length * 6; ++i) {
    rise.add(value(i / 6.0), kCapacity, kStart + seconds(10 * i));
  }
  return rise;
}

TEST(SteadyRise, ALeakIsFoundWithTheTimeThatIsLeft) {
  Random random(1, "noise");
  const auto rise =
      after(70, [&](double minute) { return 40 * kGiB + minute * 0.1 * kGiB + random.normal(0, 0.05 * kGiB); });
  EXPECT_NEAR(rise.slope() * 60, 0.1 * kGiB, 0.005 * kGiB);
  // 46 or 47 GiB are taken: 53 GiB are left for 0.1 GiB a minute.
  EXPECT_NEAR(rise.seconds_to_full() / 60, 535, 30);
}

TEST(SteadyRise, LessThanAnHourIsNotKnown) {
  EXPECT_TRUE(std::isnan(after(59, [](double minute) { return minute * kGiB; }).seconds_to_full()));
}

TEST(SteadyRise, WhatIsLevelNoisyOrFallingDoesNotRise) {
  Random random(2, "noise");
  EXPECT_TRUE(std::isinf(after(70, [](double) { return 40 * kGiB; }).seconds_to_full()));
  EXPECT_TRUE(std::isinf(after(70, [&](double) { return random.normal(40, 5) * kGiB; }).seconds_to_full()));
  EXPECT_TRUE(std::isinf(after(70, [](double minute) { return (90 - minute) * kGiB; }).seconds_to_full()));
}

TEST(SteadyRise, AJobThatStartsOrASawDoesNotRiseSteadily) {
  const auto step = after(90, [](double minute) { return (minute < 50 ? 10 : 70) * kGiB; });
  EXPECT_TRUE(std::isinf(step.seconds_to_full()));
  const auto saw = after(90, [](double minute) { return (20 + std::fmod(minute, 20.0)) * kGiB; });
  EXPECT_TRUE(std::isinf(saw.seconds_to_full()));
  const auto ramp = after(90, [](double minute) { return std::min(80.0, 10 + 3 * minute) * kGiB; });
  EXPECT_TRUE(std::isinf(ramp.seconds_to_full()));
}

TEST(SteadyRise, WhatHasStoppedRisingIsOverBeforeItsHourIs) {
  const auto loading = [](double minute) { return std::min(60.0, 10 + minute) * kGiB; };
  EXPECT_FALSE(std::isinf(after(62, [](double minute) { return (10 + minute) * kGiB; }).seconds_to_full()));
  EXPECT_TRUE(std::isinf(after(72, loading).seconds_to_full())) << "it stopped after 50 minutes";
}

TEST(SteadyRise, ADriftBelowASawIsNotSteady) {
  // Ends on a rising edge, so that only the edges before it speak against it.
  const auto rise = after(88, [](double minute) { return (20 + 0.1 * minute + std::fmod(minute, 30.0)) * kGiB; });
  EXPECT_TRUE(std::isinf(rise.seconds_to_full()));
}

TEST(SteadyRise, LessThanOnePercentIsNoRise) {
  EXPECT_TRUE(std::isinf(after(70, [](double minute) { return (99 + 0.01 * minute) * kGiB; }).seconds_to_full()));
}

TEST(SteadyRise, ValuesThatAreMissingCostOnlyThemselves) {
  const double unknown = std::nan("");
  const auto few = after(70, [&](double minute) { return minute > 30 && minute < 35 ? unknown : minute * kGiB; });
  EXPECT_NEAR(few.slope() * 60 / kGiB, 1, 0.02);
  const auto many = after(70, [&](double minute) { return minute > 30 && minute < 45 ? unknown : minute * kGiB; });
  EXPECT_TRUE(std::isnan(many.seconds_to_full()));
  EXPECT_TRUE(std::isnan(after(70, [&](double) { return unknown; }).seconds_to_full()));
}

TEST(SteadyRise, AClockThatIsSetBackOrALongPauseStartsAnew) {
  auto rise = after(70, [](double minute) { return minute * kGiB; });
  ASSERT_FALSE(std::isnan(rise.seconds_to_full()));
  auto back = rise;
  back.add(70 * kGiB, kCapacity, kStart);
  EXPECT_TRUE(std::isnan(back.seconds_to_full()));
  rise.add(70 * kGiB, kCapacity, kStart + hours(5));
  EXPECT_TRUE(std::isnan(rise.seconds_to_full()));
}

TEST(SteadyRise, WithoutACapacityNothingIsSaid) {
  SteadyRise rise;
  for (int i = 0; i < 70; ++i) rise.add(i * kGiB, std::nan(""), kStart + minutes(i));
  EXPECT_TRUE(std::isnan(rise.seconds_to_full()));
}

}  // namespace
}  // namespace assay
