#include "analysis/ablation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Five repeats around `rate` that scatter by about a percent.
std::vector<double> around(double rate) { return {rate * 0.99, rate * 1.01, rate, rate * 0.995, rate * 1.005}; }

AblationArm arm(std::string name, std::map<std::string, std::string> changes, std::vector<double> rates,
                std::optional<double> tokens = std::nullopt) {
  return {.name = std::move(name),
          .changes = std::move(changes),
          .samples_per_second = std::move(rates),
          .tokens_per_sample = tokens};
}

// The LLM-training guide: 2.12× per sample is 1.06× per token, since samples became half as long.
TEST(Ablation, UnequalWorkIsJudgedByTokens) {
  const std::vector<AblationArm> arms = {arm("baseline", {}, {0.69}, 1024),
                                         arm("shorter", {{"seq_length", "512"}}, {1.46}, 512)};
  const auto result = analyse_ablation(arms);
  const auto& effect = result.effects[0];
  EXPECT_EQ(effect.work, WorkPerSample::unequal);
  EXPECT_EQ(fmt::format("{:.2f} {:.2f}", effect.gain_per_sample, *effect.gain_per_token), "2.12 1.06");
  EXPECT_EQ(fmt::format("{:.0f} {:.0f}", 0.69 * 1024, 1.46 * 512), "707 748");
  EXPECT_NEAR(effect.comparison.ratio, *effect.gain_per_token, 1e-12);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("2.12× per sample, 1.06× per token")));
  EXPECT_THAT(result.undecided, ElementsAre(1));
}

TEST(Ablation, TheSamplesOfASlowerConfigurationDoNotMakeItWork) {
  // Twice the samples of half the length, and 4 % slower per token.
  const std::vector<AblationArm> arms = {arm("baseline", {}, around(100), 1024),
                                         arm("shorter", {{"seq_length", "512"}}, around(192), 512)};
  const auto result = analyse_ablation(arms);
  EXPECT_EQ(result.effects[0].comparison.verdict, ArmVerdict::worse);
  EXPECT_THAT(result.worked, IsEmpty());
  EXPECT_THAT(result.slower, ElementsAre(1));
  EXPECT_EQ(result.recommendation.arm, 0u);
}

TEST(Ablation, SortsOutWhatWorkedWhatHurtWhatDidNothingAndWhatFailed) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)),
                                   arm("flash", {{"attention", "flash"}}, around(120)),
                                   arm("fp16", {{"precision", "fp16"}}, around(130)),
                                   arm("both", {{"attention", "flash"}, {"precision", "fp16"}}, around(150)),
                                   arm("rank 8", {{"lora.rank", "8"}}, around(100.2)),
                                   arm("checkpointing", {{"gradient_checkpointing", "true"}}, around(80)),
                                   arm("huge batch", {{"batch_size", "64"}}, {}),
                                   arm("once", {{"optimizer", "sgd"}}, {180})};
  arms[6].failed_repeats = 5;
  arms[6].failure = {"oom", "CUDA out of memory: tried to allocate 2.00 GiB", ""};
  const auto result = analyse_ablation(arms);
  EXPECT_THAT(result.worked, ElementsAre(3, 2, 1));
  EXPECT_THAT(result.no_difference, ElementsAre(4));
  EXPECT_THAT(result.slower, ElementsAre(5));
  EXPECT_THAT(result.failed, ElementsAre(6));
  EXPECT_THAT(result.undecided, ElementsAre(7));
  EXPECT_EQ(result.best_single, 2u);
  EXPECT_EQ(result.best_combination, 3u);
  EXPECT_NEAR(*result.effects[2].product_of_parts, 1.2 * 1.3, 1e-9);
  EXPECT_NEAR(result.effects[2].comparison.ratio, 1.5, 1e-9);
  EXPECT_EQ(result.effects[3].comparison.verdict, ArmVerdict::no_significant_difference);
  EXPECT_EQ(result.effects[4].comparison.verdict, ArmVerdict::worse);
  EXPECT_TRUE(result.effects[5].failed);
  EXPECT_TRUE(std::isnan(result.effects[5].gain_per_sample));
  EXPECT_EQ(result.recommendation.arm, 3u);
  EXPECT_FALSE(result.recommendation.provisional);
}

TEST(Ablation, AMatrixCorrectsForItsSize) {
  const std::vector<double> base = {100, 101, 99, 100.5, 99.5};
  const std::vector<double> slightly = {101.2, 102.2, 100.4, 101.6, 100.9};  // p ≈ 0.02 alone
  const std::vector<AblationArm> alone = {arm("baseline", {}, base), arm("a", {{"a", "1"}}, slightly)};
  EXPECT_THAT(analyse_ablation(alone).worked, ElementsAre(1));
  std::vector<AblationArm> many = alone;
  for (int i = 0; i < 9; ++i) many.push_back(arm(fmt::format("n{}", i), {{"n", "1"}}, base));
  EXPECT_THAT(analyse_ablation(many).worked, IsEmpty());
}

