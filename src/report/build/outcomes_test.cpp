#include "report/build/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "report/build/baseline.h"
#include "report/build/recorded_fixture.h"
#include "report/build/report.h"
#include "report/render.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// One run of a study of a program that assay knows nothing of.
RecordedRun command_run(const std::string& variant, int repeat, std::map<std::string, double> metrics) {
  RecordedRun one = finished_run(fmt::format("{}-{}", variant, repeat), std::move(metrics));
  one.run.kind = "command";
  one.run.study = "study1";
  one.run.variant = variant;
  one.run.repeat = repeat;
  one.run.spec = {{"kind", "command"}, {"seed", repeat}, {"params", json::object{{"rate", variant}}}};
  return one;
}

/// A study of five repeats in which `rate` decides the loss, give or take `noise`.
ReportInput rates_study(const std::vector<double>& rates, double noise) {
  ReportInput input{.title = "learning rates"};
  Random random(3, "study");
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (const double rate : rates) {
      input.runs.push_back(
          command_run(fmt::format("{}", rate), repeat,
                      {{"loss", rate + random.normal(0, noise)}, {"duration_seconds", 1 + random.normal(0, 0.01)}}));
    }
  }
  return input;
}

std::vector<std::string> verdicts_on(const Document& document, std::string_view metric) {
  std::vector<std::string> verdicts;
  const auto metrics = column_of(document, "outcomes", "metric");
  const auto words = column_of(document, "outcomes", "verdict");
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i] == metric) verdicts.push_back(words[i]);
  }
  return verdicts;
}

std::vector<std::string> recommended_by(const Document& document) {
  std::vector<std::string> names;
  for (const auto& finding : findings_in(document, "recommendations")) {
    if (finding.rule == "recommended_configuration") names.push_back(finding.about + ": " + finding.what);
  }
  return names;
}

TEST(Outcomes, AStudyOfAProgramIsComparedByWhatItReports) {
  const Document document = report_on(rates_study({0.5, 0.4, 0.6}, 0.01));
  EXPECT_THAT(verdicts_on(document, "loss"), ElementsAre("baseline", "better", "worse"));
  EXPECT_THAT(verdicts_on(document, "duration_seconds"), Not(IsEmpty()));
  EXPECT_THAT(column_of(document, "settings_best", "params.rate"), ElementsAre("0.4", "0.5", "0.6")) << "best first";
  EXPECT_THAT(recommended_by(document), ElementsAre("0.4: Use this configuration."));
}

TEST(Outcomes, SeedsAloneDecideNothing) {
  const Document document = report_on(rates_study({0.5, 0.501, 0.499}, 0.05));
  EXPECT_THAT(verdicts_on(document, "loss"), Not(Contains("better")));
  EXPECT_THAT(verdicts_on(document, "loss"), Not(Contains("worse")));
  EXPECT_THAT(recommended_by(document), ElementsAre("0.5: Use this configuration.")) << "the baseline";
}

TEST(Outcomes, OneValueForAllRepeatsIsTheBestSoFarAtMost) {
  const Document document = report_on(rates_study({0.1, 0.01}, 0));
  EXPECT_THAT(verdicts_on(document, "loss"), ElementsAre("baseline", "one distinct value: nothing to test"));
  EXPECT_THAT(recommended_by(document), ElementsAre("0.01: The best so far."));
}

TEST(Outcomes, AnUnknownDirectionIsSaidAndRecommendsNothing) {
  ReportInput input = rates_study({0.5, 0.4}, 0.01);
  for (auto& one : input.runs) {
    one.run.metrics["my_figure"] = one.run.metrics["loss"];
    one.run.metrics.erase("loss");
    one.run.metrics.erase("duration_seconds");
  }
  const Document document = report_on(input);
  EXPECT_THAT(verdicts_on(document, "my_figure"), ElementsAre("baseline", "different"));
  input.options.goals = {{"my_figure", Direction::lower_is_better}};
  EXPECT_THAT(recommended_by(report_on(input)), ElementsAre("0.4: Use this configuration."));
}

TEST(Outcomes, TheBaselineIsTheOneAskedForInEveryKindOfStudy) {
  ReportInput input = rates_study({0.5, 0.4}, 0.01);
  input.options.baseline = "0.4";
  EXPECT_THAT(verdicts_on(report_on(input), "loss"), ElementsAre("worse", "baseline"));
  const auto arms = arms_of(input.runs);
  EXPECT_TRUE(check_baseline(arms, "0.4").ok());
  EXPECT_TRUE(check_baseline(arms, "0.4-3").ok()) << "a run of it";
  EXPECT_TRUE(check_baseline(arms, "").ok());
  const auto wrong = check_baseline(arms, "0.44");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("is none of the configurations"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("0.5; 0.4"));
}

