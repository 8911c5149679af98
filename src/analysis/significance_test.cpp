#include "analysis/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

bool claims_difference(ArmVerdict verdict) {
  return was_tested(verdict) && verdict != ArmVerdict::no_significant_difference;
}

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<double> kSlow = {101.2, 99.8, 100.5, 100.9, 99.4, 100.2};
const std::vector<double> kFast = {103.1, 102.2, 102.9, 103.8, 102.0, 101.6, 103.3};

// Reference values of Welch and Hedges: mpmath with 40 digits from the textbook formulas.
TEST(Welch, MatchesMpmath) {
  const auto test = welch_test(kSlow, kFast);
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->t, 5.837854792666467, 1e-12);
  EXPECT_NEAR(test->degrees, 10.99810710623866, 1e-11);
  EXPECT_NEAR(test->p, 0.0001129476148247632, 1e-15);
  EXPECT_NEAR(test->difference.low, 1.474368419978885, 1e-12);
  EXPECT_NEAR(test->difference.high, 3.258964913354448, 1e-12);

  const std::vector<double> a = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
  const std::vector<double> b = {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 25.4};
  EXPECT_NEAR(welch_test(a, b)->t, 2.903125999543456, 1e-12);
  EXPECT_NEAR(welch_test(a, b)->degrees, 27.92663985066175, 1e-11);
  EXPECT_NEAR(welch_test(a, b)->p, 0.007138742505780484, 1e-14);
  EXPECT_NEAR(hedges_g(a, b), 1.031377831826237, 1e-12);
}

TEST(Welch, ArmsWithoutSpreadAreAnswered) {
  EXPECT_EQ(welch_test(std::vector{2.0, 2.0}, std::vector{2.0, 2.0})->p, 1);
  EXPECT_EQ(welch_test(std::vector{2.0, 2.0}, std::vector{3.0, 3.0})->p, 0);
  EXPECT_FALSE(welch_test(std::vector{2.0}, std::vector{3.0, 3.0}));
}

// Exact values: every one of the 1,716 (462) arrangements listed and counted in an independent Python program.
TEST(MannWhitney, ExactMatchesTheListOfAllArrangements) {
  const auto apart = mann_whitney_test(kSlow, kFast);
  ASSERT_TRUE(apart);
  EXPECT_TRUE(apart->exact);
  EXPECT_EQ(apart->u, 42);
  EXPECT_NEAR(apart->p, 2.0 / 1716, 1e-15);
  const auto mixed =
      mann_whitney_test(std::vector{5.0, 7.0, 9.0, 11.0, 13.0}, std::vector{6.0, 8.0, 14.0, 15.0, 16.0, 17.0});
  EXPECT_EQ(mixed->u, 23);
  EXPECT_NEAR(mixed->p, 82.0 / 462, 1e-15);
  // Turned round.
  EXPECT_NEAR(
      mann_whitney_test(std::vector{6.0, 8.0, 14.0, 15.0, 16.0, 17.0}, std::vector{5.0, 7.0, 9.0, 11.0, 13.0})->p,
      82.0 / 462, 1e-15);
}

// Normal approximation with tie and continuity correction, computed with mpmath.
TEST(MannWhitney, TiesAndManyValuesAreApproximated) {
  const auto ties = mann_whitney_test(std::vector{1.0, 2.0, 2.0, 3.0, 4.0, 4.0}, std::vector{2.0, 4.0, 5.0, 5.0, 6.0});
  EXPECT_FALSE(ties->exact);
  EXPECT_EQ(ties->u, 25);
  EXPECT_NEAR(ties->p, 0.07655084936985344, 1e-14);
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 26; ++i) {
    a.push_back(i);
    b.push_back(i + 7.5);
  }
  EXPECT_FALSE(mann_whitney_test(a, b)->exact);
  EXPECT_EQ(mann_whitney_test(a, b)->u, 505);
  EXPECT_NEAR(mann_whitney_test(a, b)->p, 0.002310237703924639, 1e-15);
  EXPECT_EQ(mann_whitney_test(std::vector{1.0, 1.0}, std::vector{1.0, 1.0})->p, 1);
  EXPECT_FALSE(mann_whitney_test({}, std::vector{1.0}));
}

TEST(MannWhitney, ExactAndApproximateAgreeWhereTheyMeet) {
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 25; ++i) {
    a.push_back(i);
    b.push_back(i + 5.5);
  }
  const auto exact = mann_whitney_test(a, b);
  ASSERT_TRUE(exact->exact);
  a.push_back(25);
  b.push_back(30.5);
  EXPECT_NEAR(exact->p, mann_whitney_test(a, b)->p, 0.004);
}

