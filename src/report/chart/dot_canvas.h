#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/text/style.h"

namespace assay {

/// A grid of terminal cells that is drawn on with dots: two by four in a cell where there is Unicode (braille), else
/// one, drawn as the series' letter. What is drawn later lies on top and gives a cell its colour.
class DotCanvas {
 public:
  DotCanvas(std::size_t columns, std::size_t rows, bool unicode);

  int dots_across() const;
  int dots_down() const;

  /// Outside of the canvas nothing happens.
  void dot(int x, int y, Colour colour, char letter);
  void line(int x0, int y0, int x1, int y1, Colour colour, char letter);
  /// Text of one column over whatever the cell at this dot holds.
  void stamp(int x, int y, Colour colour, std::string text);

  /// One row of cells, painted; no trailing blanks.
  std::string row(std::size_t index, const TerminalStyle& style) const;

 private:
  struct Cell {
    unsigned dots = 0;
    char letter = ' ';
    Colour colour = Colour::plain;
    std::string stamp;
  };
  Cell* cell_at(int x, int y);

  std::size_t columns_;
  std::size_t rows_;
  bool unicode_;
  std::vector<Cell> cells_;
};

}  // namespace assay
