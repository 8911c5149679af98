// libFuzzer entry: whatever squeue and scontrol print about jobs of anybody, what comes of it is bounded and readable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launch/slurm/job_listing.h"

namespace {

void must(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(assay::keeps_jobs_private(text));
  for (const bool keeps_private : {false, true}) {
    const auto read = assay::parse_slurm_jobs(text, "m", keeps_private);
    must(read.jobs.size() <= assay::kMostSlurmJobs);
    for (const auto& job : read.jobs) {
      must(!job.id.empty() && !job.state.empty() && job.id.size() <= 128 && job.name.size() <= 128);
      must(job.name.find('\n') == std::string::npos);
      must(job.gpus.value_or(0) >= 0 && job.node_count >= 0);
      must(!keeps_private || (job.user.empty() && job.name.empty()));
    }
  }
  must(assay::names_in_node_list(text, 100).size() <= 100);
  return 0;
}
