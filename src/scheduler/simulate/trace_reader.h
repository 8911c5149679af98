#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "scheduler/simulate/trace.h"

namespace assay {

/// Reads a trace from the text of a file: CSV, or what `sacct --parsable2` prints (a first line with `JobID|`). `name`
/// is that of the file, for messages. What is wrong is said with its line; what is of no use (steps of jobs, jobs that
/// never ran or have not ended) is left out and counted in the notes.
Result<Trace> read_trace(std::string_view text, const std::string& name);

Result<Trace> read_csv_trace(std::string_view text, const std::string& name);
Result<Trace> read_sacct_trace(std::string_view text, const std::string& name);

/// Seconds since 1970 of `2026-01-31T12:00:00` or `2026-01-31 12:00:00`, taken as UTC; fractions and `Z` may follow.
std::optional<double> seconds_of_date(std::string_view text);
/// Seconds of `[D-]HH:MM:SS`, `MM:SS` or `HH:MM:SS.fff`, as Slurm writes durations.
std::optional<double> seconds_of_elapsed(std::string_view text);
/// A finite number that is all of `text`.
std::optional<double> trace_number(std::string_view text);

/// Texts by number, each once.
class TraceWords {
 public:
  explicit TraceWords(std::vector<std::string>& words) : words_(words) {}
  std::uint32_t number_of(std::string_view word);

 private:
  std::vector<std::string>& words_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace assay
