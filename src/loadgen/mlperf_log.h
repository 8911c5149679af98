#pragma once

#include <cstdint>
#include <string>

#include "loadgen/load_result.h"
#include "loadgen/mlperf_schedule.h"

namespace assay {

// The files that MLPerf's LoadGen leaves behind, worded as its own, so that scripts made for them, and our own
// importer, read a run of ours. They name assay as what wrote them. Pure.

/// What is not in the result.
struct MlperfLogFacts {
  std::string sut_name;
  std::string time;  ///< ISO 8601, of the start
  bool accuracy = false;
  std::uint64_t samples = 0;  ///< different ones: performance_sample_count
  MlperfSeeds seeds;
  bool equal_issue = false;  ///< sample_concatenate_permutation
};

/// LoadGen knows single_stream, multi_stream, server and offline; the others have no log.
bool has_mlperf_log(Scenario scenario);

/// mlperf_log_summary.txt. In accuracy mode it has no figures, as LoadGen's.
std::string mlperf_summary(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                           const MlperfLogFacts& facts);
/// mlperf_log_detail.txt: lines `:::MLLOG {json}`.
std::string mlperf_detail(const LoadPlan& plan, const LoadRules& rules, const LoadResult& result,
                          const MlperfLogFacts& facts);
/// mlperf_log_accuracy.json: the answers' texts in hexadecimal, in the order of issue.
std::string mlperf_accuracy(const QueryRecorder& recorder);

}  // namespace assay
