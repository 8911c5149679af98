#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/chart/text_chart.h"
#include "report/render.h"
#include "report/render_parts.h"
#include "report/text/plain_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

// Long lines of prose are hard to read, however wide the terminal is.
constexpr int kWidestText = 100;
constexpr int kIndent = 2;

Colour colour_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return Colour::plain;
    case Tone::strong: return Colour::bold;
    case Tone::muted: return Colour::dim;
    case Tone::good: return Colour::green;
    case Tone::warning: return Colour::yellow;
    case Tone::bad: return Colour::red;
  }
  return Colour::plain;
}

Colour colour_of(Severity severity) {
  return severity == Severity::problem ? Colour::red : severity == Severity::warning ? Colour::yellow : Colour::blue;
}

std::string_view terminal_mark(Severity severity, const TerminalStyle& style) {
  if (style.unicode) return mark_of(severity);
  return severity == Severity::problem ? "x" : severity == Severity::warning ? "!" : "-";
}

/// Writes a document from top to bottom.
class TerminalReport {
 public:
  explicit TerminalReport(const TerminalStyle& style) : style_(style) {}

  std::string render(const Document& document) {
    paragraph(document.title, Colour::bold, 0);
    paragraph(document.subtitle, Colour::dim, 0);
    paragraph(document.verdict, colour_of(document.verdict_tone), 0);
    for (const auto& section : document.sections) {
      if (section.in_terminal) add_section(section);
    }
    return std::move(out_);
  }

 private:
  std::size_t text_width(int indent) const {
    return static_cast<std::size_t>(std::max(std::min(style_.width, kWidestText) - indent, 20));
  }

  /// Wrapped, each line behind `indent` blanks; the first behind `lead` instead, which is as wide.
  void paragraph(std::string_view text, Colour colour, int indent, std::string_view lead = {}) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    const std::string shown = style_.unicode ? std::string(text) : in_ascii(clean_text(text));
    bool first = true;
    for (const auto& line : wrap_text(shown, text_width(indent))) {
      if (!line.empty()) out_ += (first && !lead.empty() ? std::string(lead) : margin) + style_.paint(colour, line);
      out_ += '\n';
      first = false;
    }
  }

  void add_section(const Section& section) {
    const std::string title = shorten(terminal_line(section.title, style_), text_width(4), style_);
    std::string rule;
    const std::size_t used = display_width(title) + 1;
    for (std::size_t i = used; i < text_width(0); ++i) rule += style_.pick("─", "-");
    out_ += "\n" + style_.paint(Colour::bold, title) + " " + style_.paint(Colour::dim, rule) + "\n";
    bool first = true;
    for (const auto& block : section.blocks) {
      const auto* chart = std::get_if<ChartBlock>(&block);
      if (chart && !chart->in_terminal) continue;
      if (!first) out_ += '\n';
      first = false;
      std::visit([&](const auto& one) { add(one); }, block);
    }
  }

  void add(const Paragraph& block) { paragraph(block.text, colour_of(block.tone), kIndent); }

  void add(const FigureTable& table) {
    paragraph(table.title, Colour::bold, kIndent);
    if (table.columns.empty()) return;
    std::vector<Column> columns;
    columns.reserve(table.columns.size());
    for (const auto& column : table.columns)
      columns.push_back({terminal_line(column.title, style_), column.align, column.shrinks});
    Table grid(std::move(columns));
    for (const auto& row : table.rows) {
      std::vector<Cell> cells;
      cells.reserve(table.columns.size());
      for (std::size_t i = 0; i < table.columns.size(); ++i) cells.push_back(cell(table, row, i));
      grid.add(std::move(cells));
    }
    const std::string text = grid.render(style_, kIndent);
    if (fits(grid)) {
      out_ += text;
    } else {
      add_stacked(table);
    }
    for (const auto& note : table.notes) paragraph(note, Colour::dim, kIndent);
  }

  Cell cell(const FigureTable& table, const std::vector<Figure>& row, std::size_t i) const {
    if (i >= row.size() || row[i].text.empty()) return Cell(std::string(style_.pick("–", "-")), Colour::dim);
    return Cell(terminal_line(printed(table.columns[i], row[i]), style_), colour_of(row[i].tone));
  }

  /// Whether the columns that may have given way enough.
  bool fits(const Table& grid) const {
    TerminalStyle plain = style_;
    plain.colour = false;
    const std::string text = grid.render(plain, kIndent);
    for (const std::string_view line : split(text, '\n')) {
      if (display_width(line) > static_cast<std::size_t>(style_.width)) return false;
    }
    return true;
  }

  /// A table that is too wide for this terminal: each row as a few lines of its own.
  void add_stacked(const FigureTable& table) {
    for (const auto& row : table.rows) {
      const Cell heading = cell(table, row, 0);
      paragraph(heading.text, Colour::bold, kIndent);
      std::vector<std::pair<std::string, Cell>> lines;
      for (std::size_t i = 1; i < table.columns.size(); ++i)
        lines.emplace_back(terminal_line(table.columns[i].title, style_), cell(table, row, i));
      add_aligned(lines, kIndent + 2);
    }
  }

  void add_aligned(const std::vector<std::pair<std::string, Cell>>& lines, int indent) {
    std::size_t names = 1;
    for (const auto& line : lines) names = std::max(names, display_width(line.first));
    names = std::min(names, text_width(indent) / 2);
    for (const auto& [name, value] : lines) {
      const std::string shown = shorten(name, names, style_);
      const std::string lead = std::string(static_cast<std::size_t>(indent), ' ') + style_.paint(Colour::dim, shown) +
                               std::string(names - display_width(shown) + 2, ' ');
      paragraph(value.text, value.colour, indent + static_cast<int>(names) + 2, lead);
    }
  }

  void add(const FactList& list) {
    std::vector<std::pair<std::string, Cell>> lines;
    for (const auto& [name, value] : list.facts) {
      const std::string text = terminal_line(value, style_);
      lines.emplace_back(terminal_line(name, style_), Cell(text.empty() ? std::string(style_.pick("–", "-")) : text));
    }
    add_aligned(lines, kIndent);
  }

  void add(const FindingList& list) {
    if (list.findings.empty()) return paragraph(list.if_empty, Colour::green, kIndent);
    for (const auto& finding : list.findings) {
      if (&finding != &list.findings.front()) out_ += '\n';
      const std::string mark(terminal_mark(finding.severity, style_));
      paragraph(headline(finding), Colour::bold, kIndent + 2,
                "  " + style_.paint(colour_of(finding.severity), mark) + " ");
      paragraph(finding.evidence, Colour::plain, kIndent + 2);
      const std::string arrow(style_.pick("→ ", "-> "));
      paragraph(finding.remedy, Colour::plain, kIndent + 2 + static_cast<int>(display_width(arrow)),
                "    " + style_.paint(Colour::cyan, arrow));
      paragraph(fmt::format("{} · {}", name_of(finding.severity), finding.rule), Colour::dim, kIndent + 2);
    }
  }

  void add(const ChartBlock& chart) {
    TerminalStyle inner = style_;
    inner.width = std::max(style_.width - kIndent, 20);
    const std::string text = text_chart(chart, inner);
    for (std::string_view rest = text; !rest.empty();) {
      const auto end = rest.find('\n');
      if (end > 0) out_ += std::string(kIndent, ' ');
      out_ += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
  }

  const TerminalStyle& style_;
  std::string out_;
};

}  // namespace

std::string render_terminal(const Document& document, const TerminalStyle& style) {
  return TerminalReport(style).render(document);
}

}  // namespace assay
