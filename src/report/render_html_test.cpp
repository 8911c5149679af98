#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "base/text.h"
#include "report/chart/markup_fixture.h"
#include "report/chart/palette.h"
#include "report/html_style.h"
#include "report/render.h"
#include "report/sample_document_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

Document page_of(std::vector<Block> blocks) {
  Document document;
  document.title = "Title";
  document.sections = {{"s", "Section", std::move(blocks)}};
  return document;
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex expression(pattern);
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression); at != std::sregex_iterator(); ++at)
    found.push_back((*at)[1]);
  return found;
}

TEST(RenderHtml, IsBalancedAndTheSameEveryTime) {
  for (const Document& document : {sample_document(), hostile_document(), Document{}}) {
    const std::string html = render_html(document);
    EXPECT_EQ(problem_in_markup(html, Markup::html), std::nullopt);
    EXPECT_EQ(html, render_html(document));
  }
}

TEST(RenderHtml, NeedsNothingFromOutsideAndRunsNothing) {
  const std::string html = render_html(sample_document());
  for (const char* word :
       {"<script", "http://", "https://", "url(", "@import", "<img", "<iframe", "onload", "javascript:"})
    EXPECT_THAT(html, Not(HasSubstr(word))) << word;
  EXPECT_THAT(html, HasSubstr("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
  EXPECT_THAT(html, HasSubstr("<meta charset=\"utf-8\">"));
  EXPECT_THAT(html, HasSubstr("<meta name=\"viewport\""));
  EXPECT_THAT(html, HasSubstr("<meta name=\"color-scheme\" content=\"light dark\">"));
  EXPECT_THAT(html, HasSubstr("<html lang=\"en\">"));
}

TEST(RenderHtml, HostileTextsStayText) {
  const std::string html = render_html(hostile_document());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;1&#39;)"));
  EXPECT_THAT(html, Not(HasSubstr("\xE2\x80\xAE")));
}

TEST(RenderHtml, AnchorsAreUniqueAndLinksLeadSomewhere) {
  for (const Document& document : {sample_document(), hostile_document()}) {
    const std::string html = render_html(document);
    const auto ids = matches(html, " id=\"([^\"]*)\"");
    const std::set<std::string> unique(ids.begin(), ids.end());
    EXPECT_EQ(unique.size(), ids.size());
    const auto links = matches(html, "href=\"#([^\"]*)\"");
    EXPECT_EQ(links.size(), document.sections.size());
    for (const auto& link : links) EXPECT_TRUE(unique.contains(link)) << link;
    for (const auto& id : ids) EXPECT_TRUE(std::regex_match(id, std::regex("[a-z][a-z0-9-]*"))) << id;
  }
  const std::string html = render_html(sample_document());
  EXPECT_THAT(html, HasSubstr("<section id=\"scaling\">"));
  EXPECT_THAT(html, HasSubstr("id=\"table-scaling\""));
  EXPECT_THAT(html, HasSubstr("<figure id=\"chart-speedup\""));
}

TEST(RenderHtml, ContentsOnlyWhereThereIsMuch) {
  Document document = sample_document();
  EXPECT_THAT(render_html(document), HasSubstr("<nav"));
  document.sections.resize(3);
  EXPECT_THAT(render_html(document), Not(HasSubstr("<nav")));
}

TEST(RenderHtml, TablesAreReadToThoseWhoCannotSeeThem) {
  const FigureTable table{"t",
                          "Power & co",
                          {{"n", "Node", ""}, {"w", "Power", " W", Align::right}},
                          {{"a", Figure("312", Tone::warning)}, {"b", ""}, {"c", "failed"}},
                          {"Note <1>"}};
  const std::string html = render_html(page_of({table}));
  EXPECT_THAT(html, HasSubstr("<caption><span>Power &amp; co</span></caption>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">Node</th><th scope=\"col\" class=\"number\">Power</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\" class=\"short\">a</th><td class=\"number whole warning\"><span "
                              "class=\"mark\" aria-hidden=\"true\">▲"));
  EXPECT_THAT(html, HasSubstr("312<span class=\"unit\"> W</span></td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number whole\"><span class=\"unknown\">–</span></td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"number whole\">failed</td>"));
  EXPECT_THAT(html, HasSubstr("<li>Note &lt;1&gt;</li>"));
  EXPECT_THAT(html, HasSubstr("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Power &amp; co\">"));
}

TEST(RenderHtml, SeverityIsAMarkAndAWord) {
  const std::string html =
      render_html(page_of({FindingList{"i", {{Severity::problem, "slow", "gpu07", "is slow", "why", "do"}}, ""}}));
  EXPECT_TRUE(std::regex_search(
      html,
      std::regex(
          "<li class=\"finding problem\">\n<p class=\"what\"><span class=\"severity\">✖[^<]* problem</span>gpu07: is "
          "slow<code class=\"rule\">slow</code></p>\n<p class=\"evidence\">why</p>\n<p class=\"remedy\">→ do</p>")));
}

TEST(RenderHtml, ChartsThatFollowEachOtherStandTogether) {
  const ChartBlock chart{
      "c", "Chart", "Caption",
      BarChart{.value = {"", "", true}, .bars = {{"a", -1.0, {}, false}}, .references = {}, .band = {}}};
  const std::string html = render_html(page_of({chart, chart, Paragraph{"p", Tone::plain}, chart}));
  EXPECT_EQ(matches(html, "(<div class=\"charts\">)").size(), 2U);
  EXPECT_EQ(matches(html, "(<figure)").size(), 3U);
  EXPECT_THAT(
      html,
      HasSubstr("<figcaption>Caption 1 value at or below zero is left out: the axis is logarithmic.</figcaption>"));
}

double luminance(std::string_view colour) {
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double part =
        std::stoi(std::string(colour.substr(1 + 2 * static_cast<std::size_t>(i), 2)), nullptr, 16) / 255.0;
    const double linear = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    sum += linear * (i == 0 ? 0.2126 : i == 1 ? 0.7152 : 0.0722);
  }
  return sum;
}

double contrast(std::string_view a, std::string_view b) {
  const double one = luminance(a);
  const double other = luminance(b);
  return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

TEST(Palette, CanBeReadOnLightAndOnDark) {
  const auto& paper = palette().front();
  ASSERT_EQ(paper.name, "paper");
  for (const auto& colour : palette()) {
    const bool is_text = colour.name == "ink" || colour.name == "soft" || colour.name == "link" ||
                         colour.name == "good" || colour.name == "warning" || colour.name == "bad";
    const bool is_series = colour.name.starts_with("series");
    if (!is_text && !is_series) continue;
    // WCAG AA: 4.5 for text, 3 for graphics.
    EXPECT_GE(contrast(colour.light, paper.light), is_text ? 4.5 : 3.0) << colour.name;
    EXPECT_GE(contrast(colour.dark, paper.dark), is_text ? 4.5 : 3.0) << colour.name;
  }
}

TEST(Palette, FiguresCanBeReadOnEveryStepOfTheHeatMap) {
  const auto colour = [](std::string_view name) {
    return *std::find_if(palette().begin(), palette().end(), [&](const auto& one) { return one.name == name; });
  };
  const std::string rules = chart_rules();
  for (int step = 1; step <= kHeatSteps; ++step) {
    const auto ground = colour(fmt::format("heat-{}", step));
    const bool ink = rules.find(fmt::format(".on{}{{fill:var(--ink)", step)) != std::string::npos;
    const auto text = colour(ink ? "ink" : "paper");
    EXPECT_GE(contrast(text.light, ground.light), 4.0) << step;
    EXPECT_GE(contrast(text.dark, ground.dark), 4.0) << step;
  }
}

TEST(HtmlStyle, PrintsInTheColoursOfPaper) {
  const std::string css = html_style();
  const auto print = css.find("@media print");
  ASSERT_NE(print, std::string::npos);
  EXPECT_NE(css.find(css_variables(false), print), std::string::npos);
  EXPECT_LT(css.find("@media (prefers-color-scheme:dark)"), print);
  EXPECT_EQ(std::count(css.begin(), css.end(), '{'), std::count(css.begin(), css.end(), '}'));
}

}  // namespace
}  // namespace assay
