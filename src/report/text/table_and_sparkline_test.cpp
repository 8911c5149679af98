#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "report/text/sparkline.h"
#include "report/text/table.h"

namespace assay {
namespace {

TEST(Table, AlignsByDisplayWidthAndLeavesNoTrailingSpace) {
  Table table({{"Name"}, {"Temp", Align::right}});
  table.add({"gpu", "61 °C"});
  table.add({"größer", "7 °C"});
  EXPECT_EQ(table.render({}, 2),
            "  Name     Temp\n"
            "  ──────  ─────\n"
            "  gpu     61 °C\n"
            "  größer   7 °C\n");
}

TEST(Table, PlainCharactersWithoutUnicode) {
  Table table({{"A"}});
  table.add({"x"});
  EXPECT_EQ(table.render({.unicode = false}, 0), "A\n-\nx\n");
}

TEST(Table, ShrinksTheColumnThatMay) {
  Table table({{"Id"}, {"Name", Align::left, true}});
  table.add({"k7m2p9x4qa", "a name that is much longer than the terminal is wide"});
  EXPECT_EQ(table.render({.width = 40}, 0),
            "Id          Name\n"
            "──────────  ────────────────────────────\n"
            "k7m2p9x4qa  a name that is much longer …\n");
}

TEST(Table, ColoursTextButNotPadding) {
  Table table({{"V", Align::right}});
  table.add({Cell("ok", Colour::green)});
  EXPECT_THAT(table.render({.colour = true}, 0), testing::HasSubstr("\x1b[32mok\x1b[0m\n"));
}

TEST(Sparkline, ShowsTheCourse) {
  const std::vector<double> rising = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(sparkline(rising, 8, {}), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(rising, 2, {}), "▁█");
}

TEST(Sparkline, NonFiniteIsAGapAndAConstantIsFlat) {
  const std::vector<double> gap = {1, std::nan(""), 2, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(sparkline(gap, 4, {}), "▁ █ ");
  const std::vector<double> flat = {3, 3, 3};
  EXPECT_EQ(sparkline(flat, 3, {}), "▅▅▅");
  EXPECT_EQ(sparkline({}, 3, {}), "");
}

TEST(TerminalStyle, NoColourWhereNobodyLooks) {
  EXPECT_FALSE(TerminalStyle::of(-1, {{"TERM", "xterm"}}).colour);
  EXPECT_TRUE(TerminalStyle::of(-1, {{"LANG", "de_DE.UTF-8"}}).unicode);
  EXPECT_FALSE(TerminalStyle::of(-1, {{"LC_ALL", "C"}, {"LANG", "de_DE.UTF-8"}}).unicode);
}

}  // namespace
}  // namespace assay
