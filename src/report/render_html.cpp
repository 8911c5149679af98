#include <fmt/format.h>

#include <set>

#include "base/ascii.h"
#include "base/text.h"
#include "report/chart/chart_data.h"
#include "report/chart/svg.h"
#include "report/html_style.h"
#include "report/render.h"
#include "report/render_parts.h"
#include "report/text/plain_text.h"

namespace assay {
namespace {

// The selector after a mark keeps browsers from drawing it as a coloured picture.
constexpr std::string_view kAsText = "\xEF\xB8\x8E";

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::strong: return "strong";
    case Tone::muted: return "muted";
    case Tone::good: return "good";
    case Tone::warning: return "warning";
    case Tone::bad: return "bad";
  }
  return "";
}

/// What says the same as the colour; followed by nothing where there is no colour.
std::string mark_for(Tone tone) {
  const std::string_view mark = tone == Tone::bad ? "✖" : tone == Tone::warning ? "▲" : tone == Tone::good ? "✓" : "";
  if (mark.empty()) return {};
  return fmt::format("<span class=\"mark\" aria-hidden=\"true\">{}{}</span>", mark, kAsText);
}

/// Escaped text that may be broken behind what joins words, never within a figure: "a=0.001,<wbr>lora.<wbr>rank=…".
std::string with_soft_breaks(std::string_view escaped) {
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char character = escaped[i];
    out += character;
    const bool joins = character == ',' || character == '=' || character == '/' || character == '_';
    const bool dot =
        character == '.' && i > 0 && is_letter(escaped[i - 1]) && i + 1 < escaped.size() && is_letter(escaped[i + 1]);
    if (joins || dot) out += "<wbr>";
  }
  return out;
}

std::string class_attribute(std::string_view classes) {
  return trim(classes).empty() ? std::string() : fmt::format(" class=\"{}\"", trim(classes));
}

std::string paragraph(std::string_view classes, std::string_view text, std::string_view lead = {}) {
  if (trim(text).empty()) return {};
  return fmt::format("<p{}>{}{}</p>\n", class_attribute(classes), lead, escape_xml(trim(text)));
}

/// Writes a document from top to bottom. Names of anchors are unique, whatever the document calls its parts.
class HtmlReport {
 public:
  std::string render(const Document& document) {
    for (const auto& section : document.sections)
      anchors_.push_back(anchor(section.id.empty() ? "section" : section.id));
    const bool contents = document.sections.size() > 3;
    std::string out = head(document);
    out += fmt::format("<body>\n<div class=\"page{}\">\n", contents ? " with-contents" : "");
    out += "<header>\n" + fmt::format("<h1>{}</h1>\n", escape_xml(clean_line(document.title)));
    out += paragraph("subtitle", document.subtitle);
    out += paragraph(fmt::format("verdict {}", class_of(document.verdict_tone)), document.verdict,
                     mark_for(document.verdict_tone));
    out += "</header>\n";
    if (contents) out += table_of_contents(document);
    out += "<main>\n";
    for (std::size_t i = 0; i < document.sections.size(); ++i) out += section(document.sections[i], anchors_[i]);
    return out + "</main>\n</div>\n</body>\n</html>\n";
  }

