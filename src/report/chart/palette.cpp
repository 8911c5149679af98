#include "report/chart/palette.h"

#include <fmt/format.h>

#include <array>

#include "base/assert.h"

namespace assay {
namespace {

constexpr std::array kPalette = {
    PaletteColour{"paper", "#ffffff", "#15181c"},    PaletteColour{"panel", "#f6f7f8", "#1c2025"},
    PaletteColour{"ink", "#1b1f24", "#e4e7eb"},      PaletteColour{"soft", "#5a6470", "#9ba5b1"},
    PaletteColour{"rule", "#d9dee4", "#323941"},     PaletteColour{"grid", "#e8ebef", "#282e35"},
    PaletteColour{"link", "#0a5ea8", "#7cbcf5"},     PaletteColour{"good", "#18794e", "#5fd39a"},
    PaletteColour{"warning", "#8f5b00", "#ecb84f"},  PaletteColour{"bad", "#b3261e", "#ff8a80"},
    PaletteColour{"band", "#dbe7f3", "#22364a"},     PaletteColour{"series-1", "#0b64ad", "#64b2f4"},
    PaletteColour{"series-2", "#d0520b", "#ff9f5f"}, PaletteColour{"series-3", "#00856a", "#42cfa9"},
    PaletteColour{"series-4", "#a8428a", "#f092cd"}, PaletteColour{"series-5", "#9a7200", "#e6c64d"},
    PaletteColour{"series-6", "#2f97c9", "#a4dff9"}, PaletteColour{"series-7", "#4a5361", "#c5ccd6"},
    PaletteColour{"series-8", "#8c2340", "#ff8d9e"}, PaletteColour{"heat-1", "#f0f5fa", "#1b2632"},
    PaletteColour{"heat-2", "#dce9f4", "#1e3144"},   PaletteColour{"heat-3", "#c3daec", "#223f5a"},
    PaletteColour{"heat-4", "#a3c7e2", "#275072"},   PaletteColour{"heat-5", "#7dafd5", "#2b5a80"},
    PaletteColour{"heat-6", "#5795c5", "#356c99"},   PaletteColour{"heat-7", "#367ab1", "#5f9dcd"},
    PaletteColour{"heat-8", "#1b5e97", "#8bbde3"},   PaletteColour{"heat-9", "#0b4375", "#bddcf5"},
};

// Marks and lines take the colour of their class through `color`; text has halos nowhere, so it stays crisp in print.
constexpr std::string_view kRules = R"(
.chart{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:12px;color:var(--ink)}
.chart text{fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .name{fill:var(--ink)}
.chart .figure{fill:var(--ink);font-size:11.5px}
.chart .small{font-size:10px}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .axis{stroke:var(--soft);stroke-width:1}
.chart .level{stroke:var(--bad);stroke-width:1.25}
.chart .level-name{fill:var(--bad)}
.chart .band{fill:var(--band);stroke:none}
.chart .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:butt}
.chart .thin{stroke-width:1.5}
.chart .whisker{fill:none;stroke:currentColor;stroke-width:1.25}
.chart .dot{fill:currentColor;stroke:var(--paper);stroke-width:1}
.chart .cloud{fill:none;stroke:currentColor;stroke-width:3;stroke-linecap:round}
.chart .hollow{fill:var(--paper);stroke:currentColor;stroke-width:1.75}
.chart .hover{fill:transparent;stroke:none}
.chart .hover:hover{fill:currentColor}
.chart .bar{fill:currentColor;fill-opacity:.86}
.chart .interval{fill:none;stroke:var(--ink);stroke-width:1.25}
.chart .missing{stroke:var(--soft);stroke-width:1}
.chart .frame{fill:none;stroke:var(--rule);stroke-width:1}
.chart .neutral{color:var(--soft)}
)";

/// From this step on the ground of a cell is nearer to the ink than to the paper, on light and on dark.
constexpr int kFirstStrongStep = 7;

std::string rules() {
  std::string css(kRules);
  for (int i = 1; i <= kSeriesColours; ++i) css += fmt::format(".chart .s{0}{{color:var(--series-{0})}}\n", i);
  for (int i = 1; i <= kHeatSteps; ++i) {
    css += fmt::format(".chart .h{0}{{fill:var(--heat-{0})}}\n", i);
    css += fmt::format(".chart .on{}{{fill:var(--{})}}\n", i, i < kFirstStrongStep ? "ink" : "paper");
  }
  return css;
}

std::string_view colour_of(std::string_view name, bool dark) {
  for (const auto& colour : kPalette) {
    if (colour.name == name) return dark ? colour.dark : colour.light;
  }
  ASSAY_ASSERT(false && "a rule names a colour that is not in the palette");
  return {};
}

}  // namespace

std::span<const PaletteColour> palette() { return kPalette; }

std::string css_variables(bool dark) {
  std::string css;
  for (const auto& colour : kPalette) css += fmt::format("--{}:{};", colour.name, dark ? colour.dark : colour.light);
  return css;
}

std::string chart_rules() { return rules(); }

std::string chart_rules_with_colours(bool dark) {
  constexpr std::string_view kOpen = "var(--";
  const std::string css = rules();
  std::string resolved;
  for (std::string_view rest = css; !rest.empty();) {
    const auto at = rest.find(kOpen);
    resolved += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at + kOpen.size());
    const auto end = rest.find(')');
    resolved += colour_of(rest.substr(0, end), dark);
    rest.remove_prefix(end + 1);
  }
  return resolved;
}

}  // namespace assay
