#include "analysis/scaling.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/scaling_checks.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScalingPoint sized(int ranks, int nodes, std::vector<double> seconds) {
  ScalingPoint point;
  point.ranks = ranks;
  point.nodes = nodes;
  point.seconds = std::move(seconds);
  point.epochs = 50;
  point.samples = 500'000;
  return point;
}

/// The study of the scaling tutorial, whose figures are known.
std::vector<ScalingPoint> golden() {
  std::vector<ScalingPoint> points = {sized(1, 1, {362.45}), sized(4, 1, {95.23}), sized(8, 2, {57.14})};
  const std::vector<double> losses = {0.1187, 0.1192, 0.1190};
  const std::vector<double> accuracies = {0.9530, 0.9525, 0.9527};
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].val_loss = {losses[i]};
    points[i].val_accuracy = {accuracies[i]};
    points[i].effective_batch = 32 * points[i].ranks;
  }
  return points;
}

std::vector<std::string> kinds_of(const std::vector<ScalingCause>& causes) {
  std::vector<std::string> kinds;
  kinds.reserve(causes.size());
  for (const auto& cause : causes) kinds.push_back(cause.kind);
  return kinds;
}

TEST(Scaling, GoldenFiguresToThePrintedDigits) {
  const auto analysis = analyse_scaling(golden());
  ASSERT_EQ(analysis.rows.size(), 3u);
  std::vector<std::string> lines;
  lines.reserve(analysis.rows.size());
  for (const auto& row : analysis.rows) {
    lines.push_back(fmt::format("{} {:.2f} {:.2f} {:.4f} {:.4f} {:.2f} {:.1f} {:.1f}", row.configuration, *row.seconds,
                                *row.seconds_per_epoch, *row.val_loss, *row.val_accuracy, *row.speedup,
                                *row.efficiency * 100, *row.throughput));
  }
  EXPECT_THAT(lines, ElementsAre("Single GPU 362.45 7.25 0.1187 0.9530 1.00 100.0 1379.5",
                                 "4 GPUs (1 node) 95.23 1.90 0.1192 0.9525 3.81 95.2 5250.4",
                                 "8 GPUs (2 nodes) 57.14 1.14 0.1190 0.9527 6.34 79.3 8750.4"));
  // The short form.
  EXPECT_EQ(
      fmt::format("{:.1f} {:.1f} {:.1f} min, {:.1f}× {:.1f}×, {:.0f} {:.0f} %", *analysis.rows[0].seconds / 60,
                  *analysis.rows[1].seconds / 60, *analysis.rows[2].seconds / 60, *analysis.rows[1].speedup,
                  *analysis.rows[2].speedup, *analysis.rows[1].efficiency * 100, *analysis.rows[2].efficiency * 100),
      "6.0 1.6 1.0 min, 3.8× 6.3×, 95 79 %");
  EXPECT_EQ(analysis.rows[0].band, ScalingBand::baseline);
  EXPECT_EQ(analysis.rows[1].band, ScalingBand::excellent);
  EXPECT_EQ(analysis.rows[2].band, ScalingBand::good);
  EXPECT_EQ(analysis.accuracy.outcome, AccuracyConsistency::consistent);
  EXPECT_FALSE(analysis.accuracy.tested);
  EXPECT_TRUE(analysis.comparable);
  EXPECT_TRUE(analysis.effective_batch_changed);
  EXPECT_THAT(analysis.notes, ElementsAre(HasSubstr("Weak scaling"), HasSubstr("from 32 to 256")));
}

TEST(Scaling, ExpectedRangesAreThoseOfTheGuide) {
  const auto print = [](int ranks, int nodes) {
    const auto range = *expected_range(ranks, nodes);
    return fmt::format("{:.1f}–{:.1f}× ({:.0f}–{:.0f} %)", range.low, range.high, 100 * range.low / ranks,
                       100 * range.high / ranks);
  };
  EXPECT_EQ(print(4, 1), "3.5–3.8× (88–95 %)");
  EXPECT_EQ(print(8, 2), "6.0–6.5× (75–81 %)");
  EXPECT_FALSE(expected_range(1, 1));
  ScalingSettings settings;
  settings.expected[{4, 1}] = {2.0, 2.5};
  EXPECT_EQ(analyse_scaling(golden(), settings).rows[1].expected->high, 2.5);
}

