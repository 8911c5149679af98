#include "launch/slurm/job_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "base/shortened.h"
#include "base/text.h"
#include "launch/slurm/slurm_place.h"
#include "launch/slurm/slurm_state.h"

namespace assay {
namespace {

/// In the order in which squeue is asked for them.
enum JobField : std::size_t {
  kId,
  kUser,
  kState,
  kPartition,
  kReason,
  kNodes,
  kNodeCount,
  kTasks,
  kAllocated,
  kPerJob,
  kPerNode,
  kPerTask,
  kPerSocket,
  kStart,
  kSubmit,
  kComment,
  kName,
  kJobFields,
};
constexpr std::array<std::string_view, kJobFields> kJobFieldNames = {
    "JobArrayID",      "UserName",  "State",      "Partition",    "Reason",        "NodeList",
    "NumNodes",        "NumTasks",  "tres-alloc", "tres-per-job", "tres-per-node", "tres-per-task",
    "tres-per-socket", "StartTime", "SubmitTime", "Comment",      "Name"};

constexpr std::size_t kWordLimit = 128;
constexpr std::size_t kNodesLimit = std::size_t{16} << 10;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string word_in(std::string_view text, std::size_t limit = kWordLimit) {
  auto word = said_by_slurm(text);
  std::replace_if(word.begin(), word.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return shortened(word, limit);
}

/// In `cpu=4,gres/gpu=2`, `gres:gpu:h100:2` or `gres/gpu:h100=2`, with those of several kinds added up; nothing where
/// it does not speak of GPUs.
std::optional<std::int64_t> gpus_in(std::string_view resources) {
  std::optional<std::int64_t> with_kind;
  std::optional<std::int64_t> in_all;
  for (auto item : split(resources, ',')) {
    item = trim(item.substr(0, item.find('(')));
    if (!item.starts_with("gres:") && !item.starts_with("gres/")) continue;
    item.remove_prefix(5);
    if (item != "gpu" && !item.starts_with("gpu:") && !item.starts_with("gpu=")) continue;
    const auto last = item.find_last_of(":=");
    // `gpu` and `gpu:h100` mean one.
    const auto written = last == std::string_view::npos ? std::nullopt : number_in(item.substr(last + 1));
    const auto count = std::min<std::int64_t>(written.value_or(1), 1'000'000);
    // Slurm lists both the sum and its parts: `gres/gpu=3,gres/gpu:a100=1,gres/gpu:h100=2`.
    auto& sum = item.starts_with("gpu=") ? in_all : with_kind;
    sum = sum.value_or(0) + count;
  }
  return in_all ? in_all : with_kind;
}

/// Sites that do not count GPUs among what they give out say what was asked for.
std::optional<std::int64_t> gpus_of(const std::array<std::string_view, kJobFields>& fields) {
  if (const auto given = gpus_in(fields[kAllocated])) return given;
  if (const auto of_job = gpus_in(fields[kPerJob])) return of_job;
  const auto count = [&](JobField field) {
    return std::clamp<std::int64_t>(number_in(trim(fields[field])).value_or(1), 1, 1'000'000);
  };
  if (const auto on_each = gpus_in(fields[kPerNode])) return *on_each * count(kNodeCount);
  if (const auto for_each = gpus_in(fields[kPerTask])) return *for_each * count(kTasks);
  // Nobody says how many sockets it gets.
  if (gpus_in(fields[kPerSocket])) return std::nullopt;
  return 0;
}

/// Slurm was asked for seconds since 1970.
std::optional<WallTime> slurm_time_in(std::string_view text) {
  const auto seconds = number_in(trim(text));
  constexpr std::int64_t kLatest = 9'000'000'000;
  if (!seconds || *seconds == 0 || *seconds > kLatest) return std::nullopt;
  return WallTime(std::chrono::seconds(*seconds));
}

std::optional<SlurmQueueEntry> job_in(const std::array<std::string_view, kJobFields>& fields, bool keeps_private) {
  SlurmQueueEntry job{.id = word_in(fields[kId]), .state = word_in(fields[kState])};
  if (job.id.empty() || job.id.front() < '0' || job.id.front() > '9' || job.state.empty()) return std::nullopt;
  job.partition = word_in(fields[kPartition]);
  job.nodes = word_in(fields[kNodes], kNodesLimit);
  job.node_count = std::min<std::int64_t>(number_in(trim(fields[kNodeCount])).value_or(0), 1'000'000);
  job.gpus = gpus_of(fields);
  job.since = slurm_time_in(fields[job.nodes.empty() ? kSubmit : kStart]);
  if (job.nodes.empty()) job.reason = word_in(fields[kReason]);
  job.of_assay = trim(fields[kComment]).starts_with(slurm_comment(""));
  if (keeps_private) return job;
  job.user = word_in(fields[kUser]);
  job.name = word_in(fields[kName]);
  return job;
}

}  // namespace

std::string slurm_jobs_format(std::string_view mark) {
  std::string format = "--Format=";
  for (const auto name : kJobFieldNames) {
    format += fmt::format("{}{}:0<{}>", format.back() == '=' ? "" : ",", name, mark);
  }
  return format;
}

SlurmJobs parse_slurm_jobs(std::string_view printed, std::string_view mark, bool keeps_private) {
  const std::string end = fmt::format("<{}>", mark);
  SlurmJobs read{.keeps_private = keeps_private};
  std::vector<SlurmQueueEntry> waiting;
  std::array<std::string_view, kJobFields> fields;
  std::size_t known = 0;
  for (auto at = printed.find(end); at != std::string_view::npos; at = printed.find(end)) {
    fields[known++] = printed.substr(0, at);
    printed.remove_prefix(at + end.size());
    if (known < kJobFields) continue;
    known = 0;
    auto job = job_in(fields, keeps_private);
    if (!job) continue;
    auto& list = job->nodes.empty() ? waiting : read.jobs;
    if (list.size() < kMostSlurmJobs) {
      list.push_back(std::move(*job));
    } else {
      ++read.left_out;
    }
  }
  const std::size_t room = std::min(kMostSlurmJobs - read.jobs.size(), waiting.size());
  read.left_out += waiting.size() - room;
  waiting.resize(room);
  std::move(waiting.begin(), waiting.end(), std::back_inserter(read.jobs));
  return read;
}

bool keeps_jobs_private(std::string_view config) {
  for (const auto line : split(config, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || trim(line.substr(0, equals)) != "PrivateData") continue;
    const auto kinds = split(line.substr(equals + 1), ',');
    return std::any_of(kinds.begin(), kinds.end(), [](std::string_view kind) { return trim(kind) == "jobs"; });
  }
  return true;
}

Result<SlurmJobs> read_slurm_jobs(const SlurmCommands& commands) {
  constexpr const char* kAsking = "asking Slurm for its jobs";
  ASSAY_TRY(const auto config, commands.config().within(kAsking));
  const std::string mark = new_id();
  ASSAY_TRY(const auto printed, commands.jobs(slurm_jobs_format(mark)).within(kAsking));
  return parse_slurm_jobs(printed, mark, keeps_jobs_private(config));
}

}  // namespace assay
