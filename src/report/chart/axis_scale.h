#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/chart/chart.h"

namespace assay {

/// The values an axis has to show. Empty until something was added.
struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void add(double value);
};

/// Whether a value has a place on an axis: finite, of a size that can be reckoned with, positive where the axis is
/// logarithmic.
bool has_place(const Axis& axis, double value);

/// The unit that all figures of an axis share: what `format_value` would choose for `magnitude`.
struct DisplayUnit {
  double factor = 1;  ///< a shown figure is the value divided by this
  std::string name;   ///< "ms", "GiB", "%", "10⁶ tok/s"; empty: plain numbers
};
DisplayUnit display_unit(std::string_view unit, double magnitude, bool unicode);

/// A value in such a unit, without its name: three significant digits with their zeros, whole numbers in full.
std::string axis_figure(double value, const DisplayUnit& unit);

struct AxisTick {
  double value = 0;
  std::string label;
};

/// An axis that was fitted to data. Values between `low` and `high` are shown; both are finite, low < high.
struct AxisScale {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<AxisTick> ticks;  ///< ascending; none where there are no data
  DisplayUnit unit;
  std::string title;  ///< with the unit: "Throughput (samples/s)"

  /// 0 at the low end, 1 at the high end; what lies beyond is moved to the end.
  double position(double value) const;
  /// As `axis_figure`, with more digits where three would hide differences that the axis shows.
  std::string figure(double value) const;
};

struct AxisFit {
  std::size_t most_ticks = 6;
  double padding = 0.05;       ///< room beyond the data at either end, as a share of it
  bool unicode = true;         ///< exponents as 10⁶, else 1e6
  std::vector<double> places;  ///< few distinct values that are preferred as ticks (1, 2, 4, 8 nodes), ascending
};

AxisScale fit_axis(const Axis& axis, ValueRange data, const AxisFit& fit);

}  // namespace assay
