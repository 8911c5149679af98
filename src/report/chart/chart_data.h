#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/chart/axis_scale.h"
#include "report/chart/chart.h"

namespace assay {

// What drawing a chart needs to know of its data, whether it becomes SVG or text.

/// Charts stay bounded: a report with more bars or cells says so and shows the first.
inline constexpr std::size_t kMostBars = 400;
inline constexpr std::size_t kMostHeatRows = 64;
inline constexpr std::size_t kMostHeatColumns = 48;

/// What the axes of a chart have to cover.
struct XyExtent {
  ValueRange x;
  ValueRange y;
  std::vector<double> places;  ///< the distinct x where there are few, ascending; else empty
};
XyExtent extent_of(const XyChart& chart);
ValueRange extent_of(const BarChart& chart);
/// Of the cells that are shown.
ValueRange extent_of(const HeatChart& chart);

/// Sentences on what the data hold and the drawing does not: values that a logarithmic axis cannot show, bars and cells
/// beyond the bound. Empty for most charts.
std::vector<std::string> chart_notes(const ChartBlock& block);

/// Where the data go: x grows to the right, y downwards.
struct PlotFrame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct PlacedPoint {
  double x = 0;
  double y = 0;
  std::optional<std::pair<double, double>> range;  ///< the lower and the upper end, in the frame
  const ChartPoint* point = nullptr;
};
/// Points without a gap between them.
using PlacedRun = std::vector<PlacedPoint>;

struct XyScales {
  AxisScale x;
  AxisScale y;
};

/// Puts a series into the frame; points that have no place on the axes end a run. The runs point into `series`.
std::vector<PlacedRun> place(const ChartSeries& series, const XyChart& chart, const XyScales& scales,
                             const PlotFrame& frame);

/// What can be seen of a run: where several points share a column of one unit of the frame, the first, the lowest, the
/// highest and the last of them, and the widest range.
PlacedRun thin_out(const PlacedRun& run);

/// The points that get a mark: all while there are few; of many, those that need one (`marked`) and, where `sparse`,
/// about six more to tell the curve by. Marks that would hide each other are left out.
std::vector<PlacedPoint> points_to_mark(const std::vector<PlacedRun>& runs, Stroke stroke, bool sparse);

}  // namespace assay
