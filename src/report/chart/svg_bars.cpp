#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/chart/chart_data.h"
#include "report/chart/svg_parts.h"

namespace assay {
namespace {

constexpr std::size_t kMostUprightBars = 8;
constexpr std::size_t kLongestUprightName = 10;
constexpr std::size_t kLongestName = 26;
constexpr std::size_t kManyBars = 40;
constexpr double kUprightHeight = 215;

/// Draws bars that lie (many, or long names) or stand. `along` is the direction of the values, `across` that of the
/// names, in pixels from the first.
class BarDrawing {
 public:
  explicit BarDrawing(const BarChart& chart) : chart_(chart), count_(std::min(chart.bars.size(), kMostBars)) {
    lying_ = count_ > kMostUprightBars;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < count_; ++i) longest = std::max(longest, display_width(chart.bars[i].name));
    lying_ = lying_ || longest > kLongestUprightName;
    const ValueRange extent = extent_of(chart);
    empty_ = extent.empty();
    // Dots may stand anywhere; the length of a bar is its value.
    axis_ = fit_axis(chart.value, extent, {.most_ticks = lying_ ? 7U : 6U, .padding = 0.05});
    if (lying_) {
      double figures = 20;
      for (std::size_t i = 0; i < count_; ++i) figures = std::max(figures, text_width(figure_of(chart.bars[i])) + 12);
      const double names = text_width(std::min(longest, kLongestName)) + 10;
      pitch_ = count_ > kManyBars ? 15 : 23;
      frame_ = {.left = names,
                .top = 8,
                .width = kChartWidth - names - figures,
                .height = std::max(1.0, static_cast<double>(count_)) * pitch_};
    } else {
      double left = 12;
      for (const auto& tick : axis_.ticks) left = std::max(left, text_width(tick.label) + 12);
      frame_ = {.left = left, .top = 40, .width = kChartWidth - left - 14, .height = kUprightHeight};
      pitch_ = frame_.width / std::max(1.0, static_cast<double>(count_));
    }
  }

  SvgDrawing draw() {
    if (chart_.band && !empty_)
      body_.rect(at(position(chart_.band->first), 0), at(position(chart_.band->second), extent_across()), "band");
    draw_axis();
    for (std::size_t i = 0; i < count_; ++i) draw_bar(i);
    for (std::size_t i = 0; i < chart_.references.size(); ++i) {
      if (empty_ || !has_place(chart_.value, chart_.references[i].y)) continue;
      const double along = position(chart_.references[i].y);
      body_.line(at(along, 0), at(along, extent_across()), "level", level_dash(i));
    }
    if (empty_)
      body_.text({frame_.left + frame_.width / 2, frame_.top + frame_.height / 2 + 4}, Anchor::middle, "", "No data");
    const double below = frame_.bottom() + (lying_ ? 46 : 28);
    const double legend = draw_legend(body_, legend_entries(), lying_ ? 0 : frame_.left, below, kChartWidth);
    return {.body = body_.content(), .height = std::ceil(below + legend + 4), .description = description()};
  }

 private:
  static std::string_view level_dash(std::size_t index) { return index % 2 == 0 ? "5 3" : "2 2"; }

  double position(double value) const { return axis_.position(value); }
  double extent_across() const { return lying_ ? frame_.height : frame_.width; }

  Spot at(double along, double across) const {
    if (lying_) return {frame_.left + along * frame_.width, frame_.top + across};
    return {frame_.left + across, frame_.bottom() - along * frame_.height};
  }

  bool is_shown(const Bar& bar) const { return bar.value && has_place(chart_.value, *bar.value); }

  std::string figure_of(const Bar& bar) const {
    if (!is_shown(bar)) return "–";
    return (bar.marked ? "▲ " : "") + axis_.figure(*bar.value);
  }

  void draw_axis() {
    for (const auto& tick : axis_.ticks) {
      const double along = position(tick.value);
      body_.line(at(along, 0), at(along, extent_across()), "grid");
      const Spot end = at(along, lying_ ? frame_.height : 0);
      if (lying_) {
        body_.text({end.x, end.y + 17}, Anchor::middle, "", tick.label);
      } else {
        body_.text({end.x - 7, end.y + 4}, Anchor::end, "", tick.label);
      }
    }
    const double base = position(base_value());
    body_.line(at(base, 0), at(base, extent_across()), "axis");
    const std::string title = short_name(axis_.title, 72);
    if (lying_) {
      body_.text({frame_.left + frame_.width / 2, frame_.bottom() + 36}, Anchor::middle, "name", title);
    } else {
      body_.text({0, 14}, Anchor::start, "name", title);
    }
  }

