#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace assay {

// What a chart shows, without how: it is drawn as SVG (svg.h) and as text for the terminal (text_chart.h).

struct Axis {
  std::string label;  ///< "Throughput"
  std::string unit;   ///< as `format_value` takes it: "s", "samples/s", "ratio"; empty: plain numbers
  bool logarithmic = false;
  bool from_zero = false;  ///< bars and efficiencies mislead when they start elsewhere
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<std::pair<double, double>> range;  ///< whiskers: an interval of y
  bool marked = false;                             ///< flagged or invalid: drawn hollow, and never without its mark
};

enum class Stroke {
  line,            ///< with a mark at each point while there are few
  dashed,          ///< a limit, an ideal, a fit: not measured
  points,          ///< marks alone
  steps,           ///< a distribution function
  expected_range,  ///< a filled band: `range` of each point
};

struct ChartSeries {
  std::string name;
  Stroke stroke = Stroke::line;
  std::vector<ChartPoint> points;  ///< non-finite ones leave a gap
  bool turns_back = false;         ///< joined in the order in which they stand, else by x
};

/// A level to hold values against: "75 %".
struct ReferenceLine {
  std::string label;
  double y = 0;
};

struct XyChart {
  Axis x;
  Axis y;
  std::vector<ChartSeries> series;
  std::vector<ReferenceLine> references;
};

struct Bar {
  std::string name;
  std::optional<double> value;  ///< none: an empty place with a dash
  std::optional<std::pair<double, double>> range;
  bool marked = false;
};

/// The length of a bar is its value, so bars are drawn where `value.from_zero` is set; else dots on an axis that fits.
struct BarChart {
  Axis value;
  std::vector<Bar> bars;
  std::vector<ReferenceLine> references;
  std::optional<std::pair<double, double>> band;  ///< a tolerance, shaded
};

struct HeatChart {
  std::string row_label;
  std::string column_label;
  std::string unit;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> cells;  ///< [row][column]; none: failed or not run
};

struct ChartBlock {
  std::string id;  ///< "speedup"; unique in its document
  std::string title;
  std::string caption;  ///< may be empty
  std::variant<XyChart, BarChart, HeatChart> chart;
  bool in_terminal = true;  ///< false: too much beside what the tables say already
};

}  // namespace assay
