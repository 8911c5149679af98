#include "report/chart/chart_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace assay {
namespace {

constexpr std::size_t kFewPoints = 30;
constexpr std::size_t kFewPlaces = 12;

bool is_drawn(const ChartSeries& series, const XyChart& chart, const ChartPoint& point) {
  if (!has_place(chart.x, point.x)) return false;
  if (series.stroke != Stroke::expected_range) return has_place(chart.y, point.y);
  return point.range && has_place(chart.y, point.range->second) && std::isfinite(point.range->first);
}

void add_if_placed(ValueRange& range, const Axis& axis, double value) {
  if (has_place(axis, value)) range.add(value);
}

template <typename Range>
void add_ends(ValueRange& into, const Axis& axis, const Range& range) {
  if (!range) return;
  add_if_placed(into, axis, range->first);
  add_if_placed(into, axis, range->second);
}

bool not_positive(const Axis& axis, double value) {
  return axis.logarithmic && std::isfinite(value) && !has_place(axis, value) && value < 1;
}

std::string left_out_note(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{} at or below zero {} left out: the axis is logarithmic.", count, what,
                     count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

void add_notes(const XyChart& chart, std::vector<std::string>& notes) {
  std::size_t left_out = 0;
  for (const auto& series : chart.series) {
    for (const auto& point : series.points) {
      const bool band = series.stroke == Stroke::expected_range;
      const double y = band && point.range ? point.range->second : point.y;
      if (not_positive(chart.x, point.x) || not_positive(chart.y, y)) ++left_out;
    }
  }
  if (left_out) notes.push_back(left_out_note(left_out, "point"));
}

void add_notes(const BarChart& chart, std::vector<std::string>& notes) {
  const auto left_out = std::count_if(chart.bars.begin(), chart.bars.end(), [&](const Bar& bar) {
    return bar.value && not_positive(chart.value, *bar.value);
  });
  if (left_out) notes.push_back(left_out_note(static_cast<std::size_t>(left_out), "value"));
  if (chart.bars.size() > kMostBars)
    notes.push_back(fmt::format("The first {} of {} are shown.", kMostBars, chart.bars.size()));
}

void add_notes(const HeatChart& chart, std::vector<std::string>& notes) {
  if (chart.rows.size() > kMostHeatRows || chart.columns.size() > kMostHeatColumns) {
    notes.push_back(
        fmt::format("The first {} × {} of {} × {} cells are shown.", std::min(chart.rows.size(), kMostHeatRows),
                    std::min(chart.columns.size(), kMostHeatColumns), chart.rows.size(), chart.columns.size()));
  }
}

PlacedPoint place_point(const ChartPoint& point, const XyChart& chart, const XyScales& scales, const PlotFrame& frame) {
  const auto down = [&](double y) { return frame.bottom() - scales.y.position(y) * frame.height; };
  PlacedPoint placed{
      .x = frame.left + scales.x.position(point.x) * frame.width, .y = down(point.y), .range = {}, .point = &point};
  if (point.range && has_place(chart.y, point.range->second) && !std::isnan(point.range->first)) {
    // A lower end that a logarithmic axis cannot show lies below whatever it shows.
    const double low = has_place(chart.y, point.range->first) ? down(point.range->first) : frame.bottom();
    placed.range = std::pair(low, down(point.range->second));
  }
  return placed;
}

/// One column's points: first, lowest, highest and last, in their order.
void append_column(const PlacedRun& run, std::size_t from, std::size_t to, PlacedRun& out) {
  std::size_t lowest = from;
  std::size_t highest = from;
  std::optional<std::pair<double, double>> widest;
  for (std::size_t i = from; i < to; ++i) {
    if (run[i].y > run[lowest].y) lowest = i;
    if (run[i].y < run[highest].y) highest = i;
    if (!run[i].range) continue;
    if (!widest) widest = run[i].range;
    widest = std::pair(std::max(widest->first, run[i].range->first), std::min(widest->second, run[i].range->second));
  }
  for (const std::size_t i : std::set<std::size_t>{from, lowest, highest, to - 1}) {
    out.push_back(run[i]);
    out.back().range = widest;
  }
}

}  // namespace

XyExtent extent_of(const XyChart& chart) {
  XyExtent extent;
  std::set<double> places;
  for (const auto& series : chart.series) {
    for (const auto& point : series.points) {
      if (!is_drawn(series, chart, point)) continue;
      extent.x.add(point.x);
      if (series.stroke != Stroke::expected_range) extent.y.add(point.y);
      add_ends(extent.y, chart.y, point.range);
      if (places.size() <= kFewPlaces) places.insert(point.x);
    }
  }
  for (const auto& reference : chart.references) {
    if (!extent.y.empty()) add_if_placed(extent.y, chart.y, reference.y);
  }
  if (places.size() <= kFewPlaces) extent.places.assign(places.begin(), places.end());
  return extent;
}

ValueRange extent_of(const BarChart& chart) {
  ValueRange extent;
  for (std::size_t i = 0; i < std::min(chart.bars.size(), kMostBars); ++i) {
    if (!chart.bars[i].value || !has_place(chart.value, *chart.bars[i].value)) continue;
    extent.add(*chart.bars[i].value);
    add_ends(extent, chart.value, chart.bars[i].range);
  }
  if (extent.empty()) return extent;
  for (const auto& reference : chart.references) add_if_placed(extent, chart.value, reference.y);
  add_ends(extent, chart.value, chart.band);
  return extent;
}

ValueRange extent_of(const HeatChart& chart) {
  ValueRange extent;
  for (std::size_t r = 0; r < std::min({chart.rows.size(), chart.cells.size(), kMostHeatRows}); ++r) {
    const auto& row = chart.cells[r];
    for (std::size_t c = 0; c < std::min({chart.columns.size(), row.size(), kMostHeatColumns}); ++c) {
      if (row[c]) add_if_placed(extent, Axis{}, *row[c]);
    }
  }
  return extent;
}

std::vector<std::string> chart_notes(const ChartBlock& block) {
  std::vector<std::string> notes;
  std::visit([&](const auto& chart) { add_notes(chart, notes); }, block.chart);
  return notes;
}

std::vector<PlacedRun> place(const ChartSeries& series, const XyChart& chart, const XyScales& scales,
                             const PlotFrame& frame) {
  std::vector<const ChartPoint*> ordered;
  ordered.reserve(series.points.size());
  for (const auto& point : series.points) ordered.push_back(&point);
  const auto by_x = [](const ChartPoint* a, const ChartPoint* b) { return a->x < b->x; };
  // NaN has no order; gaps are where they were given, so such a series is taken as it is.
  const bool ordinary =
      std::none_of(ordered.begin(), ordered.end(), [](const auto* point) { return std::isnan(point->x); });
  if (ordinary && !series.turns_back) std::stable_sort(ordered.begin(), ordered.end(), by_x);
  std::vector<PlacedRun> runs(1);
  for (const auto* point : ordered) {
    if (is_drawn(series, chart, *point)) {
      runs.back().push_back(place_point(*point, chart, scales, frame));
    } else if (!runs.back().empty()) {
      runs.emplace_back();
    }
  }
  if (runs.back().empty()) runs.pop_back();
  return runs;
}

PlacedRun thin_out(const PlacedRun& run) {
  PlacedRun thin;
  for (std::size_t from = 0; from < run.size();) {
    std::size_t to = from + 1;
    while (to < run.size() && std::floor(run[to].x) == std::floor(run[from].x)) ++to;
    if (to - from <= 4) {
      thin.insert(thin.end(), run.begin() + static_cast<std::ptrdiff_t>(from),
                  run.begin() + static_cast<std::ptrdiff_t>(to));
    } else {
      append_column(run, from, to, thin);
    }
    from = to;
  }
  return thin;
}

std::vector<PlacedPoint> points_to_mark(const std::vector<PlacedRun>& runs, Stroke stroke, bool sparse) {
  std::size_t count = 0;
  for (const auto& run : runs) count += run.size();
  const bool all = stroke == Stroke::points || (stroke == Stroke::line && count <= kFewPoints);
  const std::size_t every = std::max<std::size_t>(count / 6, 1);
  std::vector<PlacedPoint> chosen;
  // A mark within a fraction of another cannot be told from it: at most one of each kind per cell of two units.
  std::set<std::pair<long, long>> taken[2];
  std::size_t index = 0;
  for (const auto& run : runs) {
    for (const auto& placed : run) {
      const bool due = sparse && (stroke == Stroke::line || stroke == Stroke::steps) && index % every == every / 2;
      ++index;
      if (!all && !due && !placed.point->marked) continue;
      const std::pair cell(std::lround(placed.x / 2), std::lround(placed.y / 2));
      if (taken[placed.point->marked ? 1 : 0].insert(cell).second) chosen.push_back(placed);
    }
  }
  return chosen;
}

}  // namespace assay
