#pragma once

#include <string>
#include <vector>

#include "report/text/align.h"
#include "report/text/style.h"

namespace assay {

struct Column {
  std::string title;
  Align align = Align::left;
  bool shrinks = false;  ///< gives way when the table is wider than the terminal
  int yields = 0;        ///< left out when that does not suffice; the highest goes first, 0 never
  int least = 8;         ///< one that shrinks gets narrower than this only when no other can be left out
};

struct Cell {
  Cell(std::string content, Colour shade = Colour::plain) : text(std::move(content)), colour(shade) {}
  Cell(const char* content) : text(content) {}
  std::string text;
  Colour colour = Colour::plain;
};

/// A table for the terminal: titles, a thin line, aligned columns two spaces apart.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }

  /// Every line ends with a newline and starts with `indent` spaces; no trailing white space. In ASCII where the
  /// terminal has no more.
  std::string render(const TerminalStyle& style, int indent = 2) const;

 private:
  std::string lay_out(const TerminalStyle& style, int indent) const;
  /// Of each column; 0 for one that is left out.
  std::vector<std::size_t> widths(const TerminalStyle& style, int indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Shortens text to `width` columns of the terminal, with an ellipsis where something was cut.
std::string shorten(std::string_view text, std::size_t width, const TerminalStyle& style);

}  // namespace assay
