#include <fmt/format.h>

#include <cctype>

#include "base/text.h"
#include "report/chart/chart_data.h"
#include "report/chart_table.h"
#include "report/render.h"
#include "report/render_parts.h"
#include "report/text/plain_text.h"

namespace assay {
namespace {

bool is_word(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

/// Text within a line, without any markup. An underscore within a word is none.
std::string inline_text(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*[]<>|&~$";
  const std::string line = clean_line(text);
  std::string escaped;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool within_word = i > 0 && i + 1 < line.size() && is_word(line[i - 1]) && is_word(line[i + 1]);
    if (kMarkup.find(line[i]) != std::string_view::npos || (line[i] == '_' && !within_word)) escaped += '\\';
    escaped += line[i];
  }
  return escaped;
}

/// Text that starts a line, where it could be read as a heading, a list, a rule or a table as well.
std::string line_text(std::string_view text) {
  std::string line = inline_text(text);
  const auto digits = line.find_first_not_of("0123456789");
  if (digits == std::string::npos) return line;
  const bool ends_there = digits + 1 == line.size() || line[digits + 1] == ' ';
  const bool numbers_list = digits > 0 && ends_there && (line[digits] == '.' || line[digits] == ')');
  if (numbers_list || (digits == 0 && std::string_view("#-+=:").find(line[0]) != std::string_view::npos))
    line.insert(digits, "\\");
  return line;
}

using Escape = std::string (*)(std::string_view);

/// Text whose line breaks count.
std::string broken_text(std::string_view text, std::string_view line_break, Escape escape) {
  std::string out;
  const std::string clean = clean_text(text);
  for (const std::string_view line : split(trim(clean), '\n')) {
    if (!out.empty()) out += line_break;
    out += escape(line);
  }
  return out;
}

/// A stable name as code; whatever is not made of the characters of such names stays text.
std::string code(std::string_view name) {
  const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") == std::string_view::npos;
  return plain ? fmt::format("`{}`", name) : inline_text(name);
}

std::string emphasised(const std::string& text, Tone tone) {
  if (text.empty()) return text;
  return tone == Tone::strong || tone == Tone::bad || tone == Tone::warning ? "**" + text + "**" : text;
}

std::string to_markdown(const Paragraph& paragraph) {
  return emphasised(broken_text(paragraph.text, "  \n", line_text), paragraph.tone) + "\n";
}

std::string to_markdown(const FigureTable& table) {
  std::string out;
  if (!trim(table.title).empty()) out += "**" + inline_text(table.title) + "**\n\n";
  if (table.columns.empty()) return out;
  std::string rule = "|";
  out += "|";
  for (const auto& column : table.columns) {
    out += " " + inline_text(column.title) + " |";
    rule += column.align == Align::right ? " ---: |" : " --- |";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const Figure figure = i < row.size() ? row[i] : Figure();
      const std::string text = broken_text(printed(table.columns[i], figure), "<br>", inline_text);
      out += " " + (text.empty() ? "–" : emphasised(text, figure.tone)) + " |";
    }
    out += "\n";
  }
  for (const auto& note : table.notes) out += "\n" + line_text(note) + "\n";
  return out;
}

std::string to_markdown(const FactList& list) {
  FigureTable table;
  table.columns = {{.key = "name", .title = "Fact", .unit = ""}, {.key = "value", .title = "Value", .unit = ""}};
  for (const auto& [name, value] : list.facts) table.rows.push_back({Figure(name), Figure(value)});
  return table.rows.empty() ? std::string() : to_markdown(table);
}

std::string to_markdown(const FindingList& list) {
  if (list.findings.empty()) return list.if_empty.empty() ? std::string() : line_text(list.if_empty) + "\n";
  std::string out;
  for (const auto& finding : list.findings) {
    out += fmt::format("- {} **{}:** {}", mark_of(finding.severity), name_of(finding.severity),
                       inline_text(headline(finding)));
    if (!finding.rule.empty()) out += " (" + code(finding.rule) + ")";
    out += "\n";
    if (!finding.evidence.empty()) out += "  - " + line_text(finding.evidence) + "\n";
    if (!finding.remedy.empty()) out += "  - → " + inline_text(finding.remedy) + "\n";
  }
  return out;
}

std::string to_markdown(const ChartBlock& block) {
  std::string out = "**" + inline_text(block.title) + "**\n";
  if (!block.caption.empty()) out += "\n" + line_text(block.caption) + "\n";
  for (const auto& note : chart_notes(block)) out += "\n" + line_text(note) + "\n";
  if (const auto table = chart_table(block)) return out + "\n" + to_markdown(*table);
  return out + "\nThe chart is in the HTML form of this report.\n";
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out = "# " + inline_text(document.title) + "\n";
  if (!document.subtitle.empty()) out += "\n" + line_text(document.subtitle) + "\n";
  if (!document.verdict.empty()) out += "\n**" + inline_text(document.verdict) + "**\n";
  for (const auto& section : document.sections) {
    out += "\n## " + inline_text(section.title) + "\n";
    for (const auto& block : section.blocks) {
      const std::string text = std::visit([](const auto& one) { return to_markdown(one); }, block);
      if (!text.empty()) out += "\n" + text;
    }
  }
  return out;
}

}  // namespace assay
