#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/chart/chart_data.h"
#include "report/chart/text_chart_parts.h"
#include "report/text/plain_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

constexpr std::size_t kLongestBarName = 24;
constexpr std::size_t kShortestBar = 8;

/// A bar of `length` cells to an eighth of a cell.
std::string bar_text(double length, const TerminalStyle& style) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(std::max(length, 0.0) * 8));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += style.pick("█", "#");
  if (style.unicode) text += kEighths[eighths % 8];
  return text;
}

class TextBars {
 public:
  TextBars(const BarChart& chart, const TerminalStyle& style)
      : chart_(chart), style_(style), count_(std::min(chart.bars.size(), kMostBars)) {
    const ValueRange extent = extent_of(chart);
    axis_ = fit_axis(chart.value, extent, {.most_ticks = 4, .padding = 0, .unicode = style.unicode});
    empty_ = extent.empty();
    std::size_t figures = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      names_ = std::max(names_, display_width(terminal_line(chart.bars[i].name, style_)));
      figures = std::max(figures, display_width(figure_of(chart.bars[i])));
    }
    const auto room = static_cast<std::size_t>(style.width);
    names_ = std::min({names_, kLongestBarName, room / 3});
    const std::size_t taken = names_ + figures + 6;
    length_ = room > taken + kShortestBar ? room - taken : kShortestBar;
  }

  std::string draw() const {
    if (count_ == 0) return "  " + style_.paint(Colour::dim, "No data") + "\n";
    std::string out;
    if (!axis_.title.empty())
      out += style_.paint(Colour::dim,
                          shorten(terminal_line(axis_.title, style_), static_cast<std::size_t>(style_.width), style_)) +
             "\n";
    for (std::size_t i = 0; i < count_; ++i) out += bar_line(chart_.bars[i]);
    for (const auto& reference : chart_.references) {
      if (!has_place(chart_.value, reference.y)) continue;
      out += style_.paint(Colour::dim,
                          shorten(fmt::format("{} {}: {}", style_.pick("┊", "|"),
                                              terminal_line(reference.label, style_), axis_.figure(reference.y)),
                                  static_cast<std::size_t>(style_.width), style_)) +
             "\n";
    }
    return out;
  }

 private:
  bool is_shown(const Bar& bar) const { return bar.value && has_place(chart_.value, *bar.value); }

  std::string figure_of(const Bar& bar) const {
    if (!is_shown(bar)) return std::string(style_.pick("–", "-"));
    return axis_.figure(*bar.value) + std::string(bar.marked ? style_.pick(" ▲", " !") : "");
  }

  /// Bars where they start at zero, else a dot at its place: see BarChart.
  std::string drawing_of(const Bar& bar) const {
    if (!is_shown(bar) || empty_) return {};
    const double place = axis_.position(*bar.value) * static_cast<double>(length_);
    const bool bars = chart_.value.from_zero && axis_.low >= 0;
    if (bars) return style_.paint(bar.marked ? Colour::yellow : Colour::blue, bar_text(place, style_));
    const auto before = static_cast<std::size_t>(std::clamp(place - 0.5, 0.0, static_cast<double>(length_ - 1)));
    std::string line;
    for (std::size_t i = 0; i < before; ++i) line += style_.pick("·", ".");
    const std::string_view mark = bar.marked ? style_.pick("○", "o") : style_.pick("●", "*");
    return style_.paint(Colour::dim, line) + style_.paint(bar.marked ? Colour::yellow : Colour::blue, mark);
  }

  std::string bar_line(const Bar& bar) const {
    return fmt::format("  {}  {} {}\n", pad_right(terminal_line(bar.name, style_), names_, style_), drawing_of(bar),
                       figure_of(bar));
  }

  const BarChart& chart_;
  const TerminalStyle& style_;
  std::size_t count_;
  AxisScale axis_;
  bool empty_ = false;
  std::size_t names_ = 1;
  std::size_t length_ = kShortestBar;
};

