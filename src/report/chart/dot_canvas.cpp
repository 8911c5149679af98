#include "report/chart/dot_canvas.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace assay {
namespace {

constexpr int kBrailleAcross = 2;
constexpr int kBrailleDown = 4;
// Unicode counts the dots down the left column first, the lowest pair last.
constexpr std::array<std::array<unsigned, 2>, 4> kDotBits = {{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};

std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

DotCanvas::DotCanvas(std::size_t columns, std::size_t rows, bool unicode)
    : columns_(columns), rows_(rows), unicode_(unicode), cells_(columns * rows) {}

int DotCanvas::dots_across() const { return static_cast<int>(columns_) * (unicode_ ? kBrailleAcross : 1); }
int DotCanvas::dots_down() const { return static_cast<int>(rows_) * (unicode_ ? kBrailleDown : 1); }

DotCanvas::Cell* DotCanvas::cell_at(int x, int y) {
  if (x < 0 || y < 0 || x >= dots_across() || y >= dots_down()) return nullptr;
  const auto column = static_cast<std::size_t>(unicode_ ? x / kBrailleAcross : x);
  const auto row = static_cast<std::size_t>(unicode_ ? y / kBrailleDown : y);
  return &cells_[row * columns_ + column];
}

void DotCanvas::dot(int x, int y, Colour colour, char letter) {
  Cell* cell = cell_at(x, y);
  if (!cell) return;
  if (unicode_)
    cell->dots |= kDotBits[static_cast<std::size_t>(y % kBrailleDown)][static_cast<std::size_t>(x % kBrailleAcross)];
  cell->colour = colour;
  cell->letter = letter;
}

void DotCanvas::line(int x0, int y0, int x1, int y1, Colour colour, char letter) {
  const int dx = std::abs(x1 - x0);
  const int dy = -std::abs(y1 - y0);
  const int step_x = x0 < x1 ? 1 : -1;
  const int step_y = y0 < y1 ? 1 : -1;
  int error = dx + dy;
  for (;;) {
    dot(x0, y0, colour, letter);
    if (x0 == x1 && y0 == y1) return;
    const int twice = 2 * error;
    if (twice >= dy) error += dy, x0 += step_x;
    if (twice <= dx) error += dx, y0 += step_y;
  }
}

void DotCanvas::stamp(int x, int y, Colour colour, std::string text) {
  Cell* cell = cell_at(x, y);
  if (!cell) return;
  cell->stamp = std::move(text);
  cell->colour = colour;
}

std::string DotCanvas::row(std::size_t index, const TerminalStyle& style) const {
  std::string line;
  std::string blanks;
  std::string stretch;
  Colour shade = Colour::plain;
  // Neighbours of one colour are painted together: half the bytes, and nothing blinks on slow terminals.
  const auto flush = [&] {
    line += style.paint(shade, stretch);
    stretch.clear();
  };
  for (std::size_t column = 0; column < columns_; ++column) {
    const Cell& cell = cells_[index * columns_ + column];
    std::string text = cell.stamp;
    if (text.empty() && unicode_ && cell.dots) text = braille(cell.dots);
    if (text.empty() && !unicode_ && cell.letter != ' ') text = std::string(1, cell.letter);
    if (text.empty()) {
      blanks += ' ';
      continue;
    }
    if (!blanks.empty() || cell.colour != shade) {
      flush();
      line += std::exchange(blanks, {});
      shade = cell.colour;
    }
    stretch += text;
  }
  flush();
  return line;
}

}  // namespace assay
