#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/chart/chart_data.h"
#include "report/chart/dot_canvas.h"
#include "report/chart/text_chart_parts.h"
#include "report/text/plain_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

constexpr std::size_t kRows = 12;
constexpr std::array kColours = {Colour::blue, Colour::yellow, Colour::green, Colour::cyan, Colour::red};

class TextXy {
 public:
  TextXy(const XyChart& chart, const TerminalStyle& style) : chart_(chart), style_(style) {
    const XyExtent extent = extent_of(chart);
    empty_ = extent.x.empty();
    scales_.y = fit_axis(chart.y, extent.y, {.most_ticks = 5, .padding = 0.02, .unicode = style.unicode});
    for (const auto& tick : scales_.y.ticks) margin_ = std::max(margin_, display_width(tick.label));
    for (const auto& reference : chart.references)
      after_ = std::max(after_, std::min(display_width(terminal_line(reference.label, style_)) + 1, kLongestLevel));
    const auto room = static_cast<std::size_t>(style.width);
    columns_ = room > margin_ + after_ + 12 ? room - margin_ - after_ - 2 : 10;
    scales_.x = fit_axis(chart.x, extent.x,
                         {.most_ticks = std::clamp<std::size_t>(columns_ / 10, 2, 8),
                          .padding = 0.01,
                          .unicode = style.unicode,
                          .places = extent.places});
  }

  std::string draw() {
    if (empty_) return "  " + style_.paint(Colour::dim, "No data") + "\n";
    DotCanvas canvas(columns_, kRows, style_.unicode);
    draw_levels(canvas);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_series(canvas, i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) stamp_series(canvas, i);
    std::string out;
    if (!scales_.y.title.empty())
      out += style_.paint(Colour::dim, shorten(terminal_line(scales_.y.title, style_), room(), style_)) + "\n";
    for (std::size_t row = 0; row < kRows; ++row)
      out += axis_row(row) + canvas.row(row, style_) + level_name(row, canvas) + "\n";
    out += bottom_axis();
    return out + legend();
  }

 private:
  static constexpr std::size_t kLongestLevel = 14;

  std::size_t room() const { return static_cast<std::size_t>(style_.width); }

  /// Letters tell series apart where colours do not; beyond 26 they come again.
  char letter(std::size_t i) const { return static_cast<char>('a' + i % 26); }
  Colour colour(std::size_t i) const {
    return chart_.series[i].stroke == Stroke::expected_range ? Colour::dim : kColours[i % kColours.size()];
  }

  PlotFrame frame(const DotCanvas& canvas) const {
    return {.left = 0, .top = 0, .width = canvas.dots_across() - 1.0, .height = canvas.dots_down() - 1.0};
  }

  int dot_row(double y, const DotCanvas& canvas) const {
    return static_cast<int>(std::lround((1 - scales_.y.position(y)) * (canvas.dots_down() - 1)));
  }

  std::size_t text_row(double y) const {
    return static_cast<std::size_t>(std::lround((1 - scales_.y.position(y)) * (kRows - 1)));
  }

  void draw_levels(DotCanvas& canvas) {
    for (const auto& reference : chart_.references) {
      if (!has_place(chart_.y, reference.y)) continue;
      for (int x = 0; x < canvas.dots_across(); x += style_.unicode ? 4 : 2)
        canvas.dot(x, dot_row(reference.y, canvas), Colour::dim, '-');
    }
  }

  void draw_series(DotCanvas& canvas, std::size_t i) {
    const auto& series = chart_.series[i];
    for (const auto& full : place(series, chart_, scales_, frame(canvas))) {
      const PlacedRun run = thin_out(full);
      for (std::size_t p = 0; p < run.size(); ++p) {
        const int x = static_cast<int>(std::lround(run[p].x));
        const int y = static_cast<int>(std::lround(run[p].y));
        if (series.stroke == Stroke::expected_range) {
          canvas.dot(x, static_cast<int>(std::lround(run[p].range->first)), colour(i), letter(i));
          canvas.dot(x, static_cast<int>(std::lround(run[p].range->second)), colour(i), letter(i));
          continue;
        }
        if (p == 0 || series.stroke == Stroke::points) {
          canvas.dot(x, y, colour(i), letter(i));
          continue;
        }
        connect(canvas, i, run[p - 1], run[p]);
      }
    }
  }

  void connect(DotCanvas& canvas, std::size_t i, const PlacedPoint& from, const PlacedPoint& to) {
    const int x0 = static_cast<int>(std::lround(from.x));
    const int y0 = static_cast<int>(std::lround(from.y));
    const int x1 = static_cast<int>(std::lround(to.x));
    const int y1 = static_cast<int>(std::lround(to.y));
    if (chart_.series[i].stroke == Stroke::steps) {
      canvas.line(x0, y0, x1, y0, colour(i), letter(i));
      canvas.line(x1, y0, x1, y1, colour(i), letter(i));
    } else if (chart_.series[i].stroke == Stroke::dashed) {
      // Every third dot: it is no measurement, and must not look like one.
      const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
      for (int s = 0; s <= steps; s += 3)
        canvas.dot(x0 + (x1 - x0) * s / steps, y0 + (y1 - y0) * s / steps, colour(i), letter(i));
    } else {
      canvas.line(x0, y0, x1, y1, colour(i), letter(i));
    }
  }

