#pragma once

#include <string>
#include <string_view>

#include "report/chart/chart.h"
#include "report/text/style.h"

namespace assay {

/// Padded with blanks to `width` columns; longer texts are shortened.
std::string pad_left(std::string_view text, std::size_t width, const TerminalStyle& style);
std::string pad_right(std::string_view text, std::size_t width, const TerminalStyle& style);

// The kinds of charts, without title and caption: lines that end with a newline.
std::string text_xy(const XyChart& chart, const TerminalStyle& style);
std::string text_bars(const BarChart& chart, const TerminalStyle& style);
std::string text_heat(const HeatChart& chart, const TerminalStyle& style);

}  // namespace assay
