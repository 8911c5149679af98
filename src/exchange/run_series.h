#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/run.h"
#include "model/series.h"

namespace assay {

/// A series with all of its points, in the order in which they were recorded.
struct SeriesWithPoints {
  SeriesKey key;
  std::string unit;
  std::string source_name;  ///< what the imported file calls it; empty for our own exports
  std::vector<SeriesPoint> points;
};

/// A run and its series: what `export` writes and `import` reads back.
struct RunWithSeries {
  Run run;
  std::vector<SeriesWithPoints> series;
};

/// The title of a column: `loss`, `gpu.util{gpu="0"} [ratio]`. Backslashes protect what would be mistaken.
std::string series_title(const SeriesKey& key, std::string_view unit);
/// Name, labels and unit of such a title. Absent if it is not one.
std::optional<std::pair<SeriesKey, std::string>> read_series_title(std::string_view title);

/// Wide CSV: `step,time_ns` and one column per series, one row per moment, empty cells where a series has no point.
/// Every point comes back through parse_metrics_csv in its order, to the last bit (of NaN, only that it is one).
std::string write_series_csv(const std::vector<SeriesWithPoints>& series);

/// One run alone as write_series_csv does; several as one table with the column `run`, their ids, in front, and the
/// columns of all of them.
std::string write_runs_csv(std::span<const RunWithSeries> runs);

/// "schema" of the JSON form.
constexpr int kRunExportSchema = 1;
/// One JSON object with the run's record and the points of its series, column by column. NaN is null; infinities are
/// null, too, and listed beside with their sign, since JSON has neither.
std::string write_run_json(const RunWithSeries& run);
/// Several as a JSON list of such objects; one alone as that object.
std::string write_runs_json(std::span<const RunWithSeries> runs);
/// Reads what either wrote; every bit of every finite value comes back. Anything else is an error of kind bad_file that
/// says what is wrong.
Result<std::vector<RunWithSeries>> parse_runs_json(std::string_view bytes, std::string_view name);

}  // namespace assay
