#pragma once

#include "base/json.h"
#include "base/result.h"
#include "launch/job_ending.h"

namespace assay {

/// How one node's part of a job ended: the truth, or why nobody can tell. A job that could not be started is an error,
/// too.
using PartEnding = Result<JobEnding>;

json::object to_json(const PartEnding& ending);
Result<PartEnding> part_ending_from_json(const json::value& value);

/// Whether it failed: all but exit code 0.
bool has_failed(const PartEnding& ending);

/// Adds what another process or part of the same job used and left behind.
void add_to(JobEnding& ending, const PartEnding& other);

}  // namespace assay
