#include "analysis/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/nan.h"
#include "analysis/summary.h"
#include "base/random.h"

namespace assay {
namespace {

/// NIST StRD "NumAcc3" and "NumAcc4": certified mean `start`, certified standard deviation 0.1.
std::vector<double> nist_num_acc(double start) {
  std::vector<double> values = {start};
  for (int i = 0; i < 500; ++i) {
    values.push_back(start - 0.1);
    values.push_back(start + 0.1);
  }
  return values;
}

double percentile_nearest(const std::vector<double>& values, double p) {
  return percentiles_nearest(values, std::vector{p}).front();
}

TEST(Statistics, MeetsTheCertifiedFiguresOfNist) {
  EXPECT_DOUBLE_EQ(mean(nist_num_acc(1'000'000.2)), 1'000'000.2);
  EXPECT_NEAR(standard_deviation(nist_num_acc(1'000'000.2)), 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(mean(nist_num_acc(10'000'000.2)), 10'000'000.2);
  EXPECT_NEAR(standard_deviation(nist_num_acc(10'000'000.2)), 0.1, 1e-8);
}

// Four nodes of an LLM-training guide; the guide's figure is 0.89 %.
TEST(Statistics, CoefficientOfVariationOfFourNodes) {
  const std::vector<double> nodes = {1.46, 1.45, 1.47, 1.44};
  EXPECT_NEAR(mean(nodes), 1.455, 1e-15);
  EXPECT_NEAR(coefficient_of_variation(nodes), 0.008872814080658458, 1e-15);
}

TEST(Statistics, SumsKeepWhatRoundingTakesAway) {
  EXPECT_EQ(mean(std::vector<double>{1e16, 1, 1, 1, 1, -1e16, 0, 0}), 0.5);
}

TEST(Statistics, WhatIsNotDefinedIsNaN) {
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(sample_variance(std::vector{1.0})));
  EXPECT_TRUE(std::isnan(coefficient_of_variation(std::vector{-1.0, 1.0})));
  EXPECT_TRUE(std::isnan(percentile_nearest({}, 0.5)));
  EXPECT_TRUE(std::isnan(percentile_nearest(std::vector{1.0}, 1.5)));
  EXPECT_TRUE(std::isnan(median(std::vector{1.0, kNan, 2.0})));
  EXPECT_TRUE(std::isnan(percentile_interpolated(std::vector{1.0, kNan}, 0.5)));
}

TEST(Statistics, MedianAndDeviation) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_EQ(median(std::vector{7.0}), 7);
  EXPECT_EQ(median_absolute_deviation(std::vector{1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0}), 1);
}

TEST(Percentiles, NearestIsLoadGensIndex) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), 0.0);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(percentile_nearest(values, 0), 0);
  EXPECT_EQ(percentile_nearest(values, 0.5), 50);
  EXPECT_EQ(percentile_nearest(values, 0.9), 90);
  EXPECT_EQ(percentile_nearest(values, 0.99), 99);
  EXPECT_EQ(percentile_nearest(values, 0.999), 99);
  EXPECT_EQ(percentile_nearest(values, 1), 99);
  EXPECT_EQ(percentile_nearest(std::vector{5.0, 3.0}, 0.49), 3);
  EXPECT_EQ(percentile_nearest(std::vector{5.0, 3.0}, 0.5), 5);
}

TEST(Percentiles, SeveralAtOnceAreThoseOfTheSortedValues) {
  Random random(1, "percentiles");
  std::vector<double> values;
  values.reserve(10'007);
  for (int i = 0; i < 10'007; ++i) values.push_back(std::floor(random.lognormal(3, 1)));
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<double> ps = {0.99, 0.5, 0.999, 0.5, 0, 1, 0.9};
  const auto found = percentiles_nearest(values, ps);
  for (std::size_t i = 0; i < ps.size(); ++i) {
    const auto index = std::min(sorted.size() - 1, static_cast<std::size_t>(10'007 * ps[i]));
    EXPECT_EQ(found[i], sorted[index]) << ps[i];
  }
}

// The example of R's documentation of quantile(): type 7 of 1 … 10.
TEST(Percentiles, InterpolatedIsTypeSeven) {
  std::vector<double> values = {10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  EXPECT_DOUBLE_EQ(percentile_interpolated(values, 0.25), 3.25);
  EXPECT_DOUBLE_EQ(percentile_interpolated(values, 0.5), 5.5);
  EXPECT_DOUBLE_EQ(percentile_interpolated(values, 0.9), 9.1);
  EXPECT_EQ(percentile_interpolated(values, 0), 1);
  EXPECT_EQ(percentile_interpolated(values, 1), 10);
}

TEST(Summary, CountsAndLeavesOutWhatIsNotFinite) {
  const Summary summary = summarise(std::vector{3.0, kNan, 1.0, std::numeric_limits<double>::infinity(), 2.0});
  EXPECT_EQ(summary.count, 3u);
  EXPECT_EQ(summary.non_finite, 2u);
  EXPECT_EQ(summary.mean, 2);
  EXPECT_EQ(summary.standard_deviation, 1);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p50, 2);
  EXPECT_EQ(summary.p99, 3);
  EXPECT_EQ(summary.max, 3);
  EXPECT_EQ(summarise({}).count, 0u);
}

}  // namespace
}  // namespace assay
