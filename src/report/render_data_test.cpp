#include <gmock/gmock.h>

#include <cmath>

#include "report/render.h"
#include "report/render_parts.h"
#include "report/sample_document_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const FigureTable kTable{"nodes",
                         "Nodes",
                         {{"name", "Name", ""}, {"power_w", "Power", " W", Align::right}},
                         {{"a,b", Figure("312", 312.4)}, {"say \"x\"", ""}, {"two\nlines", Figure("=1+1")}},
                         {}};

Document document_of(std::vector<Block> blocks) {
  Document document;
  document.title = "Title";
  document.sections = {{"s", "Section", std::move(blocks)}};
  return document;
}

TEST(ReportFormats, ByName) {
  EXPECT_EQ(report_format_from("md"), ReportFormat::markdown);
  EXPECT_EQ(report_format_from("html"), ReportFormat::html);
  EXPECT_EQ(report_format_from("HTML"), std::nullopt);
  EXPECT_EQ(name_of(Severity::problem), "problem");
}

TEST(RenderCsv, OneTableByRfc4180) {
  const auto csv = render_csv(document_of({kTable}), "");
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(*csv, "name,power_w\n\"a,b\",312\n\"say \"\"x\"\"\",\n\"two\nlines\",=1+1\n");
}

TEST(RenderCsv, SeveralTablesAreNamed) {
  FigureTable second = kTable;
  second.id = "second";
  second.title = "";
  second.rows.clear();
  const Document document = document_of({kTable, second});
  const auto csv = render_csv(document, "");
  ASSERT_TRUE(csv.ok());
  EXPECT_THAT(*csv, StartsWith("# nodes: Nodes\nname,power_w\n"));
  EXPECT_THAT(*csv, HasSubstr("=1+1\n\n# second\nname,power_w\n"));
  const auto one = render_csv(document, "second");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(*one, "name,power_w\n");
}

TEST(RenderCsv, AnUnknownTableIsAnErrorThatListsThem) {
  const auto csv = render_csv(document_of({kTable}), "node");
  ASSERT_FALSE(csv.ok());
  EXPECT_EQ(csv.error().kind, ErrorKind::not_found);
  EXPECT_EQ(csv.error().message, "this report has no table 'node'");
  EXPECT_EQ(csv.error().hint, "Did you mean 'nodes'? It has: nodes.");
  EXPECT_FALSE(render_csv(document_of({}), "").ok());
}

TEST(RenderJson, RowsHaveNumbersAndWhatIsPrinted) {
  const json::object object = render_json(document_of({kTable}));
  const auto& table = object.at("sections").at(0).at("blocks").at(0);
  EXPECT_EQ(table.at("type").as_string(), "table");
  EXPECT_EQ(table.at("columns").at(1).at("unit").as_string(), "W");
  EXPECT_EQ(table.at("rows").at(0).at("power_w").as_double(), 312.4);
  EXPECT_EQ(table.at("rows").at(0).at("printed").at("power_w").as_string(), "312 W");
  EXPECT_TRUE(table.at("rows").at(1).at("power_w").is_null());
  EXPECT_EQ(table.at("rows").at(2).at("name").as_string(), "two\nlines");
}

TEST(RenderJson, EverythingIsThereAndParsesAgain) {
  for (const Document& document : {sample_document(), hostile_document()}) {
    const std::string text = pretty_json(render_json(document));
    const auto again = parse_json(text);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->at("sections").as_array().size(), document.sections.size());
    EXPECT_EQ(pretty_json(render_json(document)), text);
    EXPECT_THAT(text, Not(HasSubstr("nan")));
  }
}

TEST(RenderJson, NaNIsNullAndDataAreAdded) {
  const json::object object = render_json(sample_document());
  EXPECT_EQ(object.at("study").as_string(), "s-4k2m");
  EXPECT_EQ(object.at("verdict").as_string(), "44 of 45 runs valid, one node needs attention");
  EXPECT_TRUE(object.at("sections").at(1).at("blocks").at(0).at("rows").at(1).at("samples_per_second").is_null());
  Document document = document_of({});
  document.data = {{"title", "another"}};
  EXPECT_EQ(render_json(document).at("title").as_string(), "Title");
}

