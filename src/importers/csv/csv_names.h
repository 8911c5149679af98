#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// What the names in and of CSV files say beside the metric.

/// A column's title: `metrics.val_acc (%)` is the metric val_acc, in percent.
struct CsvTitle {
  std::string metric;    ///< as written, without what is not its name
  bool percent = false;  ///< it says so
};
CsvTitle read_csv_title(std::string_view title);

/// The metric name of docs/reference/metrics.md for it, also where the words are turned round (`Loss_train`); empty for
/// one that only its owner knows.
std::string_view metric_for_title(std::string_view metric);

/// TensorBoard names the files it hands out `run-RUN-tag-TAG.csv`.
struct TensorboardName {
  std::string run;  ///< empty: the folder itself
  std::string tag;
};
std::optional<TensorboardName> tensorboard_name(std::string_view file_name);

/// A column of times, one per request: `latency_ms`, `ttft (s)`.
struct SampleTimes {
  std::string_view prefix;  ///< of our metrics: "latency", "ttft", "tpot"
  double seconds = 1;       ///< in one of its units
};
std::optional<SampleTimes> sample_times(std::string_view title);

}  // namespace assay