TEST(Scaling, BandsDependOnTopology) {
  const auto one = [](double e) { return name_of(band_of(e, Topology::one_node)); };
  const auto several = [](double e) { return name_of(band_of(e, Topology::several_nodes)); };
  EXPECT_EQ(one(0.90), "excellent");
  EXPECT_EQ(one(0.899), "good");
  EXPECT_EQ(one(0.85), "good");
  EXPECT_EQ(one(0.80), "fair");
  EXPECT_EQ(one(0.699), "poor");
  EXPECT_EQ(several(0.90), "excellent");
  EXPECT_EQ(several(0.80), "good");
  EXPECT_EQ(several(0.75), "good");
  EXPECT_EQ(several(0.74), "fair");
  EXPECT_EQ(several(0.69), "poor");
}

TEST(Scaling, WithoutABaselineThereIsNoSpeedUp) {
  auto points = golden();
  points.erase(points.begin());
  const auto analysis = analyse_scaling(points);
  EXPECT_FALSE(analysis.baseline);
  EXPECT_THAT(analysis.baseline_note, HasSubstr("No run on one GPU was measured"));
  for (const auto& row : analysis.rows) {
    EXPECT_FALSE(row.speedup);
    EXPECT_FALSE(row.efficiency);
    EXPECT_EQ(row.band, ScalingBand::no_baseline);
    EXPECT_TRUE(row.throughput);
  }
  EXPECT_FALSE(analysis.amdahl);
  // A run on one GPU that gave no result is no baseline either.
  points.insert(points.begin(), sized(1, 1, {std::nan("")}));
  EXPECT_FALSE(analyse_scaling(points).baseline);
}

TEST(Scaling, AChosenBaselineMayHaveSeveralRanks) {
  auto points = golden();
  points.erase(points.begin());
  const auto analysis = analyse_scaling(points, {.baseline = 0});
  EXPECT_THAT(analysis.baseline_note, HasSubstr("4 GPUs (1 node), as chosen"));
  EXPECT_NEAR(*analysis.rows[1].speedup, 95.23 / 57.14, 1e-12);
  EXPECT_NEAR(*analysis.rows[1].efficiency, 95.23 / 57.14 / 2, 1e-12);
  EXPECT_EQ(analysis.rows[1].ideal_speedup, 2);
  EXPECT_FALSE(analysis.rows[1].expected);
  EXPECT_FALSE(analysis.amdahl);
  EXPECT_THAT(analyse_scaling(points, {.baseline = 7}).baseline_note, HasSubstr("has no result"));
}

TEST(Scaling, RepeatsGiveIntervals) {
  const std::vector<ScalingPoint> points = {sized(1, 1, {100, 102, 98, 101, 99}),
                                            sized(4, 1, {29.5, 30.5, 28.5, 30, 29})};
  const auto analysis = analyse_scaling(points);
  const auto& row = analysis.rows[1];
  ASSERT_TRUE(row.efficiency_interval);
  EXPECT_NEAR(*row.speedup, 100 / 29.5, 1e-12);
  EXPECT_LT(row.efficiency_interval->low, *row.efficiency);
  EXPECT_GT(row.efficiency_interval->high, *row.efficiency);
  EXPECT_EQ(row.band, ScalingBand::fair);  // 84.7 %
  EXPECT_TRUE(row.band_uncertain);         // 85 % is within reach
  EXPECT_TRUE(row.seconds_interval);
  EXPECT_FALSE(analyse_scaling(golden()).rows[1].efficiency_interval);
}

