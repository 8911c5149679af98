#include "analysis/scaling_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay {
namespace {

std::vector<SpeedupPoint> from_law(double sigma, double kappa, const std::vector<double>& sizes) {
  std::vector<SpeedupPoint> points;
  points.reserve(sizes.size());
  for (const double n : sizes) points.push_back({n, n / (1 + sigma * (n - 1) + kappa * n * (n - 1))});
  return points;
}

TEST(ScalingFit, FindsTheLawThatMadeThePoints) {
  const auto amdahl = fit_amdahl(from_law(0.05, 0, {1, 2, 4, 8, 16}));
  ASSERT_TRUE(amdahl);
  EXPECT_NEAR(amdahl->serial_share, 0.05, 1e-12);
  EXPECT_NEAR(*amdahl->limit, 20, 1e-9);
  EXPECT_NEAR(amdahl->relative_error, 0, 1e-12);
  EXPECT_NEAR(amdahl->predict(16), 1 / (0.05 + 0.95 / 16), 1e-12);

  const auto universal = fit_universal(from_law(0.04, 0.0006, {1, 2, 4, 8, 16}));
  ASSERT_TRUE(universal);
  EXPECT_NEAR(universal->contention, 0.04, 1e-10);
  EXPECT_NEAR(universal->coherence, 0.0006, 1e-11);
  EXPECT_NEAR(*universal->best_ranks, 40, 1e-6);  // √(0.96/0.0006)
  EXPECT_FALSE(universal->exact);
}

// The golden study: speed-ups 3.8060 at 4 and 6.3432 at 8. Values from an independent Python program in exact
// fractions. The free optimum has a negative contention, which means nothing, so it is held at 0.
TEST(ScalingFit, StaysWithinParametersThatMeanSomething) {
  const std::vector<SpeedupPoint> golden = {{1, 1}, {4, 362.45 / 95.23}, {8, 362.45 / 57.14}};
  const auto amdahl = fit_amdahl(golden);
  EXPECT_NEAR(amdahl->serial_share, 0.03306148741893968, 1e-14);
  EXPECT_NEAR(amdahl->relative_error, 0.03541995244270917, 1e-14);
  const auto universal = fit_universal(golden);
  EXPECT_EQ(universal->contention, 0);
  EXPECT_NEAR(universal->coherence, 0.0046382865818301545, 1e-15);
  EXPECT_NEAR(*universal->best_ranks, 14.683216782418441, 1e-11);
  EXPECT_TRUE(universal->exact);
}

TEST(ScalingFit, PerfectAndUselessScaling) {
  const std::vector<SpeedupPoint> perfect = {{1, 1}, {2, 2}, {4, 4}};
  EXPECT_EQ(fit_amdahl(perfect)->serial_share, 0);
  EXPECT_FALSE(fit_amdahl(perfect)->limit);
  EXPECT_FALSE(fit_universal(perfect)->best_ranks);
  const std::vector<SpeedupPoint> better_than_perfect = {{1, 1}, {2, 2.4}, {4, 5.5}};
  EXPECT_EQ(fit_amdahl(better_than_perfect)->serial_share, 0);
  const std::vector<SpeedupPoint> useless = {{1, 1}, {2, 0.6}, {4, 0.3}};
  EXPECT_EQ(fit_amdahl(useless)->serial_share, 1);
  const auto universal = fit_universal(useless);
  EXPECT_GE(universal->contention, 0);
  EXPECT_LE(universal->contention, 1);
  EXPECT_GE(universal->coherence, 0);
  EXPECT_EQ(*universal->best_ranks, 1);
}

TEST(ScalingFit, NeedsSizes) {
  EXPECT_FALSE(fit_amdahl(std::vector<SpeedupPoint>{{1, 1}}));
  EXPECT_FALSE(fit_universal(std::vector<SpeedupPoint>{{1, 1}, {4, 3.5}, {4, 3.6}}));
  EXPECT_FALSE(fit_amdahl(std::vector<SpeedupPoint>{{4, std::nan("")}, {8, 0}}));
}

}  // namespace
}  // namespace assay
