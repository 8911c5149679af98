#include "analysis/cost.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

const Price kOnDemand{0.60, "USD", "GPUh"};
const Price kSpot{0.18, "USD", "GPUh"};

std::string dollars(const std::optional<Money>& money, int digits) {
  if (!money) return "none";
  return fmt::format("{}{:.{}f}", money->currency == "USD" ? "$" : money->currency, money->amount, digits);
}

// The LLM-training guide, to the printed digits.
TEST(Cost, GoldenFigures) {
  const auto fast =
      cost_of(kOnDemand, {}, {.seconds = 300, .samples_per_second = 1.46, .tokens_per_second = 1.46 * 512});
  const auto slow =
      cost_of(kOnDemand, {}, {.seconds = 1800, .samples_per_second = 0.69, .tokens_per_second = 0.69 * 1024});
  EXPECT_EQ(dollars(fast.per_1000_samples, 3), "$0.114");
  EXPECT_EQ(dollars(slow.per_1000_samples, 3), "$0.242");
  EXPECT_EQ(fmt::format("{:.0f} %", saving_of(*slow.per_1000_samples, *fast.per_1000_samples)->share * 100), "53 %");
  EXPECT_EQ(dollars(fast.per_million_tokens, 3), "$0.223");
  EXPECT_EQ(dollars(slow.per_million_tokens, 3), "$0.236");
  EXPECT_EQ(fmt::format("{:.1f} %", saving_of(*slow.per_million_tokens, *fast.per_million_tokens)->share * 100),
            "5.5 %");
  EXPECT_EQ(dollars(cost_of(kSpot, {}, {.samples_per_second = 1.46}).per_1000_samples, 3), "$0.034");
  EXPECT_EQ(dollars(fast.run, 2), "$0.05");
  EXPECT_EQ(dollars(slow.run, 2), "$0.30");
  EXPECT_EQ(dollars(cost_of(kOnDemand, {.gpus = 4, .nodes = 4}, {.seconds = 1800}).run, 2), "$1.20");
  EXPECT_EQ(dollars(production_job(kOnDemand, 1, 1, 10'000, 1.46)->cost, 2), "$1.14");
  EXPECT_EQ(dollars(production_job(kOnDemand, 1, 1, 10'000, 0.69)->cost, 2), "$2.42");
}

TEST(Cost, ANodePriceCountsNodes) {
  EXPECT_EQ(hourly_cost({2, "EUR", "h"}, {.gpus = 16, .nodes = 2}), (Money{4, "EUR"}));
  EXPECT_EQ(hourly_cost({2, "EUR", "GPUh"}, {.gpus = 16, .nodes = 2}), (Money{32, "EUR"}));
}

TEST(Cost, WhatWasNotMeasuredCostsNothingKnown) {
  const auto figures = cost_of(kOnDemand, {}, {.samples_per_second = 0, .tokens_per_second = std::nan("")});
  EXPECT_FALSE(figures.run);
  EXPECT_FALSE(figures.per_1000_samples);
  EXPECT_FALSE(figures.per_million_tokens);
}

TEST(Cost, CurrenciesAreKeptApart) {
  EXPECT_FALSE(saving_of({1, "USD"}, {0.5, "EUR"}));
  EXPECT_FALSE(saving_of({0, "USD"}, {0.5, "USD"}));
  EXPECT_NEAR(saving_of({2, "EUR"}, {3, "EUR"})->share, -0.5, 1e-12);
}

TEST(Cost, ProductionOnSeveralNodesNeedsAnEfficiency) {
  const auto assumed = production_job(kOnDemand, 2, 4, 1e6, 10);
  EXPECT_TRUE(assumed->assumes_ideal_scaling);
  EXPECT_NEAR(assumed->seconds, 25'000, 1e-9);
  EXPECT_NEAR(assumed->cost.amount, 0.6 * 8 * 25'000 / 3600, 1e-9);
  const auto measured = production_job(kOnDemand, 2, 4, 1e6, 10, 0.8);
  EXPECT_FALSE(measured->assumes_ideal_scaling);
  EXPECT_NEAR(measured->cost.amount, assumed->cost.amount / 0.8, 1e-9);
  EXPECT_FALSE(production_job(kOnDemand, 2, 0, 1e6, 10));
  EXPECT_FALSE(production_job(kOnDemand, 2, 1, 1e6, 10, 0.0));
}

// 3.6 MJ are 1 kWh.
TEST(Energy, PerSampleAndToken) {
  const auto figures = energy_of(7.2e6, 1000, 2e6, GridIntensity{300, "stated"}, 1.5);
  EXPECT_NEAR(figures.kwh, 2, 1e-12);
  EXPECT_NEAR(*figures.joules_per_sample, 7200, 1e-9);
  EXPECT_NEAR(*figures.joules_per_token, 3.6, 1e-12);
  EXPECT_NEAR(*figures.grams_co2, 900, 1e-9);
  EXPECT_NEAR(*figures.grams_co2_per_sample, 0.9, 1e-12);
  EXPECT_NEAR(*figures.grams_co2_per_million_tokens, 450, 1e-9);
}

TEST(Energy, WithoutAStatedGridThereIsNoCo2) {
  const auto figures = energy_of(7.2e6, 1000, std::nullopt, std::nullopt);
  EXPECT_FALSE(figures.grams_co2);
  EXPECT_FALSE(figures.grams_co2_per_sample);
  EXPECT_FALSE(figures.joules_per_token);
  EXPECT_TRUE(figures.joules_per_sample);
}

}  // namespace
}  // namespace assay
