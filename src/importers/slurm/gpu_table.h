#pragma once

#include <string_view>
#include <vector>

#include "importers/slurm/slurm_job.h"

namespace assay {

/// Finds nvidia-smi's output between the lines of a log: the boxed table, and CSV blocks of `--query-gpu` that have
/// their header. One reader per job; it remembers the table it is in.
class GpuTableReader {
 public:
  /// True if the line belonged to a table; what it said is appended to `readings`, up to kMostReadings of them.
  bool take(std::string_view line, std::vector<LoggedGpu>& readings);

  static constexpr std::size_t kMostReadings = 65536;

 private:
  enum class Column { index, name, utilisation, memory_used, memory_total, temperature, power, other };

  bool take_box_line(std::string_view line, std::vector<LoggedGpu>& readings);
  bool take_csv_header(std::string_view line);
  bool take_csv_row(std::string_view line, std::vector<LoggedGpu>& readings);

  std::optional<LoggedGpu> upper_half_;  ///< of a box entry: the lower line has the figures
  std::vector<Column> columns_;          ///< of the CSV block; empty outside one
  std::int64_t csv_rows_ = 0;
};

}  // namespace assay