TEST(Ablation, FailedRepeatsKeepAWinnerFromBeingRecommended) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("risky", {{"batch_size", "64"}}, around(150)),
                                   arm("safe", {{"batch_size", "32"}}, around(120))};
  arms[1].failed_repeats = 1;
  arms[1].failure = {"oom", "out of memory", ""};
  const auto result = analyse_ablation(arms);
  EXPECT_THAT(result.worked, ElementsAre(1, 2));
  EXPECT_THAT(result.failed, ElementsAre(1));
  EXPECT_EQ(result.recommendation.arm, 2u);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("1 of 6 repeats failed")));
}

TEST(Ablation, WithTooFewRepeatsTheRecommendationIsProvisional) {
  const auto result = analyse_ablation(
      std::vector{arm("baseline", {}, {100}), arm("a", {{"a", "1"}}, {110}), arm("b", {{"b", "1"}}, {120})});
  EXPECT_EQ(result.recommendation.arm, 2u);
  EXPECT_TRUE(result.recommendation.provisional);
  EXPECT_THAT(result.recommendation.reason, HasSubstr("too few repeats to say"));
}

TEST(Ablation, WithoutABaselineNothingIsRecommended) {
  const auto result = analyse_ablation(std::vector{arm("baseline", {}, {}), arm("a", {{"a", "1"}}, around(110))});
  EXPECT_FALSE(result.recommendation.arm);
  EXPECT_THAT(result.recommendation.reason, HasSubstr("did not run"));
}

TEST(Ablation, WorkThatIsNotKnownIsNotCompared) {
  const auto result =
      analyse_ablation(std::vector{arm("baseline", {}, around(100)), arm("short", {{"seq_length", "8"}}, around(200))});
  EXPECT_EQ(result.effects[0].work, WorkPerSample::unknown);
  EXPECT_THAT(result.undecided, ElementsAre(1));
  EXPECT_EQ(result.recommendation.arm, 0u);
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("may not be the same work")));
}

TEST(Ablation, MemoryAndCostStandBeside) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("fast", {{"ranks", "2"}}, around(150)),
                                   arm("lean", {{"c", "1"}}, around(90)), arm("bad", {{"d", "1"}}, around(85))};
  const std::vector<double> memory = {20e9, 20e9, 12e9, 14e9};
  const std::vector<double> price = {0.6, 1.2, 0.6, 0.6};
  for (std::size_t i = 0; i < arms.size(); ++i) {
    arms[i].peak_memory_bytes = memory[i];
    arms[i].price_per_hour = price[i];
  }
  const auto result = analyse_ablation(arms);
  EXPECT_NEAR(*result.effects[0].cost_ratio, 2 / 1.5, 1e-9);
  EXPECT_NEAR(*result.effects[1].memory_ratio, 0.6, 1e-12);
  EXPECT_THAT(result.pareto_axes, ElementsAre("speed", "memory", "cost"));
  EXPECT_TRUE(result.baseline_on_pareto_front);     // the cheapest
  EXPECT_TRUE(result.effects[0].on_pareto_front);   // the fastest
  EXPECT_TRUE(result.effects[1].on_pareto_front);   // the leanest
  EXPECT_FALSE(result.effects[2].on_pareto_front);  // beaten by lean everywhere
  arms[3].peak_memory_bytes.reset();
  EXPECT_THAT(analyse_ablation(arms).pareto_axes, ElementsAre("speed", "cost"));
}

TEST(ParetoFront, KeepsWhatNothingBeats) {
  EXPECT_THAT(pareto_front(std::vector<std::vector<double>>{{1, 5}, {2, 2}, {5, 1}, {3, 3}, {2, 2}}),
              ElementsAre(true, true, true, false, true));
  EXPECT_THAT(pareto_front({}), IsEmpty());
}

TEST(Expectations, MissesAreThoseThatAreWorse) {
  const auto direction = [](std::string_view name) {
    return name == "loss"  ? Direction::lower_is_better
           : name == "odd" ? Direction::unknown
                           : Direction::higher_is_better;
  };
  const std::map<std::string, double> expected = {
      {"samples_per_second", 1.46}, {"loss", 2.0}, {"mfu", 0.4}, {"odd", 2}};
  const std::map<std::string, double> measured = {{"samples_per_second", 0.69}, {"loss", 1.0}, {"odd", 3}};
  const auto misses = expectation_misses(expected, measured, direction);
  ASSERT_EQ(misses.size(), 3u);  // a lower loss is no miss
  EXPECT_EQ(misses[0].metric, "mfu");
  EXPECT_FALSE(misses[0].measured);
  EXPECT_EQ(misses[1].metric, "odd") << "either way, where no way is known to be better";
  EXPECT_EQ(misses[2].metric, "samples_per_second");
  EXPECT_NEAR(*misses[2].change, 0.69 / 1.46 - 1, 1e-12);
  EXPECT_THAT(expectation_misses({{"samples_per_second", 1.46}}, {{"samples_per_second", 1.40}}, direction), IsEmpty());
}

