// libFuzzer entry: whatever a leader sends, it is a list of jobs or a taken job within the limits, or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/job_list.h"
#include "base/files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto jobs = assay::parse_job_list(text);
  if (!jobs) {
    if (jobs.error().message.empty()) std::abort();
  } else {
    if (jobs->size() > assay::kMostListedJobs) std::abort();
    for (const auto& job : *jobs) {
      if (!assay::is_file_name(job.run)) std::abort();
    }
  }
  if (const auto value = assay::parse_json(text)) static_cast<void>(assay::taken_job_from_json(*value).ok());
  return 0;
}
