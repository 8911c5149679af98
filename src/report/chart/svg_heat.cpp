#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/chart/chart_data.h"
#include "report/chart/palette.h"
#include "report/chart/svg_parts.h"

namespace assay {
namespace {

constexpr std::size_t kLongestRowName = 24;
constexpr std::size_t kLongestColumnName = 16;
constexpr double kRowHeight = 26;
constexpr double kNarrowestCell = 30;

class HeatDrawing {
 public:
  explicit HeatDrawing(const HeatChart& chart)
      : chart_(chart),
        rows_(std::min(chart.rows.size(), kMostHeatRows)),
        columns_(std::min(chart.columns.size(), kMostHeatColumns)),
        extent_(extent_of(chart)) {
    const double magnitude = extent_.empty() ? 0 : std::max(std::fabs(extent_.low), std::fabs(extent_.high));
    unit_ = display_unit(chart.unit, magnitude, true);
    std::size_t longest = 0;
    for (std::size_t r = 0; r < rows_; ++r) longest = std::max(longest, display_width(chart.rows[r]));
    left_ = text_width(std::min(longest, kLongestRowName)) + 10;
    const double room = (kChartWidth - left_) / std::max(1.0, static_cast<double>(columns_));
    cell_ = std::clamp(room, kNarrowestCell, 72.0);
    for (std::size_t c = 0; c < columns_; ++c)
      column_names_ = std::max(column_names_, text_width(short_name(chart.columns[c], kLongestColumnName)));
    slanted_ = column_names_ > cell_ - 6;
  }

  SvgDrawing draw() {
    const bool empty = rows_ == 0 || columns_ == 0;
    const double top = 26;
    body_.text({0, 14}, Anchor::start, "name", short_name(fmt::format("{}{}", chart_.row_label, title_unit()), 72));
    for (std::size_t r = 0; r < rows_; ++r) {
      const double y = top + static_cast<double>(r) * kRowHeight;
      body_.text({left_ - 8, y + kRowHeight / 2 + 4}, Anchor::end, "name", short_name(chart_.rows[r], kLongestRowName));
      for (std::size_t c = 0; c < columns_; ++c) draw_cell(r, c, {left_ + static_cast<double>(c) * cell_, y});
    }
    if (empty) body_.text({kChartWidth / 2, top + 20}, Anchor::middle, "", "No data");
    double below = top + std::max(1.0, static_cast<double>(rows_)) * kRowHeight;
    below = draw_column_names(below);
    const double width = std::max(kChartWidth, left_ + static_cast<double>(columns_) * cell_);
    below = draw_scale(below + 12);
    return {.body = body_.content(), .width = width, .height = std::ceil(below + 4), .description = description()};
  }

 private:
  std::string title_unit() const {
    if (unit_.name.empty()) return "";
    return chart_.row_label.empty() ? unit_.name : fmt::format(" · values in {}", unit_.name);
  }

  std::optional<double> value_at(std::size_t r, std::size_t c) const {
    if (r >= chart_.cells.size() || c >= chart_.cells[r].size()) return std::nullopt;
    const auto value = chart_.cells[r][c];
    return value && has_place(Axis{}, *value) ? value : std::nullopt;
  }

  int step_of(double value) const {
    if (extent_.high <= extent_.low) return (kHeatSteps + 1) / 2;
    const double share = (value - extent_.low) / (extent_.high - extent_.low);
    return std::clamp(static_cast<int>(share * kHeatSteps) + 1, 1, kHeatSteps);
  }

  std::string figure(double value) const { return axis_figure(value, unit_); }

  void draw_cell(std::size_t r, std::size_t c, Spot corner) {
    const auto value = value_at(r, c);
    const std::string place = fmt::format("{}, {}", short_name(chart_.rows[r], 80), short_name(chart_.columns[c], 80));
    const Spot first{corner.x + 1, corner.y + 1};
    const Spot last{corner.x + cell_ - 1, corner.y + kRowHeight - 1};
    if (!value) {
      any_missing_ = true;
      body_.rect(first, last, "frame", place + ": failed or not run");
      const Spot middle{(first.x + last.x) / 2, (first.y + last.y) / 2};
      const double arm = std::min(5.0, cell_ / 3);
      body_.line({middle.x - arm, middle.y - arm}, {middle.x + arm, middle.y + arm}, "missing");
      body_.line({middle.x - arm, middle.y + arm}, {middle.x + arm, middle.y - arm}, "missing");
      return;
    }
    const int step = step_of(*value);
    body_.rect(first, last, fmt::format("h{}", step), fmt::format("{}: {}", place, format_value(*value, chart_.unit)));
    const std::string text = figure(*value);
    if (text_width(text) <= cell_)
      body_.text({corner.x + cell_ / 2, corner.y + kRowHeight / 2 + 4}, Anchor::middle, fmt::format("on{}", step),
                 text);
  }

  double draw_column_names(double top) {
    // Slanted names stand at least this far apart, or they would lie on each other.
    const auto every = static_cast<std::size_t>(std::ceil(13 / cell_));
    for (std::size_t c = 0; c < columns_; ++c) {
      const double x = left_ + (static_cast<double>(c) + 0.5) * cell_;
      const std::string name = short_name(chart_.columns[c], kLongestColumnName);
      if (!slanted_) body_.text({x, top + 16}, Anchor::middle, "name", name);
      if (slanted_ && c % every == 0) body_.slanted_text({x + 4, top + 14}, "name", name);
    }
    const double names = slanted_ ? column_names_ * 0.65 + 16 : 20;
    body_.text({left_ + static_cast<double>(columns_) * cell_ / 2, top + names + 14}, Anchor::middle, "name",
               short_name(chart_.column_label, 72));
    return top + names + (chart_.column_label.empty() ? 0 : 18);
  }

  double draw_scale(double top) {
    constexpr double kStep = 20;
    double x = left_;
    if (!extent_.empty() && extent_.high > extent_.low) {
      body_.text({x, top + 11}, Anchor::start, "", figure(extent_.low));
      x += text_width(figure(extent_.low)) + 6;
      for (int step = 1; step <= kHeatSteps; ++step, x += kStep)
        body_.rect({x, top + 1}, {x + kStep, top + 13}, fmt::format("h{}", step));
      body_.text({x + 6, top + 11}, Anchor::start, "", figure(extent_.high));
      x += text_width(figure(extent_.high)) + 26;
    }
    if (any_missing_)
      draw_legend(body_, {{LegendEntry::Kind::missing, {}, "failed or not run"}}, x, top - 3, kChartWidth - x);
    return top + 18;
  }

  std::string description() const {
    if (extent_.empty()) return "An empty heat map: there are no data.";
    return fmt::format("Heat map of {} by {}: from {} to {}.", chart_.row_label, chart_.column_label,
                       format_value(extent_.low, chart_.unit), format_value(extent_.high, chart_.unit));
  }

  const HeatChart& chart_;
  std::size_t rows_;
  std::size_t columns_;
  ValueRange extent_;
  DisplayUnit unit_;
  double left_ = 0;
  double cell_ = 0;
  double column_names_ = 0;
  bool slanted_ = false;
  bool any_missing_ = false;
  SvgBody body_;
};

}  // namespace

SvgDrawing draw_heat(const HeatChart& chart) { return HeatDrawing(chart).draw(); }

}  // namespace assay
