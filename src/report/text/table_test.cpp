#include "report/text/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

TerminalStyle style_of(int width) { return {.colour = false, .unicode = false, .width = width}; }

Table wide_table() {
  Table table({{"Name"},
               {"Model", Align::left, true},
               {"Bar", Align::left, false, 2},
               {"Use", Align::right},
               {"CPU", Align::right, false, 1}});
  table.add({"gpu01", "NVIDIA H200 141GB HBM3e", "##########", "98 %", "12 %"});
  return table;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const auto line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(Table, AlignsItsColumns) {
  EXPECT_EQ(wide_table().render(style_of(100), 1),
            " Name   Model                    Bar          Use   CPU\n"
            " -----  -----------------------  ----------  ----  ----\n"
            " gpu01  NVIDIA H200 141GB HBM3e  ##########  98 %  12 %\n");
}

TEST(Table, IsInAsciiWhereTheTerminalHasNoMore) {
  Table table({{"Step"}, {"2 × σ", Align::right}});
  table.add({"gpu01 · a", "26.1 µs"});
  EXPECT_EQ(table.render(style_of(100), 0),
            "Step         2 x ?\n"
            "---------  -------\n"
            "gpu01 * a  26.1 us\n");
}

TEST(Table, KeepsARowInOneLine) {
  Table table({{"Name"}, {"State"}});
  table.add({"gpu01  good\ngpu02", "bad"});
  EXPECT_EQ(table.render(style_of(100), 0),
            "Name               State\n"
            "-----------------  -----\n"
            "gpu01  good gpu02  bad\n");
}

TEST(Table, ShrinksBeforeItLeavesColumnsOut) {
  const std::string text = wide_table().render(style_of(45), 0);
  EXPECT_LE(widest_line(text), 45U);
  EXPECT_THAT(text, HasSubstr("##########"));
  EXPECT_THAT(text, HasSubstr("NVIDIA H2"));
}

TEST(Table, LeavesColumnsOutBeforeNamesCannotBeToldApart) {
  Table table({{"Metric", Align::left, true, 0, 22}, {"Last", Align::right}, {"Points", Align::right, false, 1}});
  table.add({"host.memory_used_bytes", "1 GiB", "2"});
  table.add({"host.memory_available_bytes", "22 GiB", "2"});
  EXPECT_EQ(table.render(style_of(32), 0),
            "Metric                      Last\n"
            "------------------------  ------\n"
            "host.memory_used_bytes     1 GiB\n"
            "host.memory_available_b~  22 GiB\n");
}

TEST(Table, LeavesOutWhatYieldsFirst) {
  const std::string text = wide_table().render(style_of(36), 0);
  EXPECT_LE(widest_line(text), 36U);
  EXPECT_THAT(text, Not(HasSubstr("#")));
  EXPECT_THAT(text, HasSubstr("12 %"));
  const std::string narrower = wide_table().render(style_of(24), 0);
  EXPECT_THAT(narrower, Not(HasSubstr("12 %")));
  EXPECT_THAT(narrower, HasSubstr("98 %"));
}

}  // namespace
}  // namespace assay
