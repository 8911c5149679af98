#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "importers/csv/metrics_csv.h"

namespace assay {

/// What the columns of a CSV file are, by their titles.
struct CsvColumns {
  enum class TimeKind { none, nanoseconds, timestamp, runtime };

  CsvLayout layout = CsvLayout::wide;
  std::optional<std::size_t> step;
  std::optional<std::size_t> time;
  TimeKind time_kind = TimeKind::none;
  std::optional<std::size_t> run;
  std::optional<std::size_t> metric;  ///< tall: the metric's name
  std::optional<std::size_t> value;   ///< tall, tensorboard
  std::vector<std::size_t> metrics;   ///< wide: everything else
  std::vector<std::size_t> ignored;   ///< a second step or time
  bool run_in_titles = false;         ///< every metric's title is `run - metric`

  // A table of runs, as trackers hand it out: one row per run.
  bool row_per_run = false;
  std::optional<std::size_t> status;   ///< "finished", "crashed", "FAILED"
  std::optional<std::size_t> created;  ///< when it began
  std::optional<std::size_t> ended;
  std::vector<std::size_t> settings;  ///< MLflow's `params.NAME`
};

CsvColumns find_columns(const std::vector<std::string>& titles);

/// A point in time as files write it: seconds, milli-, micro- or nanoseconds since 1970 (by its size), or ISO 8601 in
/// UTC where nothing else is said.
std::optional<std::int64_t> time_from_cell(std::string_view cell);

}  // namespace assay
