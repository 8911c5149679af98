#include "analysis/intervals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

// Where a test says "mpmath", the value was computed with 40 digits from the textbook formula in an independent
// Python program.

TEST(TInterval, MatchesMpmath) {
  const std::vector<double> nodes = {1.46, 1.45, 1.47, 1.44};
  const auto interval = t_interval(nodes);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 1.434457397432395, 1e-14);
  EXPECT_NEAR(interval->high, 1.475542602567605, 1e-14);
  EXPECT_FALSE(t_interval(std::vector{1.0}));
}

TEST(RatioInterval, MatchesMpmath) {
  const std::vector<double> a = {101.2, 99.8, 100.5, 100.9, 99.4, 100.2};
  const std::vector<double> b = {103.1, 102.2, 102.9, 103.8, 102.0, 101.6, 103.3};
  const auto interval = ratio_interval(a, b);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 1.014635484018224, 1e-13);
  EXPECT_NEAR(interval->high, 1.032619587883616, 1e-13);
  // Turned round, it is the reciprocal.
  EXPECT_NEAR(ratio_interval(b, a)->low, 1 / interval->high, 1e-13);
  EXPECT_FALSE(ratio_interval(a, std::vector{1.0}));
  EXPECT_FALSE(ratio_interval(a, std::vector{-1.0, -2.0}));
  EXPECT_EQ(ratio_interval(std::vector{2.0, 2.0}, std::vector{3.0, 3.0}), (Interval{1.5, 1.5, 0.95}));
}

// Seeded, so it gives the same share for ever; 95 % asked, and 1,000 trials scatter by ±1.4 points (2 σ).
TEST(TInterval, CoversTheTruthAsOftenAsItSays) {
  Random random(3, "coverage");
  int covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> values(6);
    for (double& value : values) value = random.normal(50, 4);
    covered += t_interval(values)->contains(50) ? 1 : 0;
  }
  EXPECT_GT(covered, 930);
  EXPECT_LT(covered, 970);
}

}  // namespace
}  // namespace assay
