#pragma once

#include <span>
#include <string>

#include "report/text/style.h"

namespace assay {

/// The course of a series in one line: the means of `width` equal slices, from the lowest block to the highest.
/// NaN and infinity leave a gap; a constant series is a middle line.
std::string sparkline(std::span<const double> values, std::size_t width, const TerminalStyle& style);

}  // namespace assay
