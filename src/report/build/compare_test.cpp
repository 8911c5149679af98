#include "report/build/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
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
  for (const char* name : {"effective batch", "samples/s per rank", "cost per 1,000 samples (USD)"})
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
  EXPECT_THAT(text, HasSubstr("1.058× long in tokens_per_second"));
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

/// Sides of five runs each that report these metrics, drawn by `draw(side, metric)`.
template <typename Draw>
std::vector<CompareSide> drawn_sides(std::size_t sides, const std::vector<std::string>& metrics, Draw draw) {
  std::vector<CompareSide> drawn;
  for (std::size_t i = 0; i < sides; ++i) {
    CompareSide& one = drawn.emplace_back(CompareSide{.label = fmt::format("side{}", i)});
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::map<std::string, double> values;
      for (const auto& metric : metrics) values[metric] = draw(i, metric);
      one.runs.push_back(finished_run(fmt::format("r{}-{}", i, repeat), std::move(values)));
      one.runs.back().run.spec["seed"] = repeat;
    }
  }
  return drawn;
}

std::string verdict_on(const Document& document, std::string_view metric) {
  const auto metrics = column_of(document, "metrics", "metric");
  const auto place = std::find(metrics.begin(), metrics.end(), metric) - metrics.begin();
  return column_of(document, "metrics", "verdict_2").at(static_cast<std::size_t>(place));
}

const std::vector<std::string> kTen = {"samples_per_second", "val_loss", "val_accuracy", "f1_score",   "my_figure",
                                       "step_seconds",       "recall",   "grad_error",   "other_gain", "precision"};

bool claims_anything(const Document& document) {
  const auto verdicts = column_of(document, "metrics", "verdict_2");
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const auto& word) { return word == "better" || word == "worse" || word == "different"; });
}

TEST(Compare, EqualSidesClaimSomethingAsSeldomAsTheTextSays) {
  Random random(41, "a/a");
  int claimed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto sides = drawn_sides(2, kTen, [&](std::size_t, const auto&) { return random.normal(100, 3); });
    const Document document = comparison_of(sides);
    if (i == 0) {
      EXPECT_THAT(render_markdown(document),
                  HasSubstr("Where nothing differs, at most 5 % of such reports claim a difference anywhere."));
    }
    claimed += claims_anything(document) ? 1 : 0;
  }
  // 5 % of 200 are 10, with a standard deviation of 3.1. Without correction it would be 80.
  EXPECT_LE(claimed, 16);
  EXPECT_GE(claimed, 2);
}

TEST(Compare, ARealDifferenceIsFoundAmongTenFigures) {
  Random random(43, "a/b");
  const auto sides = drawn_sides(2, kTen, [&](std::size_t side, const auto& metric) {
    return random.normal(100, 1) + (side == 1 && (metric == "val_loss" || metric == "f1_score") ? 8 : 0);
  });
  const Document document = comparison_of(sides);
  EXPECT_EQ(verdict_on(document, "val_loss"), "worse");
  EXPECT_EQ(verdict_on(document, "f1_score"), "better") << "by its name";
  EXPECT_EQ(verdict_on(document, "recall"), "no significant difference");
}

TEST(Compare, TheDirectionOfAFigureIsStatedOrUnknown) {
  const auto sides = drawn_sides(2, {"my_figure"}, [n = 0](std::size_t side, const auto&) mutable {
    return 10.0 * double(side + 1) + 0.1 * (n++ % 3);
  });
  const Document unknown = comparison_of(sides);
  EXPECT_EQ(verdict_on(unknown, "my_figure"), "different");
  EXPECT_THAT(render_markdown(unknown), HasSubstr("which way is better is not known"));
  EXPECT_EQ(verdict_on(comparison_of(sides, {.goals = {{"my_figure", Direction::lower_is_better}}}), "my_figure"),
            "worse");
  auto with_goals = sides;
  for (auto& one : with_goals) {
    for (auto& run : one.runs) run.run.spec["goals"] = json::object{{"my_figure", "higher"}};
  }
  EXPECT_EQ(verdict_on(comparison_of(with_goals), "my_figure"), "better");
}

TEST(Compare, TheRatioOfTheSummaryIsThatOfTheTable) {
  const auto sides = drawn_sides(2, {"loss"}, [n = 0](std::size_t side, const auto&) mutable {
    return (side == 0 ? 2.0 : 0.5) + 0.01 * (n++ % 3);
  });
  const Document document = comparison_of(sides);
  const auto ratios = column_of(document, "metrics", "ratio_2");
  EXPECT_THAT(render_markdown(document), HasSubstr(ratios.front() + "× side0 in loss, better"));
}

TEST(Compare, NothingHasNoMultiple) {
  const auto sides = drawn_sides(
      2, {"loss"}, [n = 0](std::size_t side, const auto&) mutable { return side == 0 ? 0.0 : 0.5 + 0.01 * (n++ % 3); });
  const std::string text = render_markdown(comparison_of(sides));
  EXPECT_THAT(text, testing::Not(HasSubstr("inf")));
  EXPECT_THAT(text, testing::Not(HasSubstr("nan")));
  EXPECT_THAT(text, HasSubstr("side1: loss 0.508 against 0 of side0, worse"));
}

