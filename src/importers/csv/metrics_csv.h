#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exchange/run_series.h"

namespace assay {

// Metrics in CSV files: our own exports, and those of Comet, Weights & Biases, MLflow and TensorBoard.

enum class CsvLayout {
  assay,        ///< our own export
  wide,         ///< one column per metric, maybe `run - metric`, maybe with a column that names the run
  tall,         ///< one row per value: metric, value, step, …
  tensorboard,  ///< `Wall time,Step,Value`: one metric, named by the file
};
std::string_view name_of(CsvLayout layout);

struct CsvRun {
  std::string name;  ///< empty where the file does not tell runs apart
  std::vector<SeriesWithPoints> series;

  // Of a row in a table of runs.
  bool from_table = false;
  std::string status;  ///< as written: "finished", "crashed", "FAILED"
  std::optional<std::int64_t> created_ns;
  std::optional<std::int64_t> ended_ns;
  std::map<std::string, std::string, std::less<>> settings;  ///< MLflow's `params.NAME`, by NAME
  std::map<std::string, std::string, std::less<>> texts;     ///< other cells that are no numbers, by column
};

struct CsvImport {
  CsvLayout layout = CsvLayout::wide;
  char separator = ',';
  bool decimal_comma = false;
  std::int64_t rows = 0;
  bool relative_time = false;                ///< times count from the start of the run, not from 1970
  std::vector<std::string> ignored_columns;  ///< texts, and second columns of steps or times
  std::vector<CsvRun> runs;
  std::vector<Flag> flags;
};

struct CsvOptions {
  std::optional<char> separator;  ///< instead of finding it out
};

/// Reads metrics from CSV. Metrics get the names of docs/reference/metrics.md where the usual spellings allow it. A
/// series keeps the order of its rows; its points have the step (kNoStep if there is none) and time (0 if there is
/// none) of their row. Cells that are no numbers, ragged rows and the like are flagged with their place. A file that is
/// no text, or has no header or no number at all, is an error.
Result<CsvImport> parse_metrics_csv(std::string_view bytes, std::string_view name, const CsvOptions& options = {});

}  // namespace assay