TEST(Scaling, BetterThanIdealIsQuestioned) {
  const std::vector<ScalingPoint> points = {sized(1, 1, {100, 100.1, 99.9, 100, 100}),
                                            sized(2, 1, {45, 45.1, 44.9, 45, 45})};
  const auto analysis = analyse_scaling(points);
  EXPECT_TRUE(analysis.rows[1].superlinear);
  EXPECT_THAT(analysis.notes, ElementsAre(HasSubstr("better than ideal (111.1 %)")));
  const std::vector<ScalingPoint> noise = {sized(1, 1, {100, 110, 90, 105, 95}), sized(2, 1, {49, 54, 45, 50, 49})};
  EXPECT_FALSE(analyse_scaling(noise).rows[1].superlinear);
}

TEST(Scaling, DifferentSettingsAreNotComparable) {
  auto points = golden();
  for (auto& point : points) point.settings = {{"precision", "fp32"}, {"model", "mlp"}};
  points[1].settings["precision"] = "bf16";
  points[2].settings["attention"] = "flash";
  const auto analysis = analyse_scaling(points);
  EXPECT_FALSE(analysis.comparable);
  EXPECT_EQ(analysis.rows[1].band, ScalingBand::not_comparable);
  EXPECT_THAT(analysis.rows[1].differences, ElementsAre("precision: bf16 instead of fp32"));
  EXPECT_THAT(analysis.rows[2].differences, ElementsAre("attention: flash instead of unset"));
  EXPECT_FALSE(analysis.amdahl);
}

TEST(Scaling, ThroughputStandsInForTime) {
  ScalingPoint one;
  one.throughput = {1000};
  ScalingPoint four;
  four.ranks = 4;
  four.throughput = {3600};
  const auto analysis = analyse_scaling(std::vector{one, four});
  EXPECT_NEAR(*analysis.rows[1].speedup, 3.6, 1e-12);
  EXPECT_FALSE(analysis.rows[1].seconds);
  EXPECT_THAT(analysis.notes, ElementsAre(HasSubstr("by throughput")));
  // Twice the work in the same time on two ranks: times alone would say 1×.
  auto more_work = sized(2, 1, {100});
  more_work.samples = 1'000'000;
  EXPECT_NEAR(*analyse_scaling(std::vector{sized(1, 1, {100}), more_work}).rows[1].speedup, 2, 1e-12);
}

TEST(Scaling, SweepGivesOneCurvePerValue) {
  std::vector<ScalingPoint> points = {sized(1, 1, {100}), sized(1, 1, {80}), sized(4, 1, {30}), sized(4, 1, {22})};
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].group = i % 2 == 0 ? "batch_size=32" : "batch_size=64";
    points[i].settings["batch_size"] = i % 2 == 0 ? "32" : "64";
  }
  const auto analyses = analyse_scaling_sweep(points);
  ASSERT_EQ(analyses.size(), 2u);
  EXPECT_EQ(analyses[0].group, "batch_size=32");
  EXPECT_TRUE(analyses[0].comparable);
  EXPECT_NEAR(*analyses[0].rows[1].speedup, 100.0 / 30, 1e-12);
  EXPECT_NEAR(*analyses[1].rows[1].speedup, 80.0 / 22, 1e-12);
  EXPECT_EQ(analyses[1].rows[1].point, 3u);
  EXPECT_EQ(analyses[1].baseline, 1u);
}

TEST(Scaling, NothingIsAnswered) {
  EXPECT_THAT(analyse_scaling({}).rows, IsEmpty());
  EXPECT_THAT(analyse_scaling_sweep({}), IsEmpty());
}

TEST(ScalingAccuracy, StraysBeyondToleranceWithFewRepeats) {
  auto points = golden();
  points[2].val_loss = {0.1520};
  const auto analysis = analyse_scaling(points);
  EXPECT_EQ(analysis.accuracy.outcome, AccuracyConsistency::diverging);
  EXPECT_THAT(analysis.accuracy.reasons,
              ElementsAre("val_loss at 8 GPUs (2 nodes) is 0.152, 28.1 % above the reference's 0.1187"));
  EXPECT_EQ(analysis.rows[2].band, ScalingBand::not_comparable);
  EXPECT_EQ(analysis.rows[1].band, ScalingBand::excellent);
  EXPECT_THAT(kinds_of(analysis.rows[2].causes), ElementsAre("effective_batch"));
  points[2].val_loss = {std::nan("")};
  EXPECT_EQ(analyse_scaling(points).accuracy.outcome, AccuracyConsistency::diverging);
}

