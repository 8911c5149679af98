#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/chart/chart_data.h"
#include "report/chart/svg_parts.h"

namespace assay {
namespace {

constexpr double kPlotHeight = 225;
constexpr double kTop = 30;
constexpr std::size_t kMostTooltips = 400;
/// On all curves of a chart together; each is some hundred bytes.
constexpr std::size_t kMostHoverSpots = 240;
constexpr std::size_t kLongestLevelName = 16;

bool has_short_name(const ReferenceLine& reference) { return display_width(reference.label) <= kLongestLevelName; }

/// Draws one chart into `body_`; what stands where is settled in the constructor.
class XyDrawing {
 public:
  explicit XyDrawing(const XyChart& chart) : chart_(chart), looks_(looks_of(chart.series)) {
    const XyExtent extent = extent_of(chart);
    empty_ = extent.x.empty();
    scales_.x = fit_axis(chart.x, extent.x, {.most_ticks = 8, .padding = 0.03, .places = extent.places});
    scales_.y = fit_axis(chart.y, extent.y, {.most_ticks = 6, .padding = 0.06});
    double left = 12;
    for (const auto& tick : scales_.y.ticks) left = std::max(left, text_width(tick.label) + 12);
    double right = 14;
    for (const auto& reference : chart.references) {
      if (has_short_name(reference)) right = std::max(right, text_width(reference.label) + 10);
    }
    frame_ = {.left = left, .top = kTop, .width = kChartWidth - left - right, .height = kPlotHeight};
    for (const auto& series : chart.series) runs_.push_back(place(series, chart, scales_, frame_));
  }

  SvgDrawing draw() {
    draw_bands();
    draw_axes();
    draw_levels();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_curve(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_marks(i);
    for (std::size_t i = 0; i < chart_.series.size(); ++i) draw_hover_spots(i);
    if (empty_) {
      body_.text({frame_.left + frame_.width / 2, frame_.top + frame_.height / 2}, Anchor::middle, "", "No data");
    }
    const double below = frame_.bottom() + 46;
    const double legend = draw_legend(body_, legend_entries(), frame_.left, below, kChartWidth - frame_.left);
    return {.body = body_.content(), .height = std::ceil(below + legend + 4), .description = description()};
  }

 private:
  void draw_axes() {
    for (const auto& tick : scales_.y.ticks) {
      const double y = frame_.bottom() - scales_.y.position(tick.value) * frame_.height;
      body_.line({frame_.left, y}, {frame_.right(), y}, "grid");
      body_.text({frame_.left - 7, y + 4}, Anchor::end, "", tick.label);
    }
    body_.line({frame_.left, frame_.bottom()}, {frame_.right(), frame_.bottom()}, "axis");
    double free_from = 0;
    for (const auto& tick : scales_.x.ticks) {
      const double x = frame_.left + scales_.x.position(tick.value) * frame_.width;
      body_.line({x, frame_.bottom()}, {x, frame_.bottom() + 5}, "axis");
      const double half = text_width(tick.label) / 2;
      if (x - half < free_from) continue;
      // The last label would stick out of the picture.
      body_.text({std::min(x, kChartWidth - half), frame_.bottom() + 19}, Anchor::middle, "", tick.label);
      free_from = x + half + 6;
    }
    body_.text({0, 14}, Anchor::start, "name", short_name(scales_.y.title, 72));
    body_.text({frame_.left + frame_.width / 2, frame_.bottom() + 38}, Anchor::middle, "name",
               short_name(scales_.x.title, 72));
  }

  void draw_bands() {
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].stroke != Stroke::expected_range) continue;
      for (const auto& run : runs_[i]) {
        std::string upper;
        std::string lower;
        for (const auto& placed : thin_out(run)) {
          upper +=
              fmt::format("{}{} {}", upper.empty() ? 'M' : 'L', svg_number(placed.x), svg_number(placed.range->second));
          lower.insert(0, fmt::format("L{} {}", svg_number(placed.x), svg_number(placed.range->first)));
        }
        body_.path(upper + lower + "Z", "band");
      }
    }
  }

  void draw_levels() {
    std::vector<std::pair<double, std::string>> names;
    for (std::size_t i = 0; i < chart_.references.size(); ++i) {
      const auto& reference = chart_.references[i];
      if (empty_ || !has_place(chart_.y, reference.y)) continue;
      const double y = frame_.bottom() - scales_.y.position(reference.y) * frame_.height;
      body_.line({frame_.left, y}, {frame_.right(), y}, "level", level_dash(i));
      if (has_short_name(reference)) names.emplace_back(y, reference.label);
    }
    std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double lowest = 0;
    for (const auto& [y, name] : names) {
      const double at = std::max(y + 4, lowest);
      body_.text({frame_.right() + 6, at}, Anchor::start, "level-name", name);
      lowest = at + 14;
    }
  }

  static std::string_view level_dash(std::size_t index) { return index % 2 == 0 ? "5 3" : "2 2"; }

  void draw_curve(std::size_t i) {
    const auto& series = chart_.series[i];
    if (series.stroke == Stroke::points || series.stroke == Stroke::expected_range) return;
    const std::string classes = (series.stroke == Stroke::dashed ? "line thin " : "line ") + looks_[i].colour;
    for (const auto& run : runs_[i]) {
      std::string data;
      for (const auto& placed : thin_out(run)) {
        if (data.empty()) {
          data = fmt::format("M{} {}", svg_number(placed.x), svg_number(placed.y));
        } else if (series.stroke == Stroke::steps) {
          data += fmt::format("H{}V{}", svg_number(placed.x), svg_number(placed.y));
        } else {
          data += fmt::format("L{} {}", svg_number(placed.x), svg_number(placed.y));
        }
      }
      body_.path(data, classes, looks_[i].dash);
    }
  }

