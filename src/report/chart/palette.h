#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// A colour of the page and its charts, on light and on dark ground.
struct PaletteColour {
  std::string_view name;  ///< of the CSS variable, without dashes: "ink"
  std::string_view light;
  std::string_view dark;
};

/// The colours of charts and pages. The eight of the series can be told apart with any kind of colour vision, and each
/// has its own mark; the steps of the heat map differ in lightness alone.
std::span<const PaletteColour> palette();

inline constexpr int kSeriesColours = 8;
inline constexpr int kHeatSteps = 9;

/// `--ink:#1b1f24;…`, for a rule of the page.
std::string css_variables(bool dark);

/// The rules of charts, with the colours as variables of the page.
std::string chart_rules();
/// The same with the colours themselves: for files that are shown by programs that know no variables.
std::string chart_rules_with_colours(bool dark);

}  // namespace assay
