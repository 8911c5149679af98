#include "report/chart/svg_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/chart/palette.h"
#include "report/text/plain_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

constexpr int kShapes = 8;
constexpr std::array<std::string_view, 4> kDashes = {"6 4", "2 3", "10 3 2 3", "14 5"};

std::string dash_attribute(std::string_view dash) {
  return dash.empty() ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", dash);
}

/// `/>`, or the tooltip and the closing tag.
std::string ending(std::string_view element, std::string_view tooltip) {
  if (tooltip.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", escape_xml(tooltip), element);
}

/// Corners of the shapes that are not a circle, around (0, 0).
std::vector<Spot> corners_of(int shape) {
  switch (shape) {
    case 1: return {{-3.4, -3.4}, {3.4, -3.4}, {3.4, 3.4}, {-3.4, 3.4}};
    case 2: return {{0, -4.6}, {4.3, 3.1}, {-4.3, 3.1}};
    case 3: return {{0, -4.9}, {4.9, 0}, {0, 4.9}, {-4.9, 0}};
    case 4: return {{0, 4.6}, {4.3, -3.1}, {-4.3, -3.1}};
    case 5: return {{4.6, 0}, {-3.1, 4.3}, {-3.1, -4.3}};
    case 6: return {{-4.6, 0}, {3.1, 4.3}, {3.1, -4.3}};
    default: return {{-4.4, 0}, {-2.2, -3.8}, {2.2, -3.8}, {4.4, 0}, {2.2, 3.8}, {-2.2, 3.8}};
  }
}

void draw_swatch(SvgBody& body, const LegendEntry& entry, Spot left) {
  constexpr double kLength = 22;
  using Kind = LegendEntry::Kind;
  const Spot right{left.x + kLength, left.y};
  const Spot middle{left.x + kLength / 2, left.y};
  if (entry.kind == Kind::line || entry.kind == Kind::line_and_mark)
    body.line(left, right, "line " + entry.look.colour, entry.look.dash);
  if (entry.kind == Kind::mark || entry.kind == Kind::line_and_mark)
    body.mark(entry.look.shape, middle, "dot " + entry.look.colour);
  if (entry.kind == Kind::hollow) body.mark(entry.look.shape, middle, "hollow " + entry.look.colour);
  if (entry.kind == Kind::band) body.rect({left.x, left.y - 5}, {right.x, left.y + 5}, "band");
  if (entry.kind == Kind::level) body.line(left, right, "level", entry.look.dash);
  if (entry.kind == Kind::missing) {
    body.rect({middle.x - 6, middle.y - 6}, {middle.x + 6, middle.y + 6}, "frame");
    body.line({middle.x - 4, middle.y - 4}, {middle.x + 4, middle.y + 4}, "missing");
    body.line({middle.x - 4, middle.y + 4}, {middle.x + 4, middle.y - 4}, "missing");
  }
}

}  // namespace

std::string svg_number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text) { return text_width(display_width(text)); }

// Wide faces (DejaVu, Verdana) need this much at 12 pixels.
double text_width(std::size_t columns) { return static_cast<double>(columns) * 7.2; }

std::string short_name(std::string_view name, std::size_t columns) { return shorten(clean_line(name), columns, {}); }

std::vector<SeriesLook> looks_of(const std::vector<ChartSeries>& series) {
  std::vector<SeriesLook> looks;
  std::size_t measured = 0;
  std::size_t dashed = 0;
  for (const auto& one : series) {
    SeriesLook look;
    if (one.stroke == Stroke::dashed) {
      look.dash = kDashes[dashed % kDashes.size()];
      look.colour =
          dashed < kDashes.size() ? "neutral" : fmt::format("s{}", (dashed - kDashes.size()) % kSeriesColours + 1);
      ++dashed;
    } else if (one.stroke != Stroke::expected_range) {
      look.colour = fmt::format("s{}", measured % kSeriesColours + 1);
      // Beyond eight the colours come again: broken lines, and shapes that have moved on.
      look.shape = static_cast<int>((measured + measured / kSeriesColours * 3) % kShapes);
      if (measured >= kSeriesColours) look.dash = "16 2";
      ++measured;
    }
    looks.push_back(std::move(look));
  }
  return looks;
}

