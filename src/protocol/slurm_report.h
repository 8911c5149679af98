#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/slurm_jobs.h"

namespace assay {

/// What an agent tells of the Slurm that its node belongs to: all jobs, or why it does not know.
struct SlurmReport {
  SlurmJobs jobs;
  std::string problem;  ///< Slurm could not be asked: what was said before still holds; else empty
  bool operator==(const SlurmReport&) const = default;
};

json::object to_json(const SlurmReport& report);
/// Any bytes: `usage`, with the rule that was broken. Jobs and texts have limits.
Result<SlurmReport> parse_slurm_report(std::string_view body);

}  // namespace assay
