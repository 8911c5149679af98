#pragma once

#include <optional>
#include <string_view>

#include "importers/slurm/slurm_job.h"
#include "importers/slurm/slurm_lines.h"

namespace assay {

/// Whether the text before a colon is how an error message begins: `Error:`, `slurmstepd: error:`, `slurm_script:`.
/// Called for every colon of a log.
bool announces_problem(std::string_view before_colon);

/// What the announced line complains about; `before_colon` is its beginning. Nothing for what only sounds bad:
/// `Mean squared error: 0.3`, or the messages of a batch script that went on.
std::optional<LogProblem> problem_in(const LogSegment& segment, std::string_view before_colon);

}  // namespace assay
