// libFuzzer entry: whatever an agent says of Slurm's jobs is within the limits and comes back as it was, or is its own
// mistake.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/slurm_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = assay::parse_slurm_report({reinterpret_cast<const char*>(data), size});
  if (!report) {
    if (report.error().kind != assay::ErrorKind::usage) std::abort();
    return 0;
  }
  if (report->jobs.jobs.size() > assay::kMostSlurmJobs || report->problem.size() > 512) std::abort();
  const auto again = assay::parse_slurm_report(assay::json::serialize(to_json(*report)));
  if (!again || *again != *report) std::abort();
  return 0;
}
