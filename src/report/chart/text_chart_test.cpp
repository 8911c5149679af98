#include "report/chart/text_chart.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "report/chart/dot_canvas.h"
#include "report/chart/sample_charts_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

ChartBlock untitled(std::variant<XyChart, BarChart, HeatChart> chart) {
  return {.id = "c", .title = "", .caption = "", .chart = std::move(chart)};
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

void expect_sound(const ChartBlock& block) {
  for (const bool unicode : {true, false}) {
    for (const int width : {30, 60, 77, 200}) {
      const std::string text = text_chart(block, {.unicode = unicode, .width = width});
      EXPECT_TRUE(text.empty() || text.ends_with('\n'));
      EXPECT_THAT(text, Not(HasSubstr("\x1b")));
      for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      EXPECT_TRUE(unicode || is_ascii(text));
    }
  }
}

TEST(DotCanvas, DrawsInBraille) {
  DotCanvas canvas(3, 1, true);
  EXPECT_EQ(canvas.dots_across(), 6);
  EXPECT_EQ(canvas.dots_down(), 4);
  canvas.line(0, 0, 5, 0, Colour::plain, 'a');
  canvas.dot(1, 3, Colour::plain, 'a');
  canvas.dot(-1, 9, Colour::plain, 'a');
  EXPECT_EQ(canvas.row(0, {}), "⢉⠉⠉");
  canvas.stamp(2, 0, Colour::plain, "b");
  EXPECT_EQ(canvas.row(0, {}), "⢉b⠉");
}

TEST(DotCanvas, PaintsStretchesOfOneColour) {
  DotCanvas canvas(4, 1, false);
  canvas.dot(0, 0, Colour::red, 'a');
  canvas.dot(1, 0, Colour::red, 'a');
  canvas.dot(3, 0, Colour::blue, 'b');
  EXPECT_EQ(canvas.row(0, {.colour = true}), "\x1b[31maa\x1b[0m \x1b[34mb\x1b[0m");
  EXPECT_EQ(canvas.row(0, {}), "aa b");
}

TEST(TextChart, CurvesWithAxesAndLegend) {
  const XyChart chart{
      .x = {"Nodes", ""},
      .y = {"Speed-up", ""},
      .series = {{"measured", Stroke::line, {{1, 1}, {2, 2}, {4, 3}}}, {"ideal", Stroke::dashed, {{1, 1}, {4, 4}}}},
      .references = {}};
  EXPECT_EQ(text_chart(untitled(chart), {.unicode = false, .width = 40}),
            "Speed-up\n"
            "4 +                                    b\n"
            "  |                                 b\n"
            "  |                              b\n"
            "  |                           b\n"
            "3 +                        b       aaaaa\n"
            "  |                     b  aaaaaaaa\n"
            "  |                aabaaaaa\n"
            "2 +           aaaab\n"
            "  |        aaa b\n"
            "  |     aaa b\n"
            "  |  aaa b\n"
            "1 +ba b\n"
            "  ++-----------+-----------------------+\n"
            "   1           2                       4\n"
            "                   Nodes\n"
            "  a measured   b ideal\n");
}

TEST(TextChart, FlaggedPointsAndLevelsShow) {
  const XyChart chart{.x = {},
                      .y = {"Efficiency", "ratio", false, true},
                      .series = {{"a", Stroke::line, {{1, 1}, {2, 0.5, std::nullopt, true}, {3, 0.7}}}},
                      .references = {{"75 %", 0.75}}};
  const std::string text = text_chart(untitled(chart), {.width = 60});
  EXPECT_THAT(text, HasSubstr("Efficiency (%)"));
  EXPECT_THAT(text, HasSubstr("75 %\n"));
  EXPECT_THAT(text, HasSubstr("○ flagged or invalid"));
}

TEST(TextChart, BarsToAnEighth) {
  const BarChart chart{.value = {"Rate", "", false, true},
                       .bars = {{"long name", 16.0, {}, false}, {"b", 9.0, {}, true}, {"c", std::nullopt, {}, false}},
                       .references = {{"target", 12}},
                       .band = {}};
  EXPECT_EQ(text_chart(untitled(chart), {.width = 35}),
            "Rate\n"
            "  long name  █████████████████ 16\n"
            "  b          █████████▋ 9 ▲\n"
            "  c           –\n"
            "┊ target: 12\n");
}

TEST(TextChart, HeatMapWithFigures) {
  const HeatChart chart{"Batch", "Load", "s", {"1", "16"}, {"2", "4"}, {{0.001, 0.002}, {0.008, std::nullopt}}};
  EXPECT_EQ(text_chart(untitled(chart), {.width = 60}),
            "Batch × Load (ms)\n"
            "           2      4\n"
            "  1   ░ 1.00 ░ 2.00\n"
            "  16  █ 8.00      ×\n");
}

TEST(TextChart, EveryChartFitsEveryWidth) {
  for (const auto& charts : {sample_charts(), hostile_charts()}) {
    for (const auto& chart : charts) expect_sound(chart);
  }
}

TEST(TextChart, DegenerateCharts) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool logarithmic : {false, true}) {
    const std::vector<std::vector<ChartPoint>> cases = {{},
                                                        {{1, 1}},
                                                        {{1, 5}, {2, 5}},
                                                        {{kGap, 1}, {1, inf}},
                                                        {{1, 1e300}, {2, 1e140}, {3, 1e-140}, {4, -1e140}},
                                                        {{0, -1}, {1, 2, std::pair(-3.0, kGap)}}};
    for (const auto& points : cases) {
      for (const Stroke stroke :
           {Stroke::line, Stroke::dashed, Stroke::points, Stroke::steps, Stroke::expected_range}) {
        XyChart chart{.x = {"", "", logarithmic},
                      .y = {"", "tok/s", logarithmic},
                      .series = {{"a", stroke, points}, {"b", stroke, points}},
                      .references = {{"l", kGap}, {"m", 1}}};
        expect_sound(untitled(chart));
      }
    }
    expect_sound(untitled(BarChart{.value = {"", "", logarithmic, true},
                                   .bars = {{"a", kGap, {}, false}, {"b", -1.0, {}, false}, {"c", 1e140, {}, false}},
                                   .references = {{"r", inf}},
                                   .band = {}}));
  }
  EXPECT_THAT(text_chart(untitled(XyChart{}), {}), HasSubstr("No data"));
  EXPECT_THAT(text_chart(untitled(BarChart{}), {}), HasSubstr("No data"));
  EXPECT_THAT(text_chart(untitled(HeatChart{}), {}), HasSubstr("No data"));
}

}  // namespace
}  // namespace assay
