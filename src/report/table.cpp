#include "report/table.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;

void append_aligned(std::string& line, const TerminalStyle& style, const Cell& cell, Align align, std::size_t width) {
  const std::string text = shorten(cell.text, width, style);
  const std::string padding(width - display_width(text), ' ');
  if (align == Align::right) line += padding;
  line += style.paint(cell.colour, text);
  if (align == Align::left) line += padding;
}

void end_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
}

}  // namespace

std::string shorten(std::string_view text, std::size_t width, const TerminalStyle& style) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view mark = style.pick("…", "~");
  std::size_t end = 0;
  std::size_t next = 0;
  while (next < text.size()) {
    ++next;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    if (display_width(text.substr(0, next)) + 1 > width) break;
    end = next;
  }
  return std::string(text.substr(0, end)) + std::string(mark);
}

void Table::add(std::vector<Cell> row) {
  ASSAY_ASSERT(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const TerminalStyle& style, int indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  const std::size_t room = static_cast<std::size_t>(std::max(style.width - indent, 20));
  std::size_t total = std::accumulate(widths.begin(), widths.end(), (columns_.size() - 1) * kGap);
  while (total > room) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].shrinks && widths[i] > kNarrowest && (widest == columns_.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::render(const TerminalStyle& style, int indent) const {
  const auto columns = widths(style, indent);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const std::string gap(kGap, ' ');
  std::string out;
  std::string titles = margin;
  std::string rule = margin;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i) titles += gap, rule += gap;
    append_aligned(titles, style, Cell(columns_[i].title, Colour::bold), columns_[i].align, columns[i]);
    for (std::size_t c = 0; c < columns[i]; ++c) rule += style.pick("─", "-");
  }
  end_line(out, std::move(titles));
  out += style.paint(Colour::dim, rule) + "\n";
  for (const auto& row : rows_) {
    std::string line = margin;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i) line += gap;
      append_aligned(line, style, row[i], columns_[i].align, columns[i]);
    }
    end_line(out, std::move(line));
  }
  return out;
}

}  // namespace assay