TEST(Compare, FiveTimesTheSameNumberIsNothingToTest) {
  const auto sides =
      drawn_sides(2, {"val_accuracy"}, [](std::size_t side, const auto&) { return 0.745 + 0.02 * double(side); });
  const std::string text = render_markdown(comparison_of(sides));
  EXPECT_THAT(text, HasSubstr("one distinct value: nothing to test"));
  EXPECT_THAT(text, Not(HasSubstr("better")));
  EXPECT_THAT(text, Not(HasSubstr("p = 0.0000")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(Compare, RepeatsOfOneSeedSayNothingAboutLearning) {
  auto sides = drawn_sides(2, {"val_loss", "samples_per_second"}, [n = 0](std::size_t side, const auto&) mutable {
    return 10.0 * double(side + 1) + 0.1 * (n++ % 3);
  });
  for (auto& one : sides) {
    for (auto& run : one.runs) run.run.spec["seed"] = 1;
  }
  const Document document = comparison_of(sides);
  EXPECT_EQ(verdict_on(document, "val_loss"), "repeats share one seed: nothing to test");
  EXPECT_EQ(verdict_on(document, "samples_per_second"), "better") << "a speed has noise of its own";
}

TEST(Compare, TheSideThatIsHeldAgainstCanBeChosen) {
  std::vector<CompareSide> sides = {side("a", {100}), side("b", {120}), side("baseline", {90})};
  ASSERT_TRUE(choose_first(sides, "").ok());
  EXPECT_EQ(sides[0].label, "baseline");
  ASSERT_TRUE(choose_first(sides, "b").ok());
  EXPECT_EQ(sides[0].label, "b");
  EXPECT_EQ(sides[1].label, "baseline");
  const auto wrong = choose_first(sides, "bassline");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("Did you mean 'baseline'?"));
}

TEST(Compare, AFlaggedRunIsNotGreen) {
  auto a = side("a", {100});
  a.runs[0].run.verdict = Verdict::flagged;
  const Document document = comparison_of({a, side("b", {100})});
  const auto* table = find_table(document, "sides");
  EXPECT_EQ(table->rows[0][4].text, "flagged");
  EXPECT_EQ(table->rows[0][4].tone, Tone::warning);
  EXPECT_EQ(table->rows[1][4].tone, Tone::good);
}

TEST(Compare, ScriptsGetNumbers) {
  const json::object object =
      render_json(comparison_of({side("a", {100, 101, 99, 100, 100}), side("b", {120, 121, 119, 120, 120})}));
  const std::string text = json::serialize(object);
  for (const char* key : {"\"side_2_sd\":", "\"side_2_n\":5", "\"verdict_2_p\":"}) EXPECT_THAT(text, HasSubstr(key));
}

TEST(Compare, TheCostIsThatOfTheWholeRun) {
  auto a = side("a", {100});
  a.runs[0].run.metrics["train_seconds"] = 1800;
  a.runs[0].run.metrics["duration_seconds"] = 3600;
  const Document document = comparison_of({a, a}, {.price = Price{0.60, "USD", "GPUh"}});
  const auto metrics = column_of(document, "metrics", "metric");
  const auto place = std::find(metrics.begin(), metrics.end(), "cost of the run (USD)") - metrics.begin();
  EXPECT_EQ(column_of(document, "metrics", "side_1").at(static_cast<std::size_t>(place)), "0.6");
}

TEST(Compare, CostsInTwoCurrenciesHaveNoRatio) {
  auto dollars = side("a", {100});
  auto euros = side("b", {100});
  for (auto* one : {&dollars, &euros}) one->runs[0].run.metrics["duration_seconds"] = 3600;
  dollars.runs[0].run.spec["price"] = {{"amount", 3}, {"currency", "USD"}, {"per", "h"}};
  euros.runs[0].run.spec["price"] = {{"amount", 3}, {"currency", "EUR"}, {"per", "h"}};
  const Document document = comparison_of({dollars, euros});
  const auto metrics = column_of(document, "metrics", "metric");
  const auto ratios = column_of(document, "metrics", "ratio_2");
  int rows = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!metrics[i].starts_with("cost of the run")) continue;
    ++rows;
    EXPECT_THAT(ratios.at(i), IsEmpty()) << metrics[i];
  }
  EXPECT_EQ(rows, 2);
}

TEST(Compare, TheBestOfACurveHasTheUnitOfTheCurve) {
  auto a = side("a", {100});
  a.runs[0].run.metrics["val_accuracy"] = 0.9;
  a.runs[0].run.series.push_back(
      {.name = "val_accuracy", .points = 2, .last = 0.9, .min = 0.5, .max = 0.9, .mean = 0.7});
  const Document document = comparison_of({a, a});
  const auto metrics = column_of(document, "metrics", "metric");
  const auto place = std::find(metrics.begin(), metrics.end(), "best val_accuracy") - metrics.begin();
  EXPECT_EQ(column_of(document, "metrics", "side_1").at(static_cast<std::size_t>(place)), "90%");
}

}  // namespace
}  // namespace assay
