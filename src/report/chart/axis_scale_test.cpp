#include "report/chart/axis_scale.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> labels(const AxisScale& scale) {
  std::vector<std::string> found;
  found.reserve(scale.ticks.size());
  for (const auto& tick : scale.ticks) found.push_back(tick.label);
  return found;
}

AxisScale fitted(const Axis& axis, double low, double high, const AxisFit& fit = {.padding = 0}) {
  return fit_axis(axis, {low, high}, fit);
}

TEST(AxisScale, StepsAreOneTwoOrFive) {
  EXPECT_THAT(labels(fitted({}, 0, 100)), ElementsAre("0", "20", "40", "60", "80", "100"));
  EXPECT_THAT(labels(fitted({}, 0, 1)), ElementsAre("0.0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(labels(fitted({}, -3, 3)), ElementsAre("-3", "-2", "-1", "0", "1", "2", "3"));
  EXPECT_THAT(labels(fitted({}, 1200, 3900)), ElementsAre("1,500", "2,000", "2,500", "3,000", "3,500"));
}

TEST(AxisScale, OneUnitForAllTicks) {
  const auto seconds = fitted({.label = "Latency", .unit = "s"}, 0, 0.25);
  EXPECT_EQ(seconds.title, "Latency (ms)");
  EXPECT_THAT(labels(seconds), ElementsAre("0", "50", "100", "150", "200", "250"));
  const auto bytes = fitted({.label = "Memory", .unit = "B"}, 0, 3.0 * (1 << 30));
  EXPECT_EQ(bytes.title, "Memory (GiB)");
  EXPECT_THAT(labels(bytes), ElementsAre("0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"));
  EXPECT_EQ(fitted({.label = "Share", .unit = "ratio"}, 0, 1).title, "Share (%)");
  EXPECT_EQ(fitted({.label = "", .unit = "W"}, 0, 1).title, "W");
  EXPECT_EQ(fitted({.label = "Rate", .unit = "tok/s"}, 0, 3e6).title, "Rate (10⁶ tok/s)");
  EXPECT_EQ(fitted({.label = "Rate", .unit = "tok/s"}, 0, 3e6, {.unicode = false}).title, "Rate (1e6 tok/s)");
  EXPECT_EQ(display_unit("FLOP/s", 9.9e14, true).name, "TFLOP/s");
  EXPECT_EQ(display_unit("s", 7200, true).name, "min");
  EXPECT_EQ(display_unit("s", 2e-6, false).name, "us");
}

TEST(AxisScale, FiguresHaveThreeDigits) {
  EXPECT_EQ(axis_figure(61.2e9, display_unit("B", 61.2e9, true)), "57.0");
  EXPECT_EQ(axis_figure(0.0021, display_unit("s", 0.002, true)), "2.10");
  EXPECT_EQ(axis_figure(4, {}), "4");
  EXPECT_EQ(axis_figure(1388.7, {}), "1,389");
  EXPECT_EQ(axis_figure(0.0123, {}), "0.0123");
  EXPECT_EQ(fitted({.label = "", .unit = "s"}, 0.180, 0.205).figure(0.18342), "183.4");
  EXPECT_EQ(fitted({.label = "", .unit = "s"}, 0, 0.205).figure(0.18342), "183");
  EXPECT_EQ(fitted({}, 1000, 1010).figure(1005), "1,005");
}

TEST(AxisScale, LogarithmicTicks) {
  const Axis axis{.label = "", .unit = "", .logarithmic = true};
  EXPECT_THAT(labels(fitted(axis, 1, 100)), ElementsAre("1", "2", "5", "10", "20", "50", "100"));
  EXPECT_THAT(labels(fitted(axis, 0.001, 1000)), ElementsAre("0.001", "0.01", "0.1", "1", "10", "100", "1,000"));
  EXPECT_THAT(labels(fitted(axis, 1e-12, 1e12)), ElementsAre("10⁻¹²", "10⁻⁸", "10⁻⁴", "1", "10,000", "10⁸", "10¹²"));
  EXPECT_THAT(labels(fitted(axis, 30, 40)), ElementsAre("30", "32", "34", "36", "38", "40"));
  EXPECT_DOUBLE_EQ(fitted(axis, 1, 100).position(10), 0.5);
}

TEST(AxisScale, FewWholePlacesAreTheTicks) {
  AxisFit fit{.padding = 0, .places = {1, 2, 4, 8}};
  EXPECT_THAT(labels(fitted({.label = "", .unit = "", .logarithmic = true}, 1, 8, fit)),
              ElementsAre("1", "2", "4", "8"));
  fit.places = {1, 2, 4, 128};
  EXPECT_THAT(labels(fitted({}, 1, 128, fit)), ElementsAre("20", "40", "60", "80", "100", "120"));
}

TEST(AxisScale, StartsAtZeroWhereItMust) {
  const auto scale = fitted({.label = "", .unit = "", .from_zero = true}, 90, 100, {.padding = 0.05});
  EXPECT_EQ(scale.low, 0);
  EXPECT_GT(scale.high, 100);
  EXPECT_GT(fitted({}, 90, 100, {.padding = 0.05}).low, 80);
}

TEST(AxisScale, EveryRangeGivesAUsableScale) {
  const std::vector<std::pair<double, double>> ranges = {
      {0, 0},         {5, 5},         {-5, -5},       {1e-149, 1e-149}, {-1e150, 1e150},
      {1e150, 1e150}, {1, 1 + 1e-15}, {1e9, 1e9 + 1}, {0, 5e-324},      {1e-150, 1e150}};
  for (const bool logarithmic : {false, true}) {
    for (const bool from_zero : {false, true}) {
      for (const auto& [low, high] : ranges) {
        const Axis axis{.label = "", .unit = "s", .logarithmic = logarithmic, .from_zero = from_zero};
        if (!has_place(axis, low) || !has_place(axis, high)) continue;
        const auto scale = fit_axis(axis, {low, high}, {});
        SCOPED_TRACE(testing::Message() << low << " " << high << " " << logarithmic);
        EXPECT_LT(scale.low, scale.high);
        EXPECT_TRUE(std::isfinite(scale.low) && std::isfinite(scale.high));
        EXPECT_GE(scale.ticks.size(), 1U);
        EXPECT_LE(scale.ticks.size(), 12U);
        EXPECT_GE(scale.position(low), 0);
        EXPECT_LE(scale.position(high), 1);
        for (const auto& tick : scale.ticks) EXPECT_LE(tick.label.size(), 24U) << tick.label;
      }
    }
  }
}

TEST(AxisScale, NoDataNoTicks) {
  EXPECT_THAT(fit_axis({}, {}, {}).ticks, IsEmpty());
  EXPECT_LT(fit_axis({.label = "", .unit = "", .logarithmic = true}, {}, {}).low, 10);
}

TEST(AxisScale, WhatHasNoPlace) {
  const Axis linear;
  const Axis logarithmic{.label = "", .unit = "", .logarithmic = true};
  EXPECT_TRUE(has_place(linear, -1));
  EXPECT_FALSE(has_place(linear, std::nan("")));
  EXPECT_FALSE(has_place(linear, 1e308));
  EXPECT_FALSE(has_place(logarithmic, 0));
  EXPECT_FALSE(has_place(logarithmic, -1));
}

}  // namespace
}  // namespace assay
