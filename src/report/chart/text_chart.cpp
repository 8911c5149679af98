#include "report/chart/text_chart.h"

#include <algorithm>

#include "base/text.h"
#include "report/chart/chart_data.h"
#include "report/chart/text_chart_parts.h"
#include "report/text/plain_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

std::string draw(const XyChart& chart, const TerminalStyle& style) { return text_xy(chart, style); }
std::string draw(const BarChart& chart, const TerminalStyle& style) { return text_bars(chart, style); }
std::string draw(const HeatChart& chart, const TerminalStyle& style) { return text_heat(chart, style); }

void append_wrapped(std::string& out, std::string_view text, const TerminalStyle& style) {
  const std::string shown = style.unicode ? std::string(text) : in_ascii(clean_text(text));
  for (const auto& line : wrap_text(shown, static_cast<std::size_t>(style.width)))
    out += style.paint(Colour::dim, line) + "\n";
}

}  // namespace

std::string pad_left(std::string_view text, std::size_t width, const TerminalStyle& style) {
  const std::string fitting = shorten(text, width, style);
  return std::string(width - std::min(width, display_width(fitting)), ' ') + fitting;
}

std::string pad_right(std::string_view text, std::size_t width, const TerminalStyle& style) {
  const std::string fitting = shorten(text, width, style);
  return fitting + std::string(width - std::min(width, display_width(fitting)), ' ');
}

std::string text_chart(const ChartBlock& block, const TerminalStyle& style) {
  // Wider than this, the eye loses the line between a point and its label.
  constexpr int kWidest = 110;
  constexpr int kNarrowest = 30;
  TerminalStyle fitted = style;
  fitted.width = std::clamp(style.width, kNarrowest, kWidest);
  std::string out;
  for (const auto& line : wrap_text(terminal_line(block.title, style), static_cast<std::size_t>(fitted.width)))
    out += style.paint(Colour::bold, line) + "\n";
  out += std::visit([&](const auto& chart) { return draw(chart, fitted); }, block.chart);
  append_wrapped(out, block.caption, fitted);
  for (const auto& note : chart_notes(block)) append_wrapped(out, note, fitted);
  return out;
}

}  // namespace assay