TEST(ScalingAccuracy, IsTestedWithEnoughRepeats) {
  auto points = golden();
  points[0].val_loss = {0.10, 0.14, 0.12, 0.11, 0.13};
  points[2].val_loss = {0.11, 0.15, 0.13, 0.12, 0.14};  // 8 % more, but within the noise
  points[1].val_loss = {0.101, 0.139, 0.121, 0.110, 0.129};
  auto analysis = analyse_scaling(points);
  EXPECT_EQ(analysis.accuracy.outcome, AccuracyConsistency::consistent);
  EXPECT_TRUE(analysis.accuracy.tested);
  points[2].val_loss = {0.21, 0.25, 0.23, 0.22, 0.24};
  analysis = analyse_scaling(points);
  EXPECT_EQ(analysis.accuracy.outcome, AccuracyConsistency::diverging);
}

TEST(ScalingAccuracy, AccuracyIsJudgedInPoints) {
  auto points = golden();
  points[1].val_accuracy = {0.9420};
  const auto analysis = analyse_scaling(points);
  EXPECT_THAT(analysis.accuracy.reasons,
              ElementsAre("val_accuracy at 4 GPUs (1 node) is 0.9420, 1.1 points below the reference's 0.9530"));
  for (auto& point : points) {
    point.val_loss.clear();
    point.val_accuracy.clear();
  }
  EXPECT_EQ(analyse_scaling(points).accuracy.outcome, AccuracyConsistency::not_measured);
}

// Each cause once with its evidence, and once with the evidence just short of it.
TEST(ScalingCauses, ComeFromTheDataAlone) {
  ScalingPoint point;
  point.ranks = 8;
  point.nodes = 2;
  EXPECT_THAT(likely_causes(point, nullptr, {}), IsEmpty());
  const auto kinds = [&](ScalingHints hints, const ScalingPoint* inside = nullptr) {
    point.hints = hints;
    return kinds_of(likely_causes(point, inside, {}));
  };
  EXPECT_THAT(kinds({.communication_share = 0.34}), ElementsAre("communication"));
  EXPECT_THAT(kinds({.communication_share = 0.19}), IsEmpty());
  EXPECT_THAT(kinds({.input_wait_share = 0.2}), ElementsAre("input_wait"));
  EXPECT_THAT(kinds({.input_wait_share = 0.09}), IsEmpty());
  EXPECT_THAT(kinds({.gpu_utilisation = 0.4}), ElementsAre("small_work"));
  EXPECT_THAT(kinds({.gpu_utilisation = 0.9}), IsEmpty());
  // A GPU that waits for data is not short of work.
  EXPECT_THAT(kinds({.input_wait_share = 0.5, .gpu_utilisation = 0.4}), ElementsAre("input_wait"));
  EXPECT_THAT(kinds({.throttled_share = 0.3}), ElementsAre("throttled"));
  EXPECT_THAT(kinds({.throttled_share = 0.01}), IsEmpty());
  EXPECT_THAT(kinds({.rank_imbalance = 0.2}), ElementsAre("imbalance"));
  EXPECT_THAT(kinds({.rank_imbalance = 0.05}), IsEmpty());

  ScalingPoint inside;
  inside.ranks = 4;
  inside.hints.communication_share = 0.05;
  EXPECT_THAT(kinds({.communication_share = 0.34}, &inside), ElementsAre("communication", "network"));
  inside.hints.communication_share = 0.30;
  EXPECT_THAT(kinds({.communication_share = 0.34}, &inside), ElementsAre("communication"));

  point.hints = {};
  EXPECT_THAT(kinds_of(likely_causes(point, nullptr, std::vector{100.0, 115.0, 90.0})), ElementsAre("unstable"));
  EXPECT_THAT(likely_causes(point, nullptr, std::vector{100.0, 101.0, 99.0}), IsEmpty());
  point.hints.input_wait_share = 0.25;
  const auto cause = likely_causes(point, nullptr, {}).front();
  EXPECT_EQ(cause.evidence, "Ranks wait for data during 25 % of the step.");
  EXPECT_THAT(cause.remedy, HasSubstr("data.workers"));
}