TEST(RenderJson, ChartsAreData) {
  XyChart chart{.x = {"X", "s"},
                .y = {},
                .series = {{"a", Stroke::steps, {{1, std::nan(""), std::pair(0.0, 1.0), true}}}},
                .references = {{"l", 2}}};
  const json::object object = render_json(document_of({ChartBlock{"c", "Chart", "", chart}}));
  const auto& block = object.at("sections").at(0).at("blocks").at(0);
  EXPECT_EQ(block.at("type").as_string(), "xy_chart");
  EXPECT_EQ(block.at("id").as_string(), "c");
  EXPECT_EQ(block.at("series").at(0).at("stroke").as_string(), "steps");
  EXPECT_EQ(json::serialize(block.at("series").at(0).at("points").at(0)),
            R"({"x":1E0,"y":null,"range":[0E0,1E0],"marked":true})");
}

TEST(RenderMarkdown, TablesAreEscaped) {
  const FigureTable table{"t",
                          "",
                          {{"n", "a|b", ""}, {"v", "V", " W", Align::right}},
                          {{Figure("x|y\nz"), Figure("5", Tone::bad)}, {Figure("- <b>&amp;"), Figure("")}},
                          {"*note*"}};
  EXPECT_EQ(render_markdown(document_of({table})),
            "# Title\n\n## Section\n\n"
            "| a\\|b | V |\n| --- | ---: |\n| x\\|y<br>z | **5 W** |\n| - \\<b\\>\\&amp; | – |\n\n\\*note\\*\n");
}

TEST(RenderMarkdown, TextIsNoMarkup) {
  const auto text = [](const char* words) {
    const std::string all = render_markdown(document_of({Paragraph{words, Tone::plain}}));
    return all.substr(all.rfind("\n\n") + 2);
  };
  EXPECT_EQ(text("# no heading"), "\\# no heading\n");
  EXPECT_EQ(text("- no list"), "\\- no list\n");
  EXPECT_EQ(text("1. no list"), "1\\. no list\n");
  EXPECT_EQ(text("1.5 is a number"), "1.5 is a number\n");
  EXPECT_EQ(text("snake_case _emphasis_"), "snake_case \\_emphasis\\_\n");
  EXPECT_EQ(text("[a](b) `c` ~d~ $e$ \\"), "\\[a\\](b) \\`c\\` \\~d\\~ \\$e\\$ \\\\\n");
  EXPECT_EQ(text("two\n# lines"), "two  \n\\# lines\n");
}

TEST(RenderMarkdown, FindingsAndCharts) {
  const FindingList list{"i", {{Severity::warning, "r_l.e", "n", "what", "why", "do"}}, ""};
  EXPECT_THAT(render_markdown(document_of({list})),
              HasSubstr("- ▲ **warning:** n: what (`r_l.e`)\n  - why\n  - → do\n"));
  XyChart chart{.x = {"GPUs", ""}, .y = {}, .series = {{"a", Stroke::line, {{1, 2}, {2, 3}}}}, .references = {}};
  EXPECT_THAT(render_markdown(document_of({ChartBlock{"c", "Chart", "Cap", chart}})),
              HasSubstr("**Chart**\n\nCap\n\n| GPUs | a |\n| ---: | ---: |\n| 1 | 2 |\n| 2 | 3 |\n"));
  chart.series[0].points.resize(20);
  EXPECT_THAT(render_markdown(document_of({ChartBlock{"c", "Chart", "", chart}})),
              HasSubstr("The chart is in the HTML form of this report.\n"));
}

TEST(RenderMarkdown, HostileTextsBringNoMarkup) {
  const std::string text = render_markdown(hostile_document());
  const auto escaped = [&](std::size_t at) { return at > 0 && text[at - 1] == '\\'; };
  for (const std::string_view markup : {"<script", "|b", "](http", "`c", "*b*", "_e_", "$m"}) {
    std::size_t found = 0;
    for (auto at = text.find(markup); at != std::string::npos; at = text.find(markup, at + 1), ++found)
      EXPECT_TRUE(escaped(at)) << text.substr(at < 40 ? 0 : at - 40, 80);
    EXPECT_GE(found, markup == "*b*" || markup == "_e_" ? 0U : 20U) << markup;
  }
  EXPECT_EQ(text, render_markdown(hostile_document()));
}

}  // namespace
}  // namespace assay
