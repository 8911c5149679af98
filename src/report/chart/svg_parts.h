#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart/chart.h"

namespace assay {

// What all kinds of charts are drawn with. Coordinates are pixels of the viewBox, y downwards; colours are classes of
// palette.h. Texts are escaped here; classes and anchors are ours.

inline constexpr double kChartWidth = 520;

struct Spot {
  double x = 0;
  double y = 0;
};

enum class Anchor { start, middle, end };

/// At most one decimal, no locale, never "-0".
std::string svg_number(double value);
/// Roughly the pixels that a text takes; fonts differ, so this is generous.
double text_width(std::string_view text);
/// The same for a text of so many columns.
double text_width(std::size_t columns);
/// A name of at most `columns` columns; longer ones end with an ellipsis.
std::string short_name(std::string_view name, std::size_t columns);

/// How a series is told from the others.
struct SeriesLook {
  std::string colour;  ///< a class: "s1" or "neutral"
  int shape = 0;       ///< of its marks, see SvgBody::mark
  std::string dash;    ///< stroke-dasharray; empty: solid
};
/// Measured series are solid and coloured; ideals and fits are dashed and grey.
std::vector<SeriesLook> looks_of(const std::vector<ChartSeries>& series);

class SvgBody {
 public:
  void line(Spot from, Spot to, std::string_view classes, std::string_view dash = {});
  /// Between two opposite corners.
  void rect(Spot corner, Spot opposite, std::string_view classes, std::string_view tooltip = {});
  void path(std::string_view data, std::string_view classes, std::string_view dash = {});
  void text(Spot at, Anchor anchor, std::string_view classes, std::string_view content);
  /// Slanted, ending at the spot.
  void slanted_text(Spot end, std::string_view classes, std::string_view content);
  /// One of eight shapes around a spot.
  void mark(int shape, Spot at, std::string_view classes, std::string_view tooltip = {});
  /// An unseen spot of a curve that tells its value to who points at it, and shows itself then.
  void hover_spot(Spot at, std::string_view colour, std::string_view tooltip);
  /// A vertical or horizontal line with short ends.
  void whisker(Spot from, Spot to, std::string_view classes);

  const std::string& content() const { return content_; }

 private:
  std::string content_;
};

struct LegendEntry {
  enum class Kind { line, mark, line_and_mark, band, level, hollow, missing };
  Kind kind = Kind::line;
  SeriesLook look;
  std::string name;
};
/// Draws entries in as many lines as they need from `top` on; gives the height that took.
double draw_legend(SvgBody& body, const std::vector<LegendEntry>& entries, double left, double top, double width);

/// A finished drawing and what to call it for those who cannot see it.
struct SvgDrawing {
  std::string body;
  double width = kChartWidth;
  double height = 0;
  std::string description;
};
/// A drawing as a file of its own, as `svg_file` of svg.h makes one of a chart.
std::string svg_file(const std::string& title, const SvgDrawing& drawing);
SvgDrawing draw_xy(const XyChart& chart);
SvgDrawing draw_bars(const BarChart& chart);
SvgDrawing draw_heat(const HeatChart& chart);

}  // namespace assay
