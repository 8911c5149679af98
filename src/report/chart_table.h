#pragma once

#include <optional>

namespace assay {

struct ChartBlock;
struct FigureTable;

/// The data of a chart as a table, where they are few enough to read: at most 12 points per series, 12 bars, 12 rows
/// and columns. For formats without pictures.
std::optional<FigureTable> chart_table(const ChartBlock& block);

}  // namespace assay
