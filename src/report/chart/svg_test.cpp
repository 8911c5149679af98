#include "report/chart/svg.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "report/chart/chart_data.h"
#include "report/chart/markup_fixture.h"
#include "report/chart/sample_charts_fixture.h"
#include "report/chart/svg_parts.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

ChartBlock titled(std::variant<XyChart, BarChart, HeatChart> chart) {
  return {.id = "c", .title = "Title", .caption = "", .chart = std::move(chart)};
}

XyChart simple_chart(std::vector<ChartPoint> points, Stroke stroke = Stroke::line) {
  return {.x = {"X", ""},
          .y = {"Y", ""},
          .series = {{.name = "a", .stroke = stroke, .points = std::move(points)}},
          .references = {}};
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// Well-formed in both forms, without anything that is no number, and of a bounded size.
void expect_sound_svg(const ChartBlock& block) {
  for (const std::string& svg : {svg_element(block), svg_file(block)}) {
    EXPECT_EQ(problem_in_markup(svg, Markup::xml), std::nullopt) << svg.substr(0, 2000);
    for (const char* broken : {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf"}) EXPECT_THAT(svg, Not(HasSubstr(broken)));
    for (auto at = svg.find(" d=\""); at != std::string::npos; at = svg.find(" d=\"", at + 4)) {
      const std::string path = svg.substr(at + 4, svg.find('"', at + 4) - at - 4);
      EXPECT_EQ(path.find_first_not_of("MLHVZh0123456789.- "), std::string::npos) << path.substr(0, 200);
    }
    EXPECT_LT(svg.size(), 300000U);
  }
  EXPECT_EQ(svg_file(block), svg_file(block));
}

TEST(Svg, AllOfTheSampleIsSound) {
  const auto charts = sample_charts();
  ASSERT_EQ(charts.size(), 8U);
  for (const auto& chart : charts) expect_sound_svg(chart);
}

TEST(Svg, HostileTextsStayText) {
  for (const auto& chart : hostile_charts()) {
    expect_sound_svg(chart);
    EXPECT_THAT(svg_element(chart), Not(HasSubstr("<script")));
    EXPECT_THAT(svg_element(chart), HasSubstr("&lt;script&gt;"));
  }
}

TEST(Svg, DegenerateXyCharts) {
  for (const Stroke stroke : {Stroke::line, Stroke::dashed, Stroke::points, Stroke::steps, Stroke::expected_range}) {
    for (const bool logarithmic : {false, true}) {
      const std::vector<std::vector<ChartPoint>> cases = {
          {},
          {{1, 1}},
          {{1, 5}, {2, 5}, {3, 5}},
          {{1, 1}, {1, 2}, {1, 3}},
          {{kNoValue, 1}, {1, kNoValue}, {kInf, -kInf}},
          {{1, 1e300}, {2, -1e300}, {3, 1e-300}, {4, 1e140}, {5, 1e-140}},
          {{0, 0}, {-1, -1}, {2, 2, std::pair(-1.0, 3.0)}},
          {{1, 2, std::pair(kNoValue, 3.0)}, {2, 2, std::pair(1.0, kInf)}, {3, 2, std::pair(-kInf, 4.0)}},
      };
      for (const auto& points : cases) {
        XyChart chart = simple_chart(points, stroke);
        chart.x.logarithmic = chart.y.logarithmic = logarithmic;
        chart.references = {{"level", kNoValue}, {"zero", 0}, {"a level with a long name", 2}};
        expect_sound_svg(titled(chart));
      }
    }
  }
}

TEST(Svg, NothingToShowIsSaid) {
  EXPECT_THAT(svg_element(titled(simple_chart({}))), HasSubstr(">No data</text>"));
  EXPECT_THAT(svg_element(titled(simple_chart({{kNoValue, 1}}))), HasSubstr(">No data</text>"));
  EXPECT_THAT(svg_element(titled(BarChart{})), HasSubstr(">No data</text>"));
  EXPECT_THAT(svg_element(titled(HeatChart{})), HasSubstr(">No data</text>"));
  EXPECT_THAT(svg_element(titled(simple_chart({{1, 1}}))), Not(HasSubstr("No data")));
}

TEST(Svg, ManyPointsAreThinnedToPixels) {
  XyChart chart = simple_chart({});
  for (int i = 0; i < 10000; ++i) chart.series[0].points.push_back({i * 1.0, std::sin(i * 12.9898) * 100});
  const std::string svg = svg_element(titled(chart));
  EXPECT_LT(svg.size(), 50000U);
  EXPECT_EQ(count(svg, "<circle"), count(svg, "<circle class=\"hover"));
  chart.series[0].stroke = Stroke::points;
  chart.series[0].points[77].marked = true;
  expect_sound_svg(titled(chart));
  EXPECT_EQ(count(svg_element(titled(chart)), "class=\"cloud s1\""), 1U);
  EXPECT_EQ(count(svg_element(titled(chart)), "<circle class=\"hollow s1\""), 2U);
}

TEST(Svg, FlaggedPointsAreHollowAndExplained) {
  const std::string svg = svg_element(titled(simple_chart({{1, 1}, {2, 2, std::nullopt, true}, {3, 3}})));
  EXPECT_EQ(count(svg, "class=\"hollow s1\""), 2U);  // the point, and its entry in the legend
  EXPECT_THAT(svg, HasSubstr("flagged or invalid"));
  EXPECT_THAT(svg, HasSubstr("<title>a: 2, 2, flagged</title>"));
}

TEST(Svg, LegendsStandBelowThePlot) {
  XyChart chart = simple_chart({{0, 0}, {1, 1}});
  for (int i = 0; i < 11; ++i)
    chart.series.push_back(
        {.name = fmt::format("series number {}", i), .stroke = Stroke::line, .points = {{0, 0}, {1, i * 1.0}}});
  const std::string svg = svg_element(titled(chart));
  std::smatch axis;
  ASSERT_TRUE(std::regex_search(svg, axis, std::regex("class=\"axis\" x1=\"[0-9.]+\" y1=\"([0-9.]+)\"")));
  std::size_t entries = 0;
  const std::regex entry("y=\"([0-9.]+)\">series number");
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), entry); at != std::sregex_iterator(); ++at, ++entries)
    EXPECT_GT(std::stod((*at)[1]), std::stod(axis[1]) + 30);
  EXPECT_EQ(entries, 11U);
}