/// Shaded cells with their figures; columns that do not fit are counted, not squeezed.
class TextHeat {
 public:
  TextHeat(const HeatChart& chart, const TerminalStyle& style)
      : chart_(chart), style_(style), rows_(std::min(chart.rows.size(), kMostHeatRows)), extent_(extent_of(chart)) {
    const double magnitude = extent_.empty() ? 0 : std::max(std::fabs(extent_.low), std::fabs(extent_.high));
    unit_ = display_unit(chart.unit, magnitude, style.unicode);
    for (std::size_t r = 0; r < rows_; ++r)
      names_ = std::max(names_, display_width(terminal_line(chart.rows[r], style_)));
    names_ = std::min(names_, kLongestBarName);
    for (const auto& name : chart.columns)
      cell_ = std::max(cell_, std::min(display_width(terminal_line(name, style_)), std::size_t{10}));
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t c = 0; c < std::min(chart.columns.size(), kMostHeatColumns); ++c)
        cell_ = std::max(cell_, display_width(figure_at(r, c)) + 2);
    }
    const auto room = static_cast<std::size_t>(style.width);
    columns_ =
        std::min({chart.columns.size(), kMostHeatColumns, room > names_ + 4 ? (room - names_ - 4) / (cell_ + 1) : 0});
  }

  std::string draw() const {
    if (rows_ == 0 || chart_.columns.empty()) return "  " + style_.paint(Colour::dim, "No data") + "\n";
    std::string title = terminal_line(chart_.row_label, style_);
    if (!chart_.column_label.empty())
      title += " " + std::string(style_.pick("×", "x")) + " " + terminal_line(chart_.column_label, style_);
    if (!unit_.name.empty()) title += " (" + unit_.name + ")";
    const auto room = static_cast<std::size_t>(style_.width);
    std::string out = style_.paint(Colour::dim, shorten(title, room, style_)) + "\n";
    std::string names = "  " + std::string(names_ + 1, ' ');
    for (std::size_t c = 0; c < columns_; ++c)
      names += " " + pad_left(terminal_line(chart_.columns[c], style_), cell_, style_);
    out += style_.paint(Colour::dim, names) + "\n";
    for (std::size_t r = 0; r < rows_; ++r) {
      out += "  " + pad_right(terminal_line(chart_.rows[r], style_), names_, style_) + " ";
      for (std::size_t c = 0; c < columns_; ++c) out += " " + cell_text(r, c);
      out += "\n";
    }
    if (columns_ < chart_.columns.size())
      out += style_.paint(Colour::dim,
                          shorten(fmt::format("{} of {} columns fit this width.", columns_, chart_.columns.size()),
                                  room, style_)) +
             "\n";
    return out;
  }

 private:
  std::optional<double> value_at(std::size_t r, std::size_t c) const {
    if (r >= chart_.cells.size() || c >= chart_.cells[r].size()) return std::nullopt;
    const auto value = chart_.cells[r][c];
    return value && has_place(Axis{}, *value) ? value : std::nullopt;
  }

  std::string figure_at(std::size_t r, std::size_t c) const {
    const auto value = value_at(r, c);
    return value ? axis_figure(*value, unit_) : std::string(style_.pick("×", "x"));
  }

  std::string cell_text(std::size_t r, std::size_t c) const {
    constexpr std::array<std::string_view, 4> kShades = {"░", "▒", "▓", "█"};
    constexpr std::array<std::string_view, 4> kPlain = {".", ":", "+", "#"};
    const auto value = value_at(r, c);
    const std::string text = pad_left(figure_at(r, c), cell_ - 2, style_);
    if (!value) return "  " + style_.paint(Colour::dim, text);
    const double share = extent_.high > extent_.low ? (*value - extent_.low) / (extent_.high - extent_.low) : 0.5;
    const auto shade = static_cast<std::size_t>(std::clamp(share * 4, 0.0, 3.0));
    return style_.paint(Colour::blue, style_.pick(kShades[shade], kPlain[shade])) + " " + text;
  }

  const HeatChart& chart_;
  const TerminalStyle& style_;
  std::size_t rows_;
  ValueRange extent_;
  DisplayUnit unit_;
  std::size_t names_ = 1;
  std::size_t cell_ = 5;
  std::size_t columns_ = 0;
};

}  // namespace

std::string text_bars(const BarChart& chart, const TerminalStyle& style) { return TextBars(chart, style).draw(); }
std::string text_heat(const HeatChart& chart, const TerminalStyle& style) { return TextHeat(chart, style).draw(); }

}  // namespace assay
