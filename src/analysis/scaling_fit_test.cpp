#include "analysis/scaling_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "analysis/statistics.h"
#include "base/random.h"

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

/// The points of a law, each known to within `error`, with four degrees of freedom.
std::vector<SpeedupPoint> known_to(double error, std::vector<SpeedupPoint> points) {
  for (auto& point : points) {
    point.relative_error = error;
    point.degrees = 4;
  }
  return points;
}

TEST(ScalingLaw, OnlyTheLawThatTheNoiseSupportsIsStated) {
  const SpeedupPoint base{.relative_error = 0.001, .degrees = 4};
  const auto falls = fit_scaling_law(base, known_to(0.001, from_law(0.02, 0.01, {2, 4, 8, 16})));
  ASSERT_TRUE(falls.universal);
  EXPECT_FALSE(falls.amdahl) << "its bound would contradict the peak";
  EXPECT_TRUE(falls.universal->coherence_interval->contains(0.01));
  const SpeedupPoint noisy{.relative_error = 0.1, .degrees = 4};
  const auto unclear = fit_scaling_law(noisy, known_to(0.1, from_law(0.05, 0.0005, {2, 4})));
  EXPECT_FALSE(unclear.universal);
  ASSERT_TRUE(unclear.amdahl);
  EXPECT_TRUE(unclear.amdahl->serial_share_interval->contains(unclear.amdahl->serial_share));
}

TEST(ScalingLaw, SizesThatNoLawDescribesHaveNone) {
  const auto law = fit_scaling_law({}, std::vector<SpeedupPoint>{{2, 0.02}});
  EXPECT_FALSE(law.amdahl);
  EXPECT_FALSE(law.universal);
}

TEST(ScalingLaw, WithoutRepeatsThereAreNoIntervals) {
  const auto few = fit_scaling_law({}, from_law(0.02, 0.01, {2, 4}));
  ASSERT_TRUE(few.amdahl) << "two sizes for two parameters prove no fall";
  EXPECT_FALSE(few.amdahl->serial_share_interval);
  EXPECT_TRUE(fit_scaling_law({}, from_law(0.02, 0.01, {2, 4, 8})).universal);
}

// The true share must be in about 57 of 60 intervals.
TEST(ScalingLaw, IntervalsHoldTheTruth) {
  Random random(5, "cover");
  int held = 0;
  constexpr int kStudies = 60;
  constexpr double kNoise = 0.02;
  for (int i = 0; i < kStudies; ++i) {
    const auto measured = [&](double truth) {
      std::vector<double> values(5);
      for (double& value : values) value = truth * (1 + random.normal(0, kNoise));
      return values;
    };
    const auto error_of = [](const std::vector<double>& values) {
      return coefficient_of_variation(values) / std::sqrt(static_cast<double>(values.size()));
    };
    const auto one = measured(1);
    const SpeedupPoint base{.relative_error = error_of(one), .degrees = 4};
    std::vector<SpeedupPoint> points;
    for (const auto& truth : from_law(0.05, 0, {2, 4, 8})) {
      const auto rates = measured(truth.speedup);
      points.push_back({truth.ranks, mean(rates) / mean(one), error_of(rates), 4});
    }
    const auto law = fit_scaling_law(base, points);
    const bool holds = law.amdahl ? law.amdahl->serial_share_interval->contains(0.05)
                                  : law.universal->contention_interval->contains(0.05);
    held += holds ? 1 : 0;
  }
  EXPECT_GE(held, 52);
}

}  // namespace
}  // namespace assay