 private:
  static std::string head(const Document& document) {
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"assay\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n",
        escape_xml(clean_line(document.title)), html_style());
  }

  std::string anchor(std::string_view wanted) {
    std::string name;
    for (const char character : lower_case(wanted)) {
      const bool plain = (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9');
      if (plain) name += character;
      if (!plain && !name.empty() && name.back() != '-') name += '-';
    }
    while (name.ends_with('-')) name.pop_back();
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "part-");
    std::string unique = name;
    for (int copy = 2; !taken_.insert(unique).second; ++copy) unique = fmt::format("{}-{}", name, copy);
    return unique;
  }

  std::string table_of_contents(const Document& document) const {
    std::string out = "<nav class=\"contents\" aria-label=\"Contents\">\n<div class=\"inner\">\n<ol>\n";
    for (std::size_t i = 0; i < document.sections.size(); ++i)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchors_[i],
                         escape_xml(clean_line(document.sections[i].title)));
    return out + "</ol>\n</div>\n</nav>\n";
  }

  std::string section(const Section& section, const std::string& id) {
    std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", id, escape_xml(clean_line(section.title)));
    bool in_charts = false;
    for (const auto& block : section.blocks) {
      // Charts that follow each other stand side by side where there is room.
      const bool is_chart = std::holds_alternative<ChartBlock>(block);
      if (is_chart && !in_charts) out += "<div class=\"charts\">\n";
      if (!is_chart && in_charts) out += "</div>\n";
      in_charts = is_chart;
      out += std::visit([&](const auto& one) { return html(one); }, block);
    }
    return out + (in_charts ? "</div>\n</section>\n" : "</section>\n");
  }

  std::string html(const Paragraph& block) { return paragraph(class_of(block.tone), block.text, mark_for(block.tone)); }

  std::string html(const FigureTable& table) {
    const std::string id = anchor("table-" + table.id);
    const std::string title = escape_xml(clean_line(table.title));
    std::string out = fmt::format(
        "<div class=\"block\" id=\"{}\">\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
        "aria-label=\"{}\">\n<table{}>\n",
        id, title.empty() ? "Table" : title, table.columns.size() > kColumnsWithRoom ? " class=\"dense\"" : "");
    if (!title.empty()) out += "<caption><span>" + title + "</span></caption>\n";
    out += "<thead>\n<tr>";
    for (const auto& column : table.columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", column.align == Align::right ? " class=\"number\"" : "",
                         with_soft_breaks(escape_xml(clean_line(column.title))));
    out += "</tr>\n</thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      out += "<tr>";
      for (std::size_t i = 0; i < table.columns.size(); ++i)
        out += cell(table.columns[i], i < row.size() ? row[i] : Figure(), i == 0);
      out += "</tr>\n";
    }
    out += "</tbody>\n</table>\n</div>\n";
    return out + notes(table.notes) + "</div>\n";
  }

  static std::string notes(const std::vector<std::string>& notes) {
    if (notes.empty()) return {};
    std::string out = "<ul class=\"notes\">\n";
    for (const auto& note : notes) out += "<li>" + escape_xml(note) + "</li>\n";
    return out + "</ul>\n";
  }

  static bool is_figure(const FigureColumn& column, const Figure& figure) {
    return figure.value.has_value() || (column.align == Align::right && !column.shrinks);
  }

  /// Figures stay whole; words may be broken between lines, in columns that give way more so.
  static std::string_view wrapping_of(const FigureColumn& column, const Figure& figure) {
    if (is_figure(column, figure)) return "whole";
    return column.shrinks ? "long" : "short";
  }

  static std::string cell(const FigureColumn& column, const Figure& figure, bool heads_row) {
    const std::string classes = fmt::format("{} {} {}", column.align == Align::right ? "number" : "",
                                            wrapping_of(column, figure), class_of(figure.tone));
    std::string content = "<span class=\"unknown\">–</span>";
    if (!figure.text.empty()) {
      const std::string text = escape_xml(figure.text);
      content = mark_for(figure.tone) + (is_figure(column, figure) ? text : with_soft_breaks(text));
      const std::string full = printed(column, figure);
      if (full.size() > figure.text.size())
        content += fmt::format("<span class=\"unit\">{}</span>",
                               escape_xml(std::string_view(full).substr(figure.text.size())));
    }
    const std::string_view name = heads_row ? "th" : "td";
    return fmt::format("<{}{}{}>{}</{}>", name, heads_row ? " scope=\"row\"" : "", class_attribute(classes), content,
                       name);
  }

  std::string html(const FactList& list) {
    if (list.facts.empty()) return {};
    std::string out = fmt::format("<dl class=\"block\" id=\"{}\">\n", anchor("facts-" + list.id));
    for (const auto& [name, value] : list.facts) {
      const std::string shown = escape_xml(clean_line(value));
      out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_xml(clean_line(name)), shown.empty() ? "–" : shown);
    }
    return out + "</dl>\n";
  }

  std::string html(const FindingList& list) {
    if (list.findings.empty())
      return paragraph("good", list.if_empty, list.if_empty.empty() ? std::string() : mark_for(Tone::good));
    std::string out = fmt::format("<ul class=\"findings\" id=\"{}\">\n", anchor("findings-" + list.id));
    for (const auto& finding : list.findings) {
      const std::string_view severity = name_of(finding.severity);
      out += fmt::format("<li class=\"finding {0}\">\n<p class=\"what\"><span class=\"severity\">{1}{2} {0}</span>{3}",
                         severity, mark_of(finding.severity), kAsText, escape_xml(clean_line(headline(finding))));
      if (!finding.rule.empty())
        out += fmt::format("<code class=\"rule\">{}</code>", escape_xml(clean_line(finding.rule)));
      out += "</p>\n" + paragraph("evidence", finding.evidence) + paragraph("remedy", finding.remedy, "→ ") + "</li>\n";
    }
    return out + "</ul>\n";
  }

  std::string html(const ChartBlock& block) {
    const auto* heat = std::get_if<HeatChart>(&block.chart);
    const bool wide = heat && heat->columns.size() > kColumnsSideBySide;
    std::string out = fmt::format("<figure id=\"{}\"{}>\n<h3>{}</h3>\n<div class=\"scroll\">\n{}</div>\n",
                                  anchor("chart-" + block.id), wide ? " class=\"wide\"" : "",
                                  escape_xml(clean_line(block.title)), svg_element(block));
    std::string caption = escape_xml(trim(block.caption));
    for (const auto& note : chart_notes(block)) caption += (caption.empty() ? "" : " ") + escape_xml(note);
    if (!caption.empty()) out += "<figcaption>" + caption + "</figcaption>\n";
    return out + "</figure>\n";
  }

  static constexpr std::size_t kColumnsSideBySide = 14;
  /// Tables with more stand closer, so that they fit a laptop's screen.
  static constexpr std::size_t kColumnsWithRoom = 8;

  std::set<std::string> taken_;
  std::vector<std::string> anchors_;
};

}  // namespace

std::string render_html(const Document& document) { return HtmlReport().render(document); }

}  // namespace assay
