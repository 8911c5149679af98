#pragma once

#include <string>
#include <vector>

#include "report/build/recorded.h"
#include "report/document.h"

namespace assay {

/// One side of a comparison: a run, or a group of runs that are repeats of each other (a tag, a variant of a study).
struct CompareSide {
  std::string label;
  std::vector<RecordedRun> runs;
};

/// Side by side: what differs in settings and environment first, then every metric with what may be concluded from it,
/// derived figures included, then the curves over each other. The first side is what the others are held against.
Document comparison_of(const std::vector<CompareSide>& sides, const ReportOptions& options = {});

/// A study's configurations as sides, where there is no more than one reference to compare.
std::vector<CompareSide> sides_of(const std::vector<RecordedRun>& runs);

}  // namespace assay