TEST(Svg, TwelveSeriesCanAllBeTold) {
  const std::vector<ChartSeries> series(12, ChartSeries{.name = "s", .stroke = Stroke::line, .points = {}});
  std::set<std::string> looks;
  for (const auto& look : looks_of(series)) looks.insert(fmt::format("{} {} {}", look.colour, look.shape, look.dash));
  EXPECT_EQ(looks.size(), 12U);
  const auto dashed = looks_of({ChartSeries{.name = "ideal", .stroke = Stroke::dashed, .points = {}}});
  EXPECT_EQ(dashed[0].colour, "neutral");
  EXPECT_NE(dashed[0].dash, "");
}

TEST(Svg, ReferenceLinesAreNamedBesideThePlotOrInTheLegend) {
  XyChart chart = simple_chart({{0, 0}, {1, 1}});
  chart.references = {{"75 %", 0.75}, {"the mean of all nodes in the fleet", 0.5}};
  const std::string svg = svg_element(titled(chart));
  EXPECT_EQ(count(svg, "class=\"level\""), 3U);  // two lines, one entry in the legend
  EXPECT_THAT(svg, HasSubstr("class=\"level-name\""));
  EXPECT_THAT(svg, HasSubstr(">75 %</text>"));
  EXPECT_THAT(svg, HasSubstr(">the mean of all nodes in the fleet</text>"));
}

TEST(Svg, WhatALogarithmicAxisLeavesOutIsInTheDescription) {
  XyChart chart = simple_chart({{1, 1}, {2, -1}});
  chart.y.logarithmic = true;
  EXPECT_THAT(svg_element(titled(chart)), HasSubstr("1 point at or below zero is left out"));
}

TEST(Svg, StepsAndBands) {
  EXPECT_TRUE(std::regex_search(svg_element(titled(simple_chart({{0, 0}, {1, 0.5}, {2, 1}}, Stroke::steps))),
                                std::regex("d=\"M[0-9. ]+H[0-9.]+V[0-9.]+H")));
  const std::string band = svg_element(
      titled(simple_chart({{0, 0, std::pair(1.0, 2.0)}, {1, 0, std::pair(1.0, 3.0)}}, Stroke::expected_range)));
  EXPECT_TRUE(std::regex_search(band, std::regex("<path class=\"band\" d=\"M[^\"]*Z\"")));
}

TEST(Svg, BarsLieWhereTheyAreManyOrHaveLongNames) {
  BarChart chart{.value = {"V", "", false, true},
                 .bars = {{"a", 1.0, {}, false}, {"b", std::nullopt, {}, false}},
                 .references = {},
                 .band = {}};
  const std::string upright = svg_element(titled(chart));
  EXPECT_THAT(upright, HasSubstr(">–</text>"));
  chart.bars[0].name = "a node with a long name";
  const std::string lying = svg_element(titled(chart));
  const auto height = [](const std::string& svg) {
    std::smatch found;
    return std::regex_search(svg, found, std::regex("class=\"bar s1\"[^>]* height=\"([0-9.]+)\"")) ? std::stod(found[1])
                                                                                                   : 0.0;
  };
  EXPECT_GT(height(upright), 100);
  EXPECT_GT(height(lying), 5);
  EXPECT_LT(height(lying), 30);
}