/// A training with a rate, and a validation curve that falls to `loss` in `seconds`.
RecordedRun training(const std::string& variant, int repeat, double rate, double loss, double seconds) {
  RecordedRun one = finished_run(fmt::format("{}-{}", variant, repeat),
                                 {{"samples_per_second", rate}, {"val_loss", loss}, {"duration_seconds", 2 * seconds}});
  one.run.study = "study1";
  one.run.variant = variant;
  one.run.repeat = repeat;
  one.run.spec["seed"] = repeat;
  one.run.spec["precision"] = variant;
  one.run.started = WallTime(Nanos(1'000'000'000));
  RunSeries curve{.key = {"val_loss", {}}};
  for (int i = 1; i <= 4; ++i) {
    curve.points.push_back(
        {.time_ns = static_cast<std::int64_t>(1e9 + 1e9 * seconds * i / 4), .step = i, .value = loss + 0.2 * (4 - i)});
  }
  one.series.push_back(std::move(curve));
  return one;
}

ReportInput trade_study(double fast_loss, double fast_seconds) {
  ReportInput input{.title = "trade"};
  for (int i = 0; i < 5; ++i) {
    input.runs.push_back(training("baseline", i, 100 + i % 3, 0.50 + 0.002 * i, 60 + i % 2));
    input.runs.push_back(training("fast", i, 150 + i % 3, fast_loss + 0.002 * i, fast_seconds + i % 2));
  }
  return input;
}

TEST(Outcomes, WhatLosesQualityIsNeverRecommendedAndTheTradeIsShown) {
  const Document document = report_on(trade_study(0.60, 40));
  EXPECT_THAT(recommended_by(document), ElementsAre("baseline: Use this configuration."));
  EXPECT_THAT(verdicts_on(document, "val_loss"), ElementsAre("baseline", "worse"));
  EXPECT_NE(find_chart(document, "speed_quality"), nullptr);
  EXPECT_THAT(column_of(document, "to_level", "reached"), ElementsAre("5 of 5", "0 of 5"));
  EXPECT_THAT(render_markdown(document), HasSubstr("worse in val_loss"));
}

TEST(Outcomes, SpeedAtEqualQualityIsRecommended) {
  ReportInput input = trade_study(0.50, 40);
  input.options.price = Price{3.60, "USD", "GPUh"};
  const Document document = report_on(input);
  EXPECT_THAT(recommended_by(document), ElementsAre("fast: Use this configuration."));
  EXPECT_THAT(column_of(document, "to_level", "verdict"), ElementsAre("baseline", "better"));
  EXPECT_THAT(column_of(document, "to_level", "cost"), ElementsAre("$0.060", "$0.040")) << "of the time to the level";
}

TEST(Outcomes, WhatMissesAnExpectationIsNeverRecommended) {
  ReportInput input = trade_study(0.50, 40);
  for (auto& one : input.runs) {
    if (one.run.variant == "fast") one.run.spec["expect"] = json::object{{"samples_per_second", 200}};
  }
  const Document document = report_on(input);
  EXPECT_THAT(recommended_by(document), ElementsAre("baseline: Use this configuration."));
  EXPECT_THAT(issue_rules_in(document), Contains("missed_expectation"));
  EXPECT_THAT(column_of(document, "expectations", "configuration"), ElementsAre("fast"));
}

TEST(Outcomes, AGpuPriceCostsNothingWithoutAGpu) {
  ReportInput input = trade_study(0.50, 40);
  for (auto& one : input.runs) {
    one.run.spec["price"] = json::object{{"amount", 0.6}, {"currency", "USD"}, {"per", "GPUh"}};
    one.run.spec["device"] = "auto";
    one.run.provenance.cpu_cores = 8;
  }
  EXPECT_THAT(column_of(report_on(input), "cost", "run"), IsEmpty());
  EXPECT_THAT(render_markdown(report_on(input)), HasSubstr("Runs without a GPU have no cost"));
  input.options.price = Price{0.60, "USD", "GPUh"};
  EXPECT_THAT(column_of(report_on(input), "cost", "run"), ElementsAre("$0.02", "$0.01")) << "the user says so";
}

}  // namespace
}  // namespace assay
