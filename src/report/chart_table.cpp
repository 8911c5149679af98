#include "report/chart_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/chart/axis_scale.h"
#include "report/chart/chart_data.h"
#include "report/document.h"

namespace assay {
namespace {

constexpr std::size_t kMostPoints = 12;
constexpr std::size_t kMostSeries = 12;

Figure figure(double value, const DisplayUnit& unit) {
  return std::isfinite(value) ? Figure(axis_figure(value, unit)) : Figure();
}

std::string with_unit(const std::string& label, const DisplayUnit& unit) {
  return unit.name.empty() ? label : label.empty() ? unit.name : fmt::format("{} ({})", label, unit.name);
}

DisplayUnit unit_of(const Axis& axis, const ValueRange& range) { return fit_axis(axis, range, {}).unit; }

Figure point_figure(const ChartSeries& series, double x, const DisplayUnit& unit) {
  for (const auto& point : series.points) {
    if (point.x != x) continue;
    if (series.stroke != Stroke::expected_range) {
      Figure shown = figure(point.y, unit);
      if (point.marked && !shown.text.empty()) shown.text += " (flagged)";
      return shown;
    }
    if (!point.range) return {};
    return Figure(
        fmt::format("{} to {}", figure(point.range->first, unit).text, figure(point.range->second, unit).text));
  }
  return {};
}

std::optional<FigureTable> table_of(const XyChart& chart) {
  std::set<double> places;
  for (const auto& series : chart.series) {
    if (series.points.size() > kMostPoints) return std::nullopt;
    for (const auto& point : series.points) {
      if (std::isfinite(point.x)) places.insert(point.x);
    }
  }
  if (places.empty() || places.size() > 2 * kMostPoints || chart.series.size() > kMostSeries) return std::nullopt;
  const XyExtent extent = extent_of(chart);
  const DisplayUnit x_unit = unit_of(chart.x, extent.x);
  const DisplayUnit y_unit = unit_of(chart.y, extent.y);
  FigureTable table;
  table.columns.push_back({.key = "x", .title = with_unit(chart.x.label, x_unit), .unit = "", .align = Align::right});
  for (const auto& series : chart.series)
    table.columns.push_back(
        {.key = series.name, .title = with_unit(series.name, y_unit), .unit = "", .align = Align::right});
  for (const double x : places) {
    std::vector<Figure> row = {figure(x, x_unit)};
    for (const auto& series : chart.series) row.push_back(point_figure(series, x, y_unit));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::optional<FigureTable> table_of(const BarChart& chart) {
  if (chart.bars.empty() || chart.bars.size() > kMostPoints) return std::nullopt;
  const DisplayUnit unit = unit_of(chart.value, extent_of(chart));
  FigureTable table;
  table.columns.push_back({.key = "name", .title = "Name", .unit = ""});
  table.columns.push_back(
      {.key = "value", .title = with_unit(chart.value.label, unit), .unit = "", .align = Align::right});
  for (const auto& bar : chart.bars) {
    Figure value = bar.value ? figure(*bar.value, unit) : Figure();
    if (bar.marked && !value.text.empty()) value.text += " (flagged)";
    table.rows.push_back({Figure(bar.name), std::move(value)});
  }
  return table;
}

std::optional<FigureTable> table_of(const HeatChart& chart) {
  if (chart.rows.empty() || chart.columns.empty()) return std::nullopt;
  if (chart.rows.size() > kMostPoints || chart.columns.size() > kMostPoints) return std::nullopt;
  const ValueRange extent = extent_of(chart);
  const double magnitude = extent.empty() ? 0 : std::max(std::fabs(extent.low), std::fabs(extent.high));
  const DisplayUnit unit = display_unit(chart.unit, magnitude, true);
  FigureTable table;
  std::string corner = with_unit(chart.row_label, unit);
  if (!chart.column_label.empty()) corner += " \\ " + chart.column_label;
  table.columns.push_back({.key = "row", .title = std::move(corner), .unit = ""});
  for (const auto& name : chart.columns)
    table.columns.push_back({.key = name, .title = name, .unit = "", .align = Align::right});
  for (std::size_t r = 0; r < chart.rows.size(); ++r) {
    std::vector<Figure> row = {Figure(chart.rows[r])};
    for (std::size_t c = 0; c < chart.columns.size(); ++c) {
      const bool known = r < chart.cells.size() && c < chart.cells[r].size() && chart.cells[r][c];
      row.push_back(known ? figure(*chart.cells[r][c], unit) : Figure());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::optional<FigureTable> chart_table(const ChartBlock& block) {
  return std::visit([](const auto& chart) { return table_of(chart); }, block.chart);
}

}  // namespace assay