TEST(EffectSizes, MatchTheReference) {
  EXPECT_NEAR(hedges_g(kSlow, kFast), 2.981696258214208, 1e-12);
  EXPECT_EQ(cliffs_delta(kSlow, kFast), 1);
  EXPECT_EQ(cliffs_delta(kFast, kSlow), -1);
  EXPECT_NEAR(cliffs_delta(std::vector{5.0, 7.0, 9.0, 11.0, 13.0}, std::vector{6.0, 8.0, 14.0, 15.0, 16.0, 17.0}),
              (23.0 - 7.0) / 30, 1e-15);
  EXPECT_EQ(cliffs_delta(std::vector{1.0, 2.0}, std::vector{1.0, 2.0}), 0);
  EXPECT_TRUE(std::isnan(hedges_g(std::vector{1.0, 1.0}, std::vector{1.0, 1.0})));
}

// Worked by hand: sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, never falling.
TEST(Holm, MatchesAHandWorkedCase) {
  EXPECT_THAT(
      holm_adjusted(std::vector{0.01, 0.04, 0.03, 0.005}),
      ElementsAre(DoubleNear(0.03, 1e-15), DoubleNear(0.06, 1e-15), DoubleNear(0.06, 1e-15), DoubleNear(0.02, 1e-15)));
  EXPECT_THAT(holm_adjusted(std::vector{0.9, 0.8}), ElementsAre(1, 1));
  EXPECT_THAT(holm_adjusted({}), IsEmpty());
}

TEST(CompareArms, SaysBetterAndWorse) {
  const auto better = compare_arms(kSlow, kFast);
  EXPECT_EQ(better.verdict, ArmVerdict::better);
  EXPECT_NEAR(better.ratio, 1.02358803986711, 1e-12);
  EXPECT_NEAR(better.ratio_interval->low, 1.014635484018224, 1e-12);
  EXPECT_EQ(compare_arms(kFast, kSlow).verdict, ArmVerdict::worse);
  // As times, the arm with the larger numbers is the worse one; the ratio stays what it is.
  const CompareSettings times{.better = Direction::lower_is_better};
  const auto worse = compare_arms(kSlow, kFast, times);
  EXPECT_EQ(worse.verdict, ArmVerdict::worse);
  EXPECT_EQ(worse.ratio, better.ratio);
}

TEST(CompareArms, WithoutADirectionTheyAreOnlyDifferent) {
  const CompareSettings unknown{.better = Direction::unknown};
  EXPECT_EQ(compare_arms(kSlow, kFast, unknown).verdict, ArmVerdict::different);
  EXPECT_EQ(compare_arms(kFast, kSlow, unknown).verdict, ArmVerdict::different);
  EXPECT_EQ(compare_arms(kFast, kFast, unknown).verdict, ArmVerdict::no_significant_difference);
}

TEST(CompareArms, FiveTimesTheSameNumberIsNothingToTest) {
  const std::vector<double> a(5, 0.745);
  const std::vector<double> b(5, 0.765);
  const auto comparison = compare_arms(a, b);
  EXPECT_EQ(comparison.verdict, ArmVerdict::no_spread);
  EXPECT_EQ(name_of(comparison.verdict), "one distinct value: nothing to test");
  EXPECT_FALSE(comparison.adjusted_p) << "no p = 0.0000";
  EXPECT_EQ(compare_arms(a, a).verdict, ArmVerdict::no_spread);
  // One side that spreads is noise enough for Welch's test.
  EXPECT_EQ(compare_arms(a, std::vector{0.765, 0.766, 0.764, 0.765, 0.765}).verdict, ArmVerdict::better);
}

TEST(CompareArms, FewerThanFiveRepeatsSayNothing) {
  const std::vector<double> four = {100.0, 100.1, 99.9, 100.0};
  const std::vector<double> far = {200.0, 200.1, 199.9, 200.0, 200.0};
  const auto comparison = compare_arms(four, far);
  EXPECT_EQ(comparison.verdict, ArmVerdict::too_few_repeats);
  EXPECT_EQ(name_of(comparison.verdict), "too few repeats to say");
  EXPECT_NEAR(comparison.ratio, 1.9998, 1e-3);  // the figure is there; the conclusion is not
  EXPECT_EQ(compare_arms(std::vector{1.0}, std::vector{2.0}).verdict, ArmVerdict::too_few_repeats);
  EXPECT_EQ(compare_arms({}, {}).verdict, ArmVerdict::too_few_repeats);
}

TEST(CompareArms, RepeatsThatAreNotFiniteDoNotCount) {
  auto with_nan = kSlow;
  with_nan[0] = std::numeric_limits<double>::quiet_NaN();
  with_nan[1] = std::numeric_limits<double>::infinity();
  const auto comparison = compare_arms(with_nan, kFast);
  EXPECT_EQ(comparison.verdict, ArmVerdict::too_few_repeats);
  EXPECT_EQ(comparison.a.non_finite, 2u);
}

TEST(CompareArms, NoiseAloneIsNoDifference) {
  const std::vector<double> a = {100.0, 101.0, 99.0, 100.5, 99.5};
  const std::vector<double> b = {100.4, 99.2, 100.9, 99.8, 100.6};
  EXPECT_EQ(compare_arms(a, b).verdict, ArmVerdict::no_significant_difference);
}

