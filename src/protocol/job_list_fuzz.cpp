// libFuzzer entry: whatever a leader sends, it is a list of jobs or a taken job within the limits, or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "protocol/job_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto jobs = parse_job_list(text);
  if (!jobs) {
    if (jobs.error().message.empty()) std::abort();
  } else {
    if (jobs->size() > kMostListedJobs) std::abort();
    for (const auto& job : *jobs) {
      if (!is_file_name(job.run)) std::abort();
    }
    if (parse_job_list(json::serialize(to_json(*jobs))).value() != *jobs) std::abort();
  }
  if (const auto value = parse_json(text)) {
    const auto job = taken_job_from_json(*value);
    if (job && !taken_job_from_json(to_json(*job))) std::abort();
  }
  return 0;
}
