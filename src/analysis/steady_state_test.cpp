#include "analysis/steady_state.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/statistics.h"
#include "base/random.h"

namespace assay {
namespace {

std::vector<double> noisy(std::size_t count, double level, double noise, std::uint64_t seed) {
  Random random(seed, "steady");
  std::vector<double> values(count);
  for (double& value : values) value = random.normal(level, noise);
  return values;
}

/// Each value leans on the one before by `rho`; standard deviation 1 around 0.
std::vector<double> leaning(std::size_t count, double rho, Random& random) {
  std::vector<double> values(count);
  double value = random.normal(0, 1);
  for (double& out : values) {
    out = value;
    value = rho * value + std::sqrt(1 - rho * rho) * random.normal(0, 1);
  }
  return values;
}

TEST(SteadyState, CutsTheWarmUp) {
  auto steps = noisy(200, 100, 1, 1);
  for (std::size_t i = 0; i < 30; ++i) steps[i] += 80 * (1 - static_cast<double>(i) / 30);
  const auto steady = find_steady_state(steps);
  EXPECT_TRUE(steady.found);
  EXPECT_GE(steady.first, 25u);
  EXPECT_LE(steady.first, 40u);
}

// Worked by hand: ten batches of five, means 9 and then nine times 1. With no cut the score is 57.6/100, with the
// first batch cut it is 0, and it stays 0: the earliest cut wins.
TEST(SteadyState, MatchesAHandWorkedCase) {
  std::vector<double> steps(50, 1.0);
  for (std::size_t i = 0; i < 5; ++i) steps[i] = 9;
  const auto steady = find_steady_state(steps);
  EXPECT_TRUE(steady.found);
  EXPECT_EQ(steady.first, 5u);
}

TEST(SteadyState, AConstantSeriesHasNoWarmUp) {
  const auto steady = find_steady_state(std::vector<double>(60, 3.0));
  EXPECT_TRUE(steady.found);
  EXPECT_EQ(steady.first, 0u);
}

TEST(SteadyState, SaysWhenNothingIsSteady) {
  std::vector<double> falling(100);
  for (std::size_t i = 0; i < falling.size(); ++i) falling[i] = 100 - static_cast<double>(i);
  EXPECT_FALSE(find_steady_state(falling).found);
  EXPECT_FALSE(find_steady_state(std::vector<double>(19, 1.0)).found);
  EXPECT_FALSE(find_steady_state({}).found);
}

// NIST StRD "NumAcc3": certified lag-1 autocorrelation −0.999.
TEST(Autocorrelation, MeetsTheCertifiedFigureOfNist) {
  std::vector<double> values = {1'000'000.2};
  for (int i = 0; i < 500; ++i) {
    values.push_back(1'000'000.1);
    values.push_back(1'000'000.3);
  }
  EXPECT_NEAR(autocorrelation(values), -0.999, 1e-9);
  EXPECT_EQ(autocorrelation(std::vector<double>(10, 4.0)), 0);
  EXPECT_EQ(autocorrelation(std::vector{1.0, 2.0, 1.0}, 1), -2.0 / 3);
  EXPECT_TRUE(std::isnan(autocorrelation(std::vector{1.0, 2.0}, 1)));
}

// A chain with ρ = 0.9 tells as much as count·(1−ρ)/(1+ρ) = count/19 independent steps. Seeded.
TEST(SteadyMean, StepsThatLeanOnEachOtherCountForLess) {
  Random random(11, "chain");
  int covered = 0;
  int covered_if_steps_were_replicates = 0;
  double effective = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const auto steps = leaning(4000, 0.9, random);
    const auto result = steady_mean(steps);
    ASSERT_TRUE(result.interval);
    covered += result.interval->contains(0) ? 1 : 0;
    const double naive = 1.96 * standard_deviation(steps) / std::sqrt(4000.0);
    covered_if_steps_were_replicates += std::fabs(result.mean) < naive ? 1 : 0;
    effective += result.effective_steps / 200;
  }
  EXPECT_GE(covered, 180);                          // 95 % asked; 90 % at the least
  EXPECT_LE(covered_if_steps_were_replicates, 90);  // the mistake this is there to prevent
  EXPECT_NEAR(effective, 4000.0 / 19, 60);
}

TEST(SteadyMean, IndependentStepsCountInFull) {
  const auto result = steady_mean(noisy(2000, 10, 1, 4));
  EXPECT_TRUE(result.reliable);
  EXPECT_GT(result.effective_steps, 1000);
  EXPECT_TRUE(result.interval->contains(10));
}

TEST(SteadyMean, SaysWhenTheSeriesIsTooShortToKnow) {
  const auto few = steady_mean(std::vector<double>(19, 2.0));
  EXPECT_EQ(few.mean, 2);
  EXPECT_FALSE(few.interval);
  EXPECT_FALSE(few.reliable);
  // A slow wave: even ten batches lean on each other.
  std::vector<double> wave(400);
  for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = std::sin(static_cast<double>(i) / 64);
  EXPECT_FALSE(steady_mean(wave).reliable);
}

}  // namespace
}  // namespace assay