// 20 arms that are all equal to the baseline, 300 times over: without correction most studies would report a winner.
TEST(CompareMany, HolmKeepsFalseWinnersRare) {
  Random random(9, "holm");
  const auto arm = [&] {
    std::vector<double> values(6);
    for (double& value : values) value = random.normal(100, 1);
    return values;
  };
  int uncorrected = 0;
  int corrected = 0;
  for (int study = 0; study < 300; ++study) {
    const auto baseline = arm();
    std::vector<std::vector<double>> arms;
    arms.reserve(20);
    for (int i = 0; i < 20; ++i) arms.push_back(arm());
    bool any_raw = false;
    bool any = false;
    for (const auto& comparison : compare_many(baseline, arms)) {
      any_raw = any_raw || comparison.welch->p < 0.05;
      any = any || comparison.verdict != ArmVerdict::no_significant_difference;
    }
    uncorrected += any_raw ? 1 : 0;
    corrected += any ? 1 : 0;
  }
  EXPECT_GT(uncorrected, 100);
  EXPECT_LT(corrected, 25);
}

TEST(CompareMany, ArmsWithTooFewRepeatsTakeNoPartInTheCorrection) {
  const std::vector<std::vector<double>> arms = {kFast, {103.0, 102.0}};
  const auto comparisons = compare_many(kSlow, arms);
  EXPECT_EQ(comparisons[0].verdict, ArmVerdict::better);
  EXPECT_EQ(comparisons[0].adjusted_p, comparisons[0].welch->p);
  EXPECT_EQ(comparisons[1].verdict, ArmVerdict::too_few_repeats);
}

/// `metrics` figures of `arms` arms of five repeats each; `effect` standard deviations are added to the last arm.
std::vector<MetricArms> drawn_metrics(Random& random, std::size_t metrics, std::size_t arms, double effect = 0) {
  std::vector<MetricArms> drawn(metrics);
  for (std::size_t m = 0; m < metrics; ++m) {
    drawn[m].headline = m == 0;
    drawn[m].better = Direction::higher_is_better;
    drawn[m].arms.assign(arms, std::vector<double>(5));
    for (std::size_t i = 0; i < arms; ++i) {
      for (double& value : drawn[m].arms[i]) value = random.normal(100 + (i + 1 == arms ? effect : 0), 1);
    }
  }
  return drawn;
}

std::size_t claims_in(const std::vector<std::vector<ArmComparison>>& answers) {
  std::size_t claims = 0;
  for (const auto& metric : answers) {
    for (const auto& answer : metric) claims += claims_difference(answer.verdict) ? 1 : 0;
  }
  return claims;
}

TEST(CompareMetrics, EqualArmsSeldomClaimAnythingHoweverManyFiguresThereAre) {
  Random random(13, "metrics");
  int claimed = 0;
  constexpr int kTables = 300;
  for (int i = 0; i < kTables; ++i) claimed += claims_in(compare_metrics(drawn_metrics(random, 10, 2), 0)) > 0 ? 1 : 0;
  // 5 % of 300 are 15, with a standard deviation of 3.8; Welch's test is somewhat careful with five repeats.
  EXPECT_LT(claimed, 24);
  EXPECT_GT(claimed, 4);
}

TEST(CompareMetrics, ManySideFiguresDoNotDrownTheHeadline) {
  Random random(17, "metrics");
  int found = 0;
  int found_as_one_of_many = 0;
  for (int i = 0; i < 40; ++i) {
    auto metrics = drawn_metrics(random, 30, 2);
    for (double& value : metrics[0].arms[1]) value += 3;
    found += claims_difference(compare_metrics(metrics, 0)[0][1].verdict) ? 1 : 0;
    metrics[0].headline = false;
    found_as_one_of_many += claims_difference(compare_metrics(metrics, 0)[0][1].verdict) ? 1 : 0;
  }
  EXPECT_GT(found, 32);
  EXPECT_LT(found_as_one_of_many, found / 2);
}

TEST(CompareMetrics, TheLevelIsSharedWithOtherFamilies) {
  const std::vector<MetricArms> one = {{.arms = {kSlow, kFast}, .better = Direction::higher_is_better}};
  const double p = *compare_metrics(one, 0)[0][1].adjusted_p;
  EXPECT_NEAR(*compare_metrics(one, 0, {}, 1)[0][1].adjusted_p, 2 * p, 1e-15);
}

TEST(CompareMetrics, RepeatsOfOneSeedAreNoRepeatsOfATraining) {
  const std::vector<MetricArms> one = {
      {.arms = {kSlow, kFast}, .better = Direction::higher_is_better, .one_seed = true}};
  const auto answer = compare_metrics(one, 0)[0][1];
  EXPECT_EQ(answer.verdict, ArmVerdict::one_seed);
  EXPECT_FALSE(answer.adjusted_p);
}

}  // namespace
}  // namespace assay
