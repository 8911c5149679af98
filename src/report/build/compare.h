#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/build/recorded.h"

namespace assay {

struct Document;

/// One side of a comparison: a run, or a group of runs that are repeats of each other (a tag, a variant of a study).
struct CompareSide {
  std::string label;
  std::vector<RecordedRun> runs;
};

/// Puts the side that the others are held against first: the one that was asked for; else one that bears the tag
/// `baseline` or is called so; else they stay as they are. An error where the name asked for means none of them.
Result<void> choose_first(std::vector<CompareSide>& sides, std::string_view baseline);

/// Side by side: what differs in settings and environment first, then every metric with what may be concluded from it,
/// derived figures included, then the curves over each other. The first side is what the others are held against.
Document comparison_of(const std::vector<CompareSide>& sides, const ReportOptions& options = {});

/// A study's configurations as sides, where there is no more than one reference to compare.
std::vector<CompareSide> sides_of(const std::vector<RecordedRun>& runs);

}  // namespace assay