TEST(Svg, ValuesThatDoNotStartAtZeroAreDotsNotBars) {
  const BarChart chart{.value = {"V", ""},
                       .bars = {{"a", 98.0, {}, false}, {"b", 100.0, {}, true}},
                       .references = {},
                       .band = std::pair(97.0, 101.0)};
  const std::string svg = svg_element(titled(chart));
  EXPECT_EQ(count(svg, "class=\"bar"), 0U);
  EXPECT_EQ(count(svg, "<circle class=\"dot s1\""), 1U);
  EXPECT_EQ(count(svg, "<circle class=\"hollow s1\""), 1U);
}

TEST(Svg, DegenerateBars) {
  for (const bool from_zero : {false, true}) {
    for (const bool logarithmic : {false, true}) {
      BarChart chart{.value = {"V", "s", logarithmic, from_zero},
                     .bars = {},
                     .references = {{"r", kInf}},
                     .band = std::pair(kNoValue, 2.0)};
      expect_sound_svg(titled(chart));
      chart.bars = {{"nan", kNoValue, {}, false},
                    {"negative", -4.0, std::pair(-5.0, -3.0), false},
                    {"zero", 0.0, {}, true},
                    {"huge", 1e200, {}, false},
                    {"one", 1.0, std::pair(kNoValue, kNoValue), false}};
      expect_sound_svg(titled(chart));
      chart.bars.assign(1000, Bar{.name = "gpu", .value = 3.0, .range = {}, .marked = false});
      expect_sound_svg(titled(chart));
      EXPECT_EQ(count(svg_element(titled(chart)), ">gpu</text>"), kMostBars);
    }
  }
}

TEST(Svg, HeatMaps) {
  const HeatChart chart{"rows", "columns", "s", {"r1", "r2"}, {"c1", "c2"}, {{0.001, 0.9}, {std::nullopt, kNoValue}}};
  const std::string svg = svg_element(titled(chart));
  expect_sound_svg(titled(chart));
  EXPECT_THAT(svg, HasSubstr("class=\"h1\""));
  EXPECT_THAT(svg, HasSubstr("class=\"h9\""));
  EXPECT_THAT(svg, HasSubstr("values in ms"));
  EXPECT_EQ(count(svg, "failed or not run</title>"), 2U);
  EXPECT_EQ(count(svg, ">failed or not run</text>"), 1U);
  HeatChart large{"", "", "", {}, {}, {}};
  large.rows.assign(200, "r");
  large.columns.assign(200, "a long column name");
  large.cells.assign(200, std::vector<std::optional<double>>(200, 7.0));
  EXPECT_EQ(problem_in_markup(svg_file(titled(large)), Markup::xml), std::nullopt);
  EXPECT_EQ(count(svg_element(titled(large)), "<rect class=\"h5\""), kMostHeatRows * kMostHeatColumns);
}

TEST(Svg, FilesBringTheirColoursForLightAndDark) {
  const std::string svg = svg_file(titled(simple_chart({{1, 1}, {2, 2}})));
  EXPECT_THAT(svg, testing::StartsWith(
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, Not(HasSubstr("var(")));
  const std::string element = svg_element(titled(simple_chart({{1, 1}})));
  EXPECT_THAT(element, Not(HasSubstr("http")));
  EXPECT_THAT(element, Not(HasSubstr("#0")));
  EXPECT_THAT(element, HasSubstr("role=\"img\" aria-label=\"Title\""));
  EXPECT_THAT(element, HasSubstr("<title>Title</title>\n<desc>"));
}

TEST(Svg, NumbersAreShortAndPlain) {
  EXPECT_EQ(svg_number(1.0), "1");
  EXPECT_EQ(svg_number(1.25), "1.2");
  EXPECT_EQ(svg_number(-0.01), "0");
  EXPECT_EQ(svg_number(123456.78), "123456.8");
}

TEST(Svg, ACurveTellsItsValuesToWhoPointsAtIt) {
  XyChart chart{.x = {.label = "Step"}, .y = {.label = "loss"}};
  for (const char* name : {"a", "b"}) {
    ChartSeries& series = chart.series.emplace_back(ChartSeries{.name = name});
    for (int i = 0; i < 300; ++i) series.points.push_back({.x = double(i), .y = 1.0 / (1 + i)});
  }
  const std::string svg = svg_element({.id = "curve", .title = "loss", .chart = chart});
  std::size_t spots = 0;
  for (auto at = svg.find("class=\"hover"); at != std::string::npos; at = svg.find("class=\"hover", at + 1)) ++spots;
  EXPECT_GE(spots, 100u);
  EXPECT_LE(spots, 300u) << "bounded";
  EXPECT_NE(svg.find("<title>b: "), std::string::npos);
}

}  // namespace
}  // namespace assay
