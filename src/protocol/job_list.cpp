#include "protocol/job_list.h"

#include <fmt/format.h>

#include "api/run_types.h"
#include "base/files.h"

namespace assay {

json::object to_json(const std::vector<ListedJob>& jobs) {
  json::array list;
  list.reserve(jobs.size());
  for (const auto& job : jobs) {
    json::object entry{{"run", job.run}, {"stop", job.stop}};
    if (job.part != 0) entry["part"] = job.part;
    list.push_back(std::move(entry));
  }
  return {{"jobs", std::move(list)}};
}

Result<std::vector<ListedJob>> parse_job_list(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  JsonFields fields(value, "jobs");
  std::vector<ListedJob> jobs;
  if (fields.find("jobs") == nullptr) fields.fail("jobs", "is missing");
  for (const auto& item : fields.array_or_empty("jobs")) {
    JsonFields entry(item, "job");
    ListedJob job{.run = entry.text("run"), .stop = entry.boolean_or("stop", false)};
    job.part = entry.small_integer_or("part", 0);
    if (!is_file_name(job.run)) entry.fail("run", "is no id of a run");
    if (job.part < 0) entry.fail("part", "is no part of a run");
    ASSAY_CHECK(entry.finish());
    if (jobs.size() >= kMostListedJobs) {
      return Error{.kind = ErrorKind::bad_file, .message = fmt::format("more than {} jobs", kMostListedJobs)};
    }
    jobs.push_back(std::move(job));
  }
  ASSAY_CHECK(fields.finish());
  return jobs;
}

json::object to_json(const TakenJob& job) {
  json::object object{{"lease", write_api(job.lease)}, {"run", to_json(job.run)}, {"planned", to_json(job.planned)}};
  if (job.part.of > 1) object["part"] = to_json(job.part);
  return object;
}

Result<TakenJob> taken_job_from_json(const json::value& value) {
  const auto* object = value.if_object();
  const auto* lease = object ? object->if_contains("lease") : nullptr;
  const auto* run = object ? object->if_contains("run") : nullptr;
  const auto* planned = object ? object->if_contains("planned") : nullptr;
  if (!lease || !run || !planned) {
    return Error{.kind = ErrorKind::bad_file, .message = "the answer has no lease, no run or no plan"};
  }
  TakenJob job;
  ASSAY_TRY(job.lease, read_api<Lease>(*lease));
  ASSAY_TRY(job.run, run_from_json(*run));
  ASSAY_TRY(job.planned, planned_run_from_json(*planned));
  if (const auto* part = object->if_contains("part")) {
    ASSAY_TRY(job.part, part_of_run_from_json(*part));
  }
  return job;
}

}  // namespace assay
