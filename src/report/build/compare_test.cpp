#include "report/build/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/build/recorded_fixture.h"
#include "report/render.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CompareSide side(std::string label, const std::vector<double>& rates) {
  CompareSide side{.label = std::move(label)};
  for (const double rate : rates)
    side.runs.push_back(finished_run(side.label + std::to_string(side.runs.size()), {{"samples_per_second", rate}}));
  return side;
}

TEST(Compare, DifferencesComeBeforeFigures) {
  auto a = side("a", {100});
  auto b = side("b", {120});
  b.runs[0].run.spec["precision"] = "bf16";
  b.runs[0].run.provenance.gpu_driver = "550.54";
  const Document document = comparison_of({a, b});
  EXPECT_EQ(document.sections[1].id, "differences");
  EXPECT_EQ(document.sections[2].id, "figures");
  EXPECT_THAT(column_of(document, "settings", "setting"), ElementsAre("precision"));
  EXPECT_THAT(column_of(document, "settings", "side_1"), ElementsAre("unset"));
  EXPECT_THAT(column_of(document, "settings", "side_2"), ElementsAre("bf16"));
  EXPECT_THAT(column_of(document, "environment", "fact"), ElementsAre("GPU driver"));
}

TEST(Compare, TwoSingleRunsGiveNoVerdict) {
  const Document document = comparison_of({side("a", {100}), side("b", {200})});
  EXPECT_THAT(render_markdown(document), HasSubstr("too few repeats to say"));
  EXPECT_THAT(column_of(document, "metrics", "verdict_2"), Contains("too few repeats to say"));
}

TEST(Compare, FiveRepeatsOnBothSidesGiveOne) {
  const Document document = comparison_of({side("a", {100, 101, 99, 100, 100}), side("b", {120, 121, 119, 120, 120})});
  EXPECT_THAT(column_of(document, "metrics", "verdict_2"), Contains("better"));
  EXPECT_THAT(column_of(document, "metrics", "ratio_2"), Contains("1.200"));
  const Document same = comparison_of({side("a", {100, 101, 99, 100, 100}), side("b", {100, 99, 101, 100, 100})});
  EXPECT_THAT(render_markdown(same), HasSubstr("no significant difference"));
}

TEST(Compare, LowerIsBetterForALoss) {
  auto a = side("a", {1, 1, 1, 1, 1});
  auto b = side("b", {1, 1, 1, 1, 1});
  for (std::size_t i = 0; i < 5; ++i) {
    a.runs[i].run.metrics["loss"] = 2 + 0.01 * double(i);
    b.runs[i].run.metrics["loss"] = 1 + 0.01 * double(i);
  }
  const Document document = comparison_of({a, b});
  const auto metrics = column_of(document, "metrics", "metric");
  const auto verdicts = column_of(document, "metrics", "verdict_2");
  const auto loss = std::find(metrics.begin(), metrics.end(), "loss") - metrics.begin();
  EXPECT_EQ(verdicts.at(static_cast<std::size_t>(loss)), "better");
}

TEST(Compare, DerivedFiguresAreIncluded) {
  auto a = side("a", {100});
  auto b = side("b", {350});
  b.runs[0].run.ranks = 4;
  const Document document = comparison_of({a, b}, {.price = Price{0.60, "USD", "GPUh"}});
  const auto metrics = column_of(document, "metrics", "metric");
  for (const char* name : {"effective batch", "samples/s per rank", "cost per 1,000 samples"})
    EXPECT_THAT(metrics, Contains(name));
}

TEST(Compare, AnInvalidRunIsNotUsed) {
  auto a = side("a", {100});
  auto b = side("b", {200});
  b.runs[0].run.verdict = Verdict::invalid;
  const Document document = comparison_of({a, b});
  EXPECT_THAT(column_of(document, "sides", "verdicts"), ElementsAre("valid", "invalid"));
  EXPECT_THAT(column_of(document, "metrics", "side_2"), Contains(""));
  EXPECT_THAT(column_of(document, "metrics", "side_2"), Not(Contains(HasSubstr("200"))));
}

TEST(Compare, RunsOfOneSideWithDifferentSettingsAreNoRepeats) {
  auto a = side("a", {100, 101});
  a.runs[1].run.spec["precision"] = "bf16";
  EXPECT_THAT(column_of(comparison_of({a, side("b", {100})}), "sides", "trouble"),
              Contains(HasSubstr("no repeats of each other")));
}

TEST(Compare, SamplesOfUnequalLengthAreComparedByTokens) {
  CompareSide a{.label = "long", .runs = {variant_run("a", "long", 0.69, 1024)}};
  CompareSide b{.label = "short", .runs = {variant_run("b", "short", 1.46, 512)}};
  const std::string text = render_markdown(comparison_of({a, b}));
  EXPECT_THAT(text, HasSubstr("1.06× long in tokens_per_second"));
  EXPECT_THAT(text, HasSubstr("not the same amount of work"));
}

TEST(Compare, ConfigurationsOfAStudyAreSides) {
  std::vector<RecordedRun> runs = {variant_run("a", "baseline", 1, 512), variant_run("b", "other", 2, 512),
                                   variant_run("c", "baseline", 1, 512)};
  const auto sides = sides_of(runs);
  ASSERT_EQ(sides.size(), 2u);
  EXPECT_EQ(sides[0].label, "baseline");
  EXPECT_EQ(sides[0].runs.size(), 2u);
  EXPECT_THAT(sides[1].runs, Not(IsEmpty()));
}

}  // namespace
}  // namespace assay
