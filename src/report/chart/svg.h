#pragma once

#include <string>

#include "report/chart/chart.h"

namespace assay {

/// A chart as an `<svg>` element for inlining in HTML: colours come from the page's CSS variables.
std::string svg_element(const ChartBlock& block);
/// The same as a file of its own: with title, own colours for light and dark, valid XML.
std::string svg_file(const ChartBlock& block);

}  // namespace assay
