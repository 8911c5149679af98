#pragma once

#include <string>

#include "report/chart/chart.h"
#include "report/text/style.h"

namespace assay {

/// A chart as lines of text, at most `style.width` wide: curves overlaid in braille dots (or ASCII), bars, heat maps as
/// shaded cells. Every line ends with a newline.
std::string text_chart(const ChartBlock& block, const TerminalStyle& style);

}  // namespace assay
