#include <gmock/gmock.h>

#include <algorithm>

#include "base/text.h"
#include "report/render.h"
#include "report/sample_document_fixture.h"
#include "report/text/style.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

bool has_only_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Document shown_document(std::vector<Block> blocks) {
  Document document;
  document.title = "Title";
  document.sections = {{"s", "Section", std::move(blocks)}};
  return document;
}

TEST(RenderTerminal, FitsTheWidthWithAndWithoutUnicodeAndColour) {
  for (const Document& document : {sample_document(), hostile_document()}) {
    for (const int width : {60, 80, 100, 200}) {
      for (const bool unicode : {true, false}) {
        const std::string text = render_terminal(document, {.colour = false, .unicode = unicode, .width = width});
        EXPECT_THAT(text, Not(HasSubstr("\x1b")));
        for (const auto line : split(text, '\n')) {
          EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
          EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
        }
        EXPECT_TRUE(unicode || has_only_ascii(text));
        const std::string coloured = render_terminal(document, {.colour = true, .unicode = unicode, .width = width});
        EXPECT_EQ(printable(coloured), text);
      }
    }
  }
}

TEST(RenderTerminal, TitleVerdictAndSections) {
  Document document = shown_document({Paragraph{"Words.", Tone::plain}});
  document.subtitle = "sub";
  document.verdict = "valid";
  document.verdict_tone = Tone::good;
  document.sections.push_back({"long", "For files", {}, false});
  EXPECT_EQ(render_terminal(document, {.width = 30}),
            "Title\nsub\nvalid\n\nSection ──────────────────────\n  Words.\n");
  EXPECT_THAT(render_terminal(document, {.colour = true, .width = 30}), HasSubstr("\x1b[32mvalid\x1b[0m\n"));
}

TEST(RenderTerminal, TablesWithUnitsAndDashes) {
  const FigureTable table{"t",
                          "Table",
                          {{"n", "Node", ""}, {"v", "Speed", " m/s", Align::right}},
                          {{"a", Figure("1.5", 1.5)}, {"b", ""}, {"c", "failed"}},
                          {"A note."}};
  EXPECT_THAT(render_terminal(shown_document({table}), {.width = 60}), HasSubstr("  Table\n"
                                                                                 "  Node    Speed\n"
                                                                                 "  ────  ───────\n"
                                                                                 "  a     1.5 m/s\n"
                                                                                 "  b           –\n"
                                                                                 "  c      failed\n"
                                                                                 "  A note.\n"));
  EXPECT_THAT(render_terminal(shown_document({table}), {.unicode = false, .width = 60}),
              HasSubstr("  b           -\n"));
}

TEST(RenderTerminal, TablesThatAreTooWideAreStacked) {
  FigureTable table{"t", "", {{"n", "Node", ""}}, {{"gpu01"}}, {}};
  for (int i = 0; i < 8; ++i) {
    table.columns.push_back({"k", "A wide column title", " W"});
    table.rows[0].push_back(Figure("12"));
  }
  EXPECT_THAT(render_terminal(shown_document({table}), {.width = 60}),
              HasSubstr("  gpu01\n    A wide column title  12 W\n"));
}

TEST(RenderTerminal, FindingsSayWhatWhyAndWhatToDo) {
  const FindingList list{"issues",
                         {{Severity::problem, "slow_node", "gpu07", "is slow", "1 against 2", "Look at it."},
                          {Severity::note, "few", "", "Few runs", "", ""}},
                         "Fine."};
  EXPECT_THAT(render_terminal(shown_document({list}), {.width = 60}),
              HasSubstr("  ✖ gpu07: is slow\n    1 against 2\n    → Look at it.\n    problem · slow_node\n\n  • Few "
                        "runs\n    note · few\n"));
  EXPECT_THAT(render_terminal(shown_document({list}), {.unicode = false, .width = 60}),
              HasSubstr("  x gpu07: is slow\n    1 against 2\n    -> Look at it.\n"));
  EXPECT_THAT(render_terminal(shown_document({FindingList{"issues", {}, "Fine."}}), {}), HasSubstr("  Fine.\n"));
}

TEST(RenderTerminal, FactsAreAlignedAndWrapped) {
  const FactList facts{"f", {{"GPU", "one two three four five six seven eight"}, {"Container", ""}}};
  EXPECT_THAT(render_terminal(shown_document({facts}), {.width = 40}),
              HasSubstr("  GPU        one two three four five six\n             seven eight\n  Container  –\n"));
}

TEST(RenderTerminal, ChartsOnlyWhereTheyBelong) {
  ChartBlock chart{
      "c", "Chart title", "Caption.",
      BarChart{.value = {"", "", false, true}, .bars = {{"a", 1.0, {}, false}}, .references = {}, .band = {}}};
  EXPECT_THAT(render_terminal(shown_document({chart}), {.width = 40}),
              testing::ContainsRegex("  Chart title\n    a  (█)+ 1\n  Caption.\n"));
  chart.in_terminal = false;
  EXPECT_THAT(render_terminal(shown_document({chart}), {.width = 40}), Not(HasSubstr("Chart title")));
}

}  // namespace
}  // namespace assay