void SvgBody::line(Spot from, Spot to, std::string_view classes, std::string_view dash) {
  content_ += fmt::format(R"(<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"{}/>)", classes, svg_number(from.x),
                          svg_number(from.y), svg_number(to.x), svg_number(to.y), dash_attribute(dash));
  content_ += '\n';
}

void SvgBody::rect(Spot corner, Spot opposite, std::string_view classes, std::string_view tooltip) {
  const auto [left, right] = std::minmax(corner.x, opposite.x);
  const auto [top, bottom] = std::minmax(corner.y, opposite.y);
  content_ += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}")", classes, svg_number(left),
                          svg_number(top), svg_number(right - left), svg_number(bottom - top));
  content_ += ending("rect", tooltip);
}

void SvgBody::path(std::string_view data, std::string_view classes, std::string_view dash) {
  content_ += fmt::format("<path class=\"{}\" d=\"{}\"{}/>\n", classes, data, dash_attribute(dash));
}

void SvgBody::text(Spot at, Anchor anchor, std::string_view classes, std::string_view content) {
  constexpr std::array<std::string_view, 3> kAnchors = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  content_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}>{}</text>\n", classes, svg_number(at.x),
                          svg_number(at.y), kAnchors[static_cast<std::size_t>(anchor)], escape_xml(content));
}

void SvgBody::slanted_text(Spot end, std::string_view classes, std::string_view content) {
  content_ += fmt::format(
      "<text class=\"{0}\" x=\"{1}\" y=\"{2}\" text-anchor=\"end\" transform=\"rotate(-40 {1} {2})\">{3}</text>\n",
      classes, svg_number(end.x), svg_number(end.y), escape_xml(content));
}

void SvgBody::mark(int shape, Spot at, std::string_view classes, std::string_view tooltip) {
  if (shape == 0) {
    content_ +=
        fmt::format(R"(<circle class="{}" cx="{}" cy="{}" r="3.8")", classes, svg_number(at.x), svg_number(at.y));
    content_ += ending("circle", tooltip);
    return;
  }
  std::string data;
  for (const auto& corner : corners_of(shape))
    data += fmt::format("{}{} {}", data.empty() ? 'M' : 'L', svg_number(at.x + corner.x), svg_number(at.y + corner.y));
  content_ += fmt::format("<path class=\"{}\" d=\"{}Z\"", classes, data);
  content_ += ending("path", tooltip);
}

void SvgBody::hover_spot(Spot at, std::string_view colour, std::string_view tooltip) {
  content_ +=
      fmt::format(R"(<circle class="hover {}" cx="{}" cy="{}" r="6")", colour, svg_number(at.x), svg_number(at.y));
  content_ += ending("circle", tooltip);
}

void SvgBody::whisker(Spot from, Spot to, std::string_view classes) {
  const bool upright = from.x == to.x;
  const double dx = upright ? 4 : 0;
  const double dy = upright ? 0 : 4;
  const auto tick = [&](Spot at) {
    return fmt::format("M{} {}L{} {}", svg_number(at.x - dx), svg_number(at.y - dy), svg_number(at.x + dx),
                       svg_number(at.y + dy));
  };
  path(fmt::format("M{} {}L{} {}{}{}", svg_number(from.x), svg_number(from.y), svg_number(to.x), svg_number(to.y),
                   tick(from), tick(to)),
       classes);
}

double draw_legend(SvgBody& body, const std::vector<LegendEntry>& entries, double left, double top, double width) {
  constexpr double kLine = 20;
  constexpr double kSwatch = 29;
  constexpr double kGap = 18;
  if (entries.empty()) return 0;
  double x = left;
  double y = top + kLine / 2;
  for (const auto& entry : entries) {
    const std::string name = short_name(entry.name, 60);
    const double needed = kSwatch + text_width(name);
    if (x > left && x + needed > left + width) x = left, y += kLine;
    draw_swatch(body, entry, {x, y});
    body.text({x + kSwatch, y + 4}, Anchor::start, "name", name);
    x += needed + kGap;
  }
  return y + kLine / 2 - top;
}

}  // namespace assay