  /// Flagged points as rings, and the letter of the series at its end.
  void stamp_series(DotCanvas& canvas, std::size_t i) {
    const auto& series = chart_.series[i];
    const auto runs = place(series, chart_, scales_, frame(canvas));
    for (const auto& run : runs) {
      for (const auto& placed : run) {
        if (!placed.point->marked) continue;
        any_marked_ = true;
        canvas.stamp(static_cast<int>(std::lround(placed.x)), static_cast<int>(std::lround(placed.y)), colour(i),
                     std::string(style_.pick("○", "o")));
      }
    }
    if (runs.empty() || chart_.series.size() < 2) return;
    const auto& last = runs.back().back();
    if (last.point->marked) return;
    const double y = series.stroke == Stroke::expected_range ? last.range->second : last.y;
    canvas.stamp(static_cast<int>(std::lround(last.x)), static_cast<int>(std::lround(y)), colour(i),
                 std::string(1, letter(i)));
  }

  std::string axis_row(std::size_t row) const {
    for (const auto& tick : scales_.y.ticks) {
      if (text_row(tick.value) == row)
        return style_.paint(Colour::dim, pad_left(tick.label, margin_, style_)) + std::string(style_.pick(" ┤", " +"));
    }
    return std::string(margin_, ' ') + std::string(style_.pick(" │", " |"));
  }

  /// At the right of the canvas; the row must be filled up to there.
  std::string level_name(std::size_t row, const DotCanvas& canvas) const {
    for (const auto& reference : chart_.references) {
      if (!has_place(chart_.y, reference.y) || text_row(reference.y) != row) continue;
      TerminalStyle plain = style_;
      plain.colour = false;
      const std::size_t used = display_width(canvas.row(row, plain));
      return std::string(columns_ - std::min(columns_, used), ' ') + " " +
             style_.paint(Colour::dim, shorten(terminal_line(reference.label, style_), kLongestLevel - 1, style_));
    }
    return {};
  }

  std::string bottom_axis() const {
    std::vector<bool> at(columns_, false);
    std::vector<std::string> cells(margin_ + 2 + columns_, " ");
    std::size_t free_from = 0;
    for (const auto& tick : scales_.x.ticks) {
      const auto column =
          static_cast<std::size_t>(std::lround(scales_.x.position(tick.value) * static_cast<double>(columns_ - 1)));
      at[column] = true;
      // Every character of a label is one column wide.
      const auto label = characters(tick.label);
      const std::size_t middle = margin_ + 2 + column;
      if (label.size() > cells.size()) continue;
      const std::size_t from = std::min(middle - std::min(middle, label.size() / 2), cells.size() - label.size());
      if (from < free_from) continue;
      std::copy(label.begin(), label.end(), cells.begin() + static_cast<std::ptrdiff_t>(from));
      free_from = from + label.size() + 1;
    }
    std::string line = std::string(margin_ + 1, ' ') + std::string(style_.pick("└", "+"));
    for (const bool tick : at) line += tick ? style_.pick("┴", "+") : style_.pick("─", "-");
    std::string labels = join(cells, "");
    labels.erase(labels.find_last_not_of(' ') + 1);
    std::string out = line + "\n" + style_.paint(Colour::dim, labels) + "\n";
    if (scales_.x.title.empty()) return out;
    const std::string title = shorten(terminal_line(scales_.x.title, style_), columns_, style_);
    const std::size_t indent = margin_ + 2 + (columns_ - std::min(columns_, display_width(title))) / 2;
    return out + std::string(indent, ' ') + style_.paint(Colour::dim, title) + "\n";
  }

  std::string legend() const {
    std::string out;
    std::string line;
    std::size_t used = 0;
    const auto add = [&](const std::string& sign, Colour shade, std::string_view name) {
      const std::string label = shorten(terminal_line(name, style_), room() > 8 ? room() - 6 : 2, style_);
      const std::size_t width = 5 + display_width(label);
      if (used && used + width > room()) {
        out += line + "\n";
        line.clear();
        used = 0;
      }
      line += (used ? "   " : "  ") + style_.paint(shade, sign) + " " + label;
      used += width;
    };
    if (chart_.series.size() > 1) {
      for (std::size_t i = 0; i < chart_.series.size(); ++i)
        add(std::string(1, letter(i)), colour(i), chart_.series[i].name);
    }
    if (any_marked_) add(std::string(style_.pick("○", "o")), Colour::plain, "flagged or invalid");
    return line.empty() ? out : out + line + "\n";
  }

  const XyChart& chart_;
  const TerminalStyle& style_;
  bool empty_ = false;
  bool any_marked_ = false;
  XyScales scales_;
  std::size_t margin_ = 1;
  std::size_t after_ = 0;
  std::size_t columns_ = 0;
};

}  // namespace

std::string text_xy(const XyChart& chart, const TerminalStyle& style) { return TextXy(chart, style).draw(); }

}  // namespace assay