  /// Where bars start; dots and logarithmic bars have no zero to start at.
  double base_value() const { return chart_.value.from_zero && !axis_.logarithmic ? 0 : axis_.low; }

  void draw_bar(std::size_t index) {
    const auto& bar = chart_.bars[index];
    const double middle = (static_cast<double>(index) + 0.5) * pitch_;
    const double half = lying_ ? pitch_ * 0.34 : std::min(pitch_ * 0.32, 30.0);
    const double base = position(base_value());
    double end = base;
    if (is_shown(bar)) {
      const double value = position(*bar.value);
      end = std::max(end, value);
      if (chart_.value.from_zero) {
        body_.rect(at(base, middle - half), at(value, middle + half), bar.marked ? "hollow s1" : "bar s1",
                   tooltip(bar));
      } else {
        body_.line(at(base, middle), at(value, middle), "grid");
      }
      end = std::max(end, draw_interval(bar, middle));
      if (!chart_.value.from_zero) body_.mark(0, at(value, middle), bar.marked ? "hollow s1" : "dot s1", tooltip(bar));
    }
    draw_names(bar, at(end, middle), at(0, middle));
  }

  /// Where it ends, along the values.
  double draw_interval(const Bar& bar, double middle) {
    if (!bar.range || std::isnan(bar.range->first) || !has_place(chart_.value, bar.range->second)) return 0;
    const double low = has_place(chart_.value, bar.range->first) ? position(bar.range->first) : 0;
    const double high = position(bar.range->second);
    body_.whisker(at(low, middle), at(high, middle), "interval");
    return high;
  }

  void draw_names(const Bar& bar, Spot end, Spot start) {
    const std::string small = pitch_ < 20 && lying_ ? " small" : "";
    if (lying_) {
      body_.text({frame_.left - 8, start.y + 4}, Anchor::end, "name" + small, short_name(bar.name, kLongestName));
      body_.text({kChartWidth - 2, start.y + 4}, Anchor::end, "figure" + small, figure_of(bar));
    } else {
      body_.text({start.x, frame_.bottom() + 18}, Anchor::middle, "name", short_name(bar.name, kLongestUprightName));
      body_.text({start.x, end.y - 8}, Anchor::middle, "figure", figure_of(bar));
    }
  }

  std::string tooltip(const Bar& bar) const {
    std::string text = fmt::format("{}: {}", short_name(bar.name, 80), format_value(*bar.value, chart_.value.unit));
    if (bar.range) {
      text += fmt::format(" ({} to {})", format_value(bar.range->first, chart_.value.unit),
                          format_value(bar.range->second, chart_.value.unit));
    }
    return bar.marked ? text + ", flagged" : text;
  }

  std::vector<LegendEntry> legend_entries() const {
    using Kind = LegendEntry::Kind;
    std::vector<LegendEntry> entries;
    if (chart_.band) {
      entries.push_back({Kind::band,
                         {},
                         fmt::format("{} to {}", format_value(chart_.band->first, chart_.value.unit),
                                     format_value(chart_.band->second, chart_.value.unit))});
    }
    for (std::size_t i = 0; i < chart_.references.size(); ++i)
      entries.push_back({Kind::level, {.dash = std::string(level_dash(i))}, chart_.references[i].label});
    const bool marked = std::any_of(chart_.bars.begin(), chart_.bars.end(), [](const Bar& bar) { return bar.marked; });
    if (marked) entries.push_back({Kind::hollow, {.colour = "s1", .shape = 1}, "▲ flagged or invalid"});
    return entries;
  }

  std::string description() const {
    if (empty_) return "An empty chart: there are no data.";
    std::string text = fmt::format("{}, {} bars.", axis_.title, chart_.bars.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(count_, 12); ++i) {
      const auto& bar = chart_.bars[i];
      text +=
          fmt::format(" {}: {}.", bar.name, is_shown(bar) ? format_value(*bar.value, chart_.value.unit) : "not known");
    }
    return text;
  }

  const BarChart& chart_;
  std::size_t count_;
  bool lying_ = false;
  bool empty_ = false;
  AxisScale axis_;
  double pitch_ = 0;
  PlotFrame frame_;
  SvgBody body_;
};

}  // namespace

SvgDrawing draw_bars(const BarChart& chart) { return BarDrawing(chart).draw(); }

}  // namespace assay
