#include "report/text/table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "report/text/plain_text.h"

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
  // A name with a newline in it must not pass for two rows.
  for (Cell& cell : row) std::ranges::replace_if(cell.text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const TerminalStyle& style, int indent) const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = std::max<std::size_t>(display_width(columns_[i].title), 1);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  const auto room = static_cast<std::size_t>(std::max(style.width - indent, 20));
  const auto needed = [&](bool shrunk) {
    std::size_t total = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const bool gives = shrunk && columns_[i].shrinks;
      total += (gives ? std::min(widths[i], static_cast<std::size_t>(columns_[i].least)) : widths[i]) + kGap;
    }
    return total - kGap;
  };
  while (needed(true) > room) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] > 0 && (widths[first] == 0 || columns_[i].yields > columns_[first].yields)) first = i;
    }
    if (columns_[first].yields == 0) break;
    widths[first] = 0;
  }
  for (std::size_t total = needed(false); total > room; --total) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].shrinks && widths[i] > kNarrowest && (widest == columns_.size() || widths[i] > widths[widest]))
        widest = i;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string Table::render(const TerminalStyle& style, int indent) const {
  if (style.unicode) return lay_out(style, indent);
  Table plain = *this;
  for (Column& column : plain.columns_) column.title = in_ascii(column.title);
  for (auto& row : plain.rows_) {
    for (Cell& cell : row) cell.text = in_ascii(cell.text);
  }
  return plain.lay_out(style, indent);
}

std::string Table::lay_out(const TerminalStyle& style, int indent) const {
  const auto columns = widths(style, indent);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const std::string gap(kGap, ' ');
  const auto put_line = [&](auto&& put_column) {
    std::string line = margin;
    bool first = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns[i] == 0) continue;
      if (!std::exchange(first, false)) line += gap;
      put_column(line, i);
    }
    return line;
  };
  std::string out;
  end_line(out, put_line([&](std::string& line, std::size_t i) {
             append_aligned(line, style, Cell(columns_[i].title, Colour::bold), columns_[i].align, columns[i]);
           }));
  out += style.paint(Colour::dim, put_line([&](std::string& line, std::size_t i) {
                       for (std::size_t c = 0; c < columns[i]; ++c) line += style.pick("─", "-");
                     })) +
         "\n";
  for (const auto& row : rows_) {
    end_line(out, put_line([&](std::string& line, std::size_t i) {
               append_aligned(line, style, row[i], columns_[i].align, columns[i]);
             }));
  }
  return out;
}

}  // namespace assay