  bool is_sparse() const {
    const auto curves = std::count_if(chart_.series.begin(), chart_.series.end(), [](const ChartSeries& series) {
      return series.stroke == Stroke::line || series.stroke == Stroke::steps;
    });
    return curves > 1;
  }

  void draw_marks(std::size_t i) {
    const auto& series = chart_.series[i];
    if (series.stroke == Stroke::expected_range) return;
    for (const auto& run : runs_[i]) {
      for (const auto& placed : thin_out(run)) {
        if (placed.range)
          body_.whisker({placed.x, placed.range->first}, {placed.x, placed.range->second},
                        "whisker " + looks_[i].colour);
      }
    }
    const auto marks = points_to_mark(runs_[i], series.stroke, is_sparse());
    const bool crowded = marks.size() > kMostTooltips;
    // A cloud of points is one path of small round dots: a tenth of the bytes, and easier to see through.
    std::string cloud;
    for (const auto& placed : marks) {
      if (crowded && !placed.point->marked)
        cloud += fmt::format("M{} {}h0", svg_number(placed.x), svg_number(placed.y));
    }
    if (!cloud.empty()) body_.path(cloud, "cloud " + looks_[i].colour);
    for (const auto& placed : marks) {
      if (crowded && !placed.point->marked) continue;
      const std::string classes = (placed.point->marked ? "hollow " : "dot ") + looks_[i].colour;
      body_.mark(looks_[i].shape, {placed.x, placed.y}, classes,
                 crowded ? std::string() : tooltip(series, *placed.point));
    }
  }

  /// Marks stand on few points of a long curve: values in between are told on pointing at them.
  void draw_hover_spots(std::size_t i) {
    const auto& series = chart_.series[i];
    if (series.stroke != Stroke::line && series.stroke != Stroke::steps) return;
    std::size_t points = 0;
    for (const auto& run : runs_[i]) points += run.size();
    if (points_to_mark(runs_[i], series.stroke, is_sparse()).size() >= points) return;
    const std::size_t most = std::max<std::size_t>(1, kMostHoverSpots / std::max<std::size_t>(1, runs_.size()));
    for (const auto& run : runs_[i]) {
      const auto shown = thin_out(run);
      const std::size_t stride = std::max<std::size_t>(1, (shown.size() + most - 1) / most);
      for (std::size_t k = 0; k < shown.size(); k += stride) {
        const auto& placed = shown[k];
        body_.hover_spot({placed.x, placed.y}, looks_[i].colour, tooltip(series, *placed.point));
      }
    }
  }

  std::string tooltip(const ChartSeries& series, const ChartPoint& point) const {
    std::string text = fmt::format("{}: {}, {}", short_name(series.name, 80), format_value(point.x, chart_.x.unit),
                                   format_value(point.y, chart_.y.unit));
    if (point.range) {
      text += fmt::format(" ({} to {})", format_value(point.range->first, chart_.y.unit),
                          format_value(point.range->second, chart_.y.unit));
    }
    return point.marked ? text + ", flagged" : text;
  }

  std::vector<LegendEntry> legend_entries() const {
    using Kind = LegendEntry::Kind;
    std::vector<LegendEntry> entries;
    const SeriesLook* flagged = nullptr;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const auto& series = chart_.series[i];
      const bool marks =
          series.stroke != Stroke::expected_range && !points_to_mark(runs_[i], series.stroke, is_sparse()).empty();
      Kind kind = marks ? Kind::line_and_mark : Kind::line;
      if (series.stroke == Stroke::points) kind = Kind::mark;
      if (series.stroke == Stroke::expected_range) kind = Kind::band;
      entries.push_back({kind, looks_[i], series.name});
      for (const auto& point : series.points) {
        if (point.marked && !flagged) flagged = &looks_[i];
      }
    }
    for (std::size_t i = 0; i < chart_.references.size(); ++i) {
      if (has_short_name(chart_.references[i])) continue;
      entries.push_back({Kind::level, {.dash = std::string(level_dash(i))}, chart_.references[i].label});
    }
    if (flagged) entries.push_back({Kind::hollow, *flagged, "flagged or invalid"});
    // One curve needs no name beside the title.
    if (entries.size() == 1) entries.clear();
    return entries;
  }

  std::string description() const {
    if (empty_) return "An empty chart: there are no data.";
    std::string text = fmt::format("{} over {}.", scales_.y.title, scales_.x.title);
    for (const auto& series : chart_.series) text += fmt::format(" {}: {} points.", series.name, series.points.size());
    for (const auto& reference : chart_.references)
      text += fmt::format(" Line at {}: {}.", format_value(reference.y, chart_.y.unit), reference.label);
    return text;
  }

  const XyChart& chart_;
  std::vector<SeriesLook> looks_;
  bool empty_ = false;
  XyScales scales_;
  PlotFrame frame_;
  std::vector<std::vector<PlacedRun>> runs_;
  SvgBody body_;
};

}  // namespace

SvgDrawing draw_xy(const XyChart& chart) { return XyDrawing(chart).draw(); }

}  // namespace assay
