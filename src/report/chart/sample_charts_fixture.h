#pragma once

#include <string_view>
#include <vector>

#include "report/chart/chart.h"

namespace assay {

// For tests alone.

/// One of each kind, and then some, as reports have them.
std::vector<ChartBlock> sample_charts();
/// The one of that name, which must be there.
ChartBlock sample_chart(std::string_view id);
/// One of each kind of which every text is an attack on some format.
std::vector<ChartBlock> hostile_charts();

}  // namespace assay
