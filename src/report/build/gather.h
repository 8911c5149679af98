#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/build/compare.h"
#include "report/build/recorded.h"

namespace assay {

class RunStore;

/// What a reference on the command line stands for: a study (`study:REF`, its id or its name) or runs (see
/// store/resolve.h).
struct Referenced {
  std::string label;           ///< as the user wrote it
  std::optional<Study> study;  ///< where it is one
  std::vector<std::string> runs;
};
Result<Referenced> resolve_results(RunStore& store, const std::string& reference);

/// Reads the runs and the course of the series that reports draw, or of the one that is asked for, thinned out to some
/// hundred points each. Runs that were deleted meanwhile, which the plan of a study goes on naming, are left out.
/// Blocks.
Result<std::vector<RecordedRun>> read_runs(RunStore& store, std::span<const std::string> ids,
                                           std::string_view series = {});

/// All of the references as one report. A run that is named twice is there once. A baseline that is none of the
/// configurations is an error.
Result<ReportInput> gather(RunStore& store, std::span<const std::string> references, ReportOptions options = {});

/// Each reference as a side of a comparison; a single study has its configurations as sides. Fewer than two sides, or
/// one without a run, is an error.
Result<std::vector<CompareSide>> gather_sides(RunStore& store, std::span<const std::string> references);

}  // namespace assay