/// The arm's validation losses, held against the baseline's.
void give_quality(std::vector<AblationArm>& arms, const std::vector<std::vector<double>>& losses) {
  for (std::size_t i = 0; i < arms.size(); ++i)
    arms[i].quality = compare_arms(losses[0], losses[i], {.better = Direction::lower_is_better});
}

const QualityMeasure kValLoss{.name = "val_loss", .negligible = 0.001};

TEST(Recommendation, WhatLearnsWorseIsATradeHoweverFastItIs) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("careless", {{"lr", "9"}}, around(150)),
                                   arm("careful", {{"precision", "bf16"}}, around(120))};
  give_quality(arms, {around(0.50), around(0.56), around(0.501)});
  const auto result = analyse_ablation(arms, 0, {}, kValLoss);
  EXPECT_THAT(result.worked, ElementsAre(1, 2)) << "it is faster";
  EXPECT_EQ(result.recommendation.arm, 2u);
  EXPECT_THAT(result.recommendation.reason, HasSubstr("no loss of val_loss beyond noise"));
  EXPECT_THAT(result.effects[0].objections, ElementsAre("12.0 % worse in val_loss"));
  EXPECT_THAT(result.trades, ElementsAre(1));
  EXPECT_THAT(result.pareto_axes, ElementsAre("speed", "quality"));
  EXPECT_TRUE(result.effects[0].on_pareto_front);
  EXPECT_TRUE(result.baseline_on_pareto_front);
}

TEST(Recommendation, WithTooFewRepeatsAMuchWorseLossIsEnoughToHoldItBack) {
  std::vector<AblationArm> arms = {arm("baseline", {}, {100}), arm("careless", {{"lr", "9"}}, {150})};
  give_quality(arms, {{0.50}, {0.56}});
  EXPECT_EQ(analyse_ablation(arms, 0, {}, kValLoss).recommendation.arm, 0u);
  give_quality(arms, {{0.50}, {0.51}});
  EXPECT_EQ(analyse_ablation(arms, 0, {}, kValLoss).recommendation.arm, 1u);
  give_quality(arms, {{1e-7}, {4e-6}});
  EXPECT_EQ(analyse_ablation(arms, 0, {}, kValLoss).recommendation.arm, 1u) << "next to nothing is no loss";
}

TEST(Recommendation, WhatMissesAnExpectationIsNeverRecommended) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("big", {{"batch_size", "64"}}, around(150))};
  arms[1].missed = {"gpu_memory_peak_bytes"};
  EXPECT_EQ(analyse_ablation(arms).recommendation.arm, 0u);
  arms[0].missed = {"samples_per_second"};
  const auto result = analyse_ablation(arms);
  EXPECT_FALSE(result.recommendation.arm);
  EXPECT_THAT(result.recommendation.reason, HasSubstr("No configuration meets what was expected"));
}

TEST(Recommendation, BetterQualityAtTheSameSpeedIsRecommended) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("warm-up", {{"lr", "2"}}, around(100.1))};
  give_quality(arms, {around(0.50), around(0.40)});
  const auto result = analyse_ablation(arms, 0, {}, kValLoss);
  EXPECT_EQ(result.recommendation.arm, 1u);
  EXPECT_THAT(result.recommendation.reason, HasSubstr("better in val_loss"));
}

TEST(Recommendation, TheTimeToALevelDecidesWhereItIsKnown) {
  std::vector<AblationArm> arms = {arm("baseline", {}, around(100)), arm("fast", {{"a", "1"}}, around(150)),
                                   arm("slow to learn", {{"b", "1"}}, around(200)),
                                   arm("never there", {{"c", "1"}}, around(300))};
  give_quality(arms, std::vector<std::vector<double>>(4, around(0.5)));
  const CompareSettings times{.better = Direction::lower_is_better};
  const std::vector<std::vector<double>> seconds = {around(60), around(42), around(90), {}};
  for (std::size_t i = 0; i < 3; ++i) arms[i].seconds_to_level = compare_arms(seconds[0], seconds[i], times);
  arms[3].short_of_level = 5;
  const auto result = analyse_ablation(arms, 0, {}, kValLoss);
  EXPECT_EQ(result.recommendation.arm, 1u);
  EXPECT_THAT(result.effects[1].objections, ElementsAre(HasSubstr("50.0 % longer")));
  EXPECT_THAT(result.effects[2].objections, ElementsAre(HasSubstr("5 repeats never got as far")));
}

}  // namespace
}  // namespace assay
