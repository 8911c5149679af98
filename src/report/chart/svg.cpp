#include "report/chart/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "report/chart/chart_data.h"
#include "report/chart/palette.h"
#include "report/chart/svg_parts.h"
#include "report/text/plain_text.h"

namespace assay {
namespace {

SvgDrawing draw(const XyChart& chart) { return draw_xy(chart); }
SvgDrawing draw(const BarChart& chart) { return draw_bars(chart); }
SvgDrawing draw(const HeatChart& chart) { return draw_heat(chart); }

SvgDrawing draw(const ChartBlock& block) {
  SvgDrawing drawing = std::visit([](const auto& chart) { return draw(chart); }, block.chart);
  for (const auto& note : chart_notes(block)) drawing.description += " " + note;
  return drawing;
}

/// What the picture is called, seen or not.
std::string heading(const std::string& title, const SvgDrawing& drawing) {
  return fmt::format("<title>{}</title>\n<desc>{}</desc>\n", escape_xml(clean_line(title)),
                     escape_xml(clean_line(drawing.description)));
}

}  // namespace

std::string svg_element(const ChartBlock& block) {
  const SvgDrawing drawing = draw(block);
  // Scaled beyond these bounds its text would be too small to read or larger than that of the page.
  const std::string size = fmt::format("min-width:{}px;max-width:{}px", svg_number(std::floor(drawing.width * 0.7)),
                                       svg_number(std::ceil(drawing.width * 1.2)));
  return fmt::format(
      "<svg class=\"chart\" style=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}{}</svg>\n", size,
      svg_number(drawing.width), svg_number(drawing.height), escape_xml(clean_line(block.title)),
      heading(block.title, drawing), drawing.body);
}

std::string svg_file(const ChartBlock& block) { return svg_file(block.title, draw(block)); }

std::string svg_file(const std::string& title, const SvgDrawing& drawing) {
  constexpr double kMargin = 16;
  constexpr double kTitle = 30;
  const std::string width = svg_number(drawing.width + 2 * kMargin);
  const std::string height = svg_number(drawing.height + 2 * kMargin + kTitle);
  const auto ground = [](bool dark) {
    return fmt::format(".ground{{fill:{}}}\n.chart .heading{{font-size:15px;font-weight:600}}\n",
                       palette().front().*(dark ? &PaletteColour::dark : &PaletteColour::light));
  };
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\" aria-label=\"{2}\">\n{3}",
      width, height, escape_xml(clean_line(title)), heading(title, drawing));
  out += fmt::format("<style>\n{}{}@media (prefers-color-scheme:dark){{\n{}{}}}\n</style>\n", ground(false),
                     chart_rules_with_colours(false), ground(true), chart_rules_with_colours(true));
  out += fmt::format("<rect class=\"ground\" width=\"{}\" height=\"{}\"/>\n", width, height);
  out += fmt::format("<text class=\"name heading\" x=\"{}\" y=\"{}\">{}</text>\n", svg_number(kMargin),
                     svg_number(kMargin + 12), escape_xml(short_name(title, 76)));
  out += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n</svg>\n", svg_number(kMargin),
                     svg_number(kMargin + kTitle), drawing.body);
  return out;
}

}  // namespace assay