TEST(ScalingCauses, AreGivenWhereAPointFallsShort) {
  auto points = golden();
  points[1].hints.communication_share = 0.5;  // 95 %: nothing to explain
  points[2].hints.communication_share = 0.5;
  const auto analysis = analyse_scaling(points);
  EXPECT_THAT(analysis.rows[1].causes, IsEmpty());
  EXPECT_THAT(kinds_of(analysis.rows[2].causes), ElementsAre("communication"));
  points[2].hints = {};
  points[2].seconds = {70};
  const auto unexplained = analyse_scaling(points);
  EXPECT_EQ(unexplained.rows[2].band, ScalingBand::poor);
  EXPECT_THAT(unexplained.notes, testing::Contains(HasSubstr("nothing that was recorded says why")));
}

TEST(ScalingAccuracy, LossesNextToNothingApartAreTheSame) {
  auto points = golden();
  for (auto& point : points) point.val_accuracy = {1.0};
  points[0].val_loss = {1e-7};
  points[1].val_loss = {4e-6};
  points[2].val_loss = {2e-7};
  const auto analysis = analyse_scaling(points);
  EXPECT_EQ(analysis.accuracy.outcome, AccuracyConsistency::consistent);
  EXPECT_EQ(analysis.rows[1].band, ScalingBand::excellent);
}

TEST(Scaling, AnEqualEffectiveBatchIsStrongScalingAndComparable) {
  std::vector<ScalingPoint> points = {sized(1, 1, {100}), sized(2, 1, {52}), sized(4, 1, {28})};
  for (auto& point : points) {
    point.effective_batch = 64;
    point.settings = {{"batch_size", std::to_string(64 / point.ranks)}, {"model", "mlp"}};
  }
  const auto strong = analyse_scaling(points);
  EXPECT_TRUE(strong.comparable);
  EXPECT_EQ(strong.mode, ScalingMode::strong);
  EXPECT_EQ(strong.rows[2].band, ScalingBand::good);
  EXPECT_THAT(strong.notes, testing::Contains(HasSubstr("the effective batch of 64 is kept")));
  for (auto& point : points) {
    point.effective_batch = 64 * point.ranks;
    point.settings["batch_size"] = "64";
  }
  EXPECT_EQ(analyse_scaling(points).mode, ScalingMode::weak);
  points[2].settings["batch_size"] = "32";
  points[2].effective_batch = 128;
  const auto neither = analyse_scaling(points);
  EXPECT_EQ(neither.mode, ScalingMode::unknown);
  EXPECT_EQ(neither.rows[2].band, ScalingBand::not_comparable) << "another batch for no reason";
}

TEST(Scaling, WordsFitWhatTheRanksRunOn) {
  std::vector<ScalingPoint> points = {sized(2, 1, {52}), sized(4, 1, {28})};
  for (auto& point : points) point.device = "rank";
  EXPECT_THAT(analyse_scaling(points).baseline_note, testing::Not(HasSubstr("GPU")));
  points.push_back(sized(1, 1, {100}));
  points.back().device = "rank";
  EXPECT_EQ(analyse_scaling(points).baseline_note, "Baseline: one rank, measured in this study.");
}

TEST(ScalingCauses, TheLargestComesFirst) {
  ScalingPoint point;
  point.device = "rank";
  point.hints = {.communication_share = 0.3, .input_wait_share = 0.15, .host_cpu = 1.0};
  const auto causes = likely_causes(point, nullptr, {});
  EXPECT_THAT(kinds_of(causes), ElementsAre("host_cpu", "communication", "input_wait"));
  EXPECT_THAT(causes.front().evidence, HasSubstr("100 % busy"));
  EXPECT_THAT(causes.front().remedy, HasSubstr("no more ranks than there are free cores"));
  point.hints = {.host_cpu = 0.8};
  EXPECT_THAT(likely_causes(point, nullptr, {}), IsEmpty());
}

}  // namespace
}  // namespace assay
