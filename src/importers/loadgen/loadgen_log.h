#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "importers/text/named_text.h"
#include "model/flag.h"

namespace assay {

// What MLPerf's LoadGen writes: mlperf_log_summary.txt, mlperf_log_detail.txt, mlperf_log_accuracy.json.

enum class LoadgenFile { summary, detail, accuracy, unknown };
/// By content first, by name where that does not tell.
LoadgenFile loadgen_file_kind(std::string_view text, std::string_view name);

enum class LoadgenValidity { unknown, valid, invalid };
std::string_view name_of(LoadgenValidity validity);

/// One distribution of latencies, in nanoseconds.
struct LatencyFigures {
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> mean;
  std::map<double, double> percentiles;  ///< 99.9 → value
  bool empty() const { return !min && !max && !mean && percentiles.empty(); }
};

/// One run of LoadGen, from its summary, its detail log or both. What they do not say is absent.
struct LoadgenResult {
  std::string folder;  ///< that the files are in
  std::string sut_name;
  std::string scenario;  ///< "Server", "Offline", "SingleStream", "MultiStream"
  std::string mode;      ///< "PerformanceOnly", "AccuracyOnly", …
  std::string version;
  std::string time;  ///< as written
  LoadgenValidity validity = LoadgenValidity::unknown;
  std::optional<bool> constraints_met;  ///< of latency; Server only
  std::optional<bool> min_duration_met;
  std::optional<bool> min_queries_met;  ///< absent where LoadGen skipped it
  std::optional<bool> early_stopping_met;
  std::vector<std::string> recommendations;

  std::optional<double> samples_per_second;            ///< Offline; SingleStream with LoadGen's overhead
  std::optional<double> completed_samples_per_second;  ///< Server
  std::optional<double> scheduled_samples_per_second;  ///< Server
  std::optional<double> tokens_per_second;
  LatencyFigures latency;  ///< of samples; of queries for MultiStream
  LatencyFigures first_token;
  LatencyFigures per_output_token;
  std::optional<double> early_stopping_latency_ns;

  std::optional<std::int64_t> queries;  ///< issued
  std::optional<std::int64_t> over_latency_queries;
  std::optional<std::int64_t> generated_queries;
  std::optional<double> target_qps;
  std::optional<double> target_latency_ns;
  std::optional<double> target_percentile;  ///< 99
  std::optional<double> target_first_token_ns;
  std::optional<double> target_per_output_token_ns;
  std::optional<double> min_duration_ms;
  std::optional<double> max_duration_ms;
  std::optional<std::int64_t> min_queries;
  std::optional<std::int64_t> samples_per_query;
  std::optional<std::int64_t> data_set_samples;                ///< performance_sample_count
  std::map<std::string, std::string, std::less<>> parameters;  ///< everything under "Test Parameters Used"

  std::vector<std::string> warnings;  ///< the first few
  std::vector<std::string> errors;
  std::int64_t warning_count = 0;
  std::int64_t error_count = 0;
  bool has_summary = false;
  bool has_detail = false;
  bool has_accuracy_log = false;  ///< it was there; it is not read
  bool cut = false;               ///< a file ended before its end
  std::vector<Flag> flags;        ///< about the files as bytes
};

/// Errors, of kind bad_file, are files that are no text and files without anything of LoadGen's in them.
Result<LoadgenResult> parse_loadgen_summary(std::string_view bytes, std::string_view name);
Result<LoadgenResult> parse_loadgen_detail(std::string_view bytes, std::string_view name);

/// Fills what `into` does not have. Returns flags for what both have and disagree on.
std::vector<Flag> merge_loadgen(LoadgenResult& into, const LoadgenResult& from);

/// An invalid result with its reasons, conditions that the run's own figures contradict, errors, a cut file.
std::vector<Flag> check_loadgen(const LoadgenResult& result);

struct LoadgenImport {
  std::vector<LoadgenResult> results;  ///< one per folder
  std::vector<Flag> flags;
};
/// Files whose names have the same folder are of one run. A file that cannot be read becomes a flag `unreadable`; it is
/// an error only if there is no other.
Result<LoadgenImport> import_loadgen(std::span<const NamedText> files);

}  // namespace assay
