#include "protocol/slurm_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/slurm_types.h"
#include "base/shortened.h"
#include "protocol/message.h"

namespace assay {
namespace {

constexpr std::size_t kMostWordBytes = 512;
constexpr std::size_t kMostNodesBytes = std::size_t{16} << 10;

bool fits(const SlurmQueueEntry& job) {
  const std::array words = {&job.id, &job.user, &job.name, &job.state, &job.partition, &job.reason};
  return std::all_of(words.begin(), words.end(), [](const auto* word) { return word->size() <= kMostWordBytes; }) &&
         job.nodes.size() <= kMostNodesBytes && !job.id.empty();
}

Result<SlurmReport> read_slurm_report(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  ASSAY_CHECK(check_schema(value, 1, "report of Slurm's jobs"));
  JsonFields fields(value, "report of Slurm's jobs");
  SlurmReport report{.problem = fields.text_or("problem", "")};
  report.jobs.keeps_private = fields.boolean_or("keeps_private", true);
  const auto left_out = fields.integer_or("left_out", 0);
  if (left_out < 0) fields.fail("left_out", "must not be negative");
  report.jobs.left_out = static_cast<std::size_t>(std::max<std::int64_t>(left_out, 0));
  if (report.problem.size() > kMostWordBytes) fields.fail("problem", "must have at most 512 bytes");
  const auto& jobs = fields.array_or_empty("jobs");
  if (jobs.size() > kMostSlurmJobs) fields.fail("jobs", fmt::format("must be at most {}", kMostSlurmJobs));
  ASSAY_CHECK(fields.finish());
  for (const auto& one : jobs) {
    ASSAY_TRY(auto job, read_api<SlurmQueueEntry>(one));
    if (!fits(job)) {
      return Error{.kind = ErrorKind::usage, .message = "a job of Slurm has no id, or texts beyond 512 bytes"};
    }
    report.jobs.jobs.push_back(std::move(job));
  }
  return report;
}

}  // namespace

json::object to_json(const SlurmReport& report) {
  json::array jobs;
  jobs.reserve(report.jobs.jobs.size());
  for (const auto& job : report.jobs.jobs) jobs.push_back(write_api(job));
  return {{"schema", 1},
          {"problem", shortened(report.problem, kMostWordBytes)},
          {"keeps_private", report.jobs.keeps_private},
          {"left_out", report.jobs.left_out},
          {"jobs", std::move(jobs)}};
}

Result<SlurmReport> parse_slurm_report(std::string_view body) { return as_usage(read_slurm_report(body)); }

}  // namespace assay
