#include <fmt/format.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/log.h"
#include "leader/run_desk.h"
#include "leader/run_desk_words.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// Of a job that makes no sense, none that another has: it is given up soon.
std::string lane_of_job(const JobRecord& job) {
  const auto planned = planned_run_from_json(json::value(job.planned));
  return planned ? lane_of(*planned) : std::string("\n");
}

}  // namespace

/// One at a time on each node, in the order of the plan; what names no node, one at a time as well.
Result<RunDesk::Accepted> RunDesk::begin_study(const RunRequest& request) {
  Study study{.name = request.name,
              .tags = request.tags,
              .created = clock_.wall(),
              .source = request.source,
              .spec_hash = request.spec_hash,
              .plan = request.plan};
  for (auto& planned : study.plan) {
    if (planned.node.empty()) planned.node = request.node;
  }
  if (!request.key.empty()) study.id = id_of_key(request);
  if (auto created = runs_.create_study(study); !created) {
    // Asked for with this key before, by whom a killed leader gave no answer.
    if (request.key.empty() || created.error().kind != ErrorKind::busy) return std::move(created).error();
    ASSAY_TRY(study, runs_.find_study(study.id));
  }
  crash_point("study-stored");
  Accepted accepted{.study = study.id, .run = {}};
  std::set<std::string> begun;
  for (std::size_t i = 0; i < study.plan.size(); ++i) {
    if (!begun.insert(lane_of(study.plan[i])).second) continue;
    ASSAY_TRY(auto run, enqueue(study.plan[i], request, study.id, i));
    if (accepted.run.empty()) accepted.run = std::move(run);
  }
  return accepted;
}

/// What was asked for together with a job of a study that goes on, and of which nothing was ever begun: its leader was
/// killed, or its store failed, after it had begun the first.
Result<void> RunDesk::begin_other_lanes(const JobRecord& job) {
  const auto study = runs_.find_study(job.study);
  if (!study) return study.error().kind == ErrorKind::not_found ? Result<void>() : Result<void>(study.error());
  std::set<std::string> begun;
  for (const auto& [id, entry] : entries_) {
    if (entry.job.row.study == job.study) begun.insert(lane_of_job(entry.job.row));
  }
  for (const auto& planned : study->plan) {
    if (begun.contains(lane_of(planned))) continue;
    ASSAY_TRY(const auto progress, progress_of(planned));
    if (progress != Progress::none) begun.insert(lane_of(planned));
  }
  RunRequest request{.plan = {}, .name = study->name, .tags = study->tags, .gpus = job.gpus, .by = job.by};
  request.owner = job.owner;
  request.priority = job.priority;
  request.deadline = job.deadline;
  request.held = job.held;
  request.retries = job.attempts - 1;
  request.after = job.after;
  for (std::size_t i = 0; i < study->plan.size(); ++i) {
    if (!begun.insert(lane_of(study->plan[i])).second) continue;
    ASSAY_CHECK(enqueue(study->plan[i], request, study->id, i));
  }
  return {};
}

Result<std::vector<std::size_t>> RunDesk::resume_study(std::string_view id, const RunRequest& request) {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  ASSAY_TRY(const auto study, runs_.find_study(id));
  ASSAY_CHECK(check_resumable(study, request.node));
  RunRequest rest{.plan = {}, .name = study.name, .tags = study.tags, .node = request.node, .by = request.by};
  rest.gpus = request.gpus;
  rest.owner = request.owner;
  std::vector<std::size_t> todo;
  std::set<std::string> begun;  // nodes on which it goes on; none: wherever it fits
  for (std::size_t i = 0; i < study.plan.size(); ++i) {
    ASSAY_TRY(const auto progress, progress_of(study.plan[i]));
    if (progress == Progress::done) continue;
    todo.push_back(i);
    rest.plan.push_back(study.plan[i]);
    if (progress == Progress::interrupted) rest.plan.back().run.clear();
    if (progress == Progress::going_on) begun.insert(lane_of(study.plan[i]));
  }
  ASSAY_CHECK(check(rest));
  see_nodes();
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const auto& planned = rest.plan[i];
    // One at a time on each node: the rest comes by itself.
    if (!begun.insert(lane_of(planned)).second) continue;
    ASSAY_CHECK(enqueue(planned, rest, study.id, todo[i]));
  }
  ASSAY_CHECK(place_all());
  tell_all();
  return todo;
}

Result<void> RunDesk::check_resumable(const Study& study, const std::string& node) const {
  const auto fits = [&](const PlannedRun& planned) { return planned.node.empty() || planned.node == node; };
  if (!node.empty() && std::none_of(study.plan.begin(), study.plan.end(), fits)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("no run of the study '{}' is for the node '{}'", study.id, node),
                 .hint =
                     "Its plan says where it is done: leave the node out, or ask "
                     "for the specification anew."};
  }
  for (const auto& [run, entry] : entries_) {
    if (entry.job.row.study != study.id || !entry.job.row.stop) continue;
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("the study '{}' is being stopped: its run {} has not ended yet", study.id, run),
                 .hint = "Try again when it has."};
  }
  return {};
}

std::vector<std::string> RunDesk::jobs_of(std::string_view study) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> runs;
  for (const auto& [job, entry] : entries_) {
    if (entry.job.row.study == study) runs.push_back(entry.job.row.current);
  }
  return runs;
}

/// What has become of an entry of a plan.
Result<RunDesk::Progress> RunDesk::progress_of(const PlannedRun& planned) {
  if (planned.run.empty()) return Progress::none;
  const auto run = runs_.find_run(planned.run);
  if (!run && run.error().kind != ErrorKind::not_found) return run.error();
  // Somebody has removed it, or its leader was killed before it had stored the run, or the job.
  if (!run || (run->state == RunState::queued && !job_of_run_.contains(planned.run))) return Progress::none;
  if (was_never_given(*run)) return Progress::none;
  if (run->state != RunState::ended) return Progress::going_on;
  return run->verdict == Verdict::interrupted ? Progress::interrupted : Progress::done;
}

Result<void> RunDesk::stop_study(std::string_view study, std::string_view by) {
  const auto to_stop = [&] {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> runs;
    for (const auto& [run, entry] : entries_) {
      if (entry.job.row.study == study && !entry.job.row.stop) runs.push_back(run);
    }
    return runs;
  };
  if (jobs_of(study).empty()) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("the study '{}' is not going on", study)};
  }
  // One that has ended meanwhile needs no stopping; but then the next may have been begun.
  for (auto runs = to_stop(); !runs.empty(); runs = to_stop()) {
    for (const auto& run : runs) {
      if (auto stopped = stop(run, by); !stopped && stopped.error().kind != ErrorKind::not_found) return stopped;
    }
  }
  return {};
}

/// With what comes next on the node of a run that has ended. Nothing where somebody does it already: a leader that was
/// killed before it had written down that the one before is over. What names no node stays where the first was done,
/// so that the runs of a study can be compared, unless that was lost with its node.
Result<void> RunDesk::go_on_with_study(const JobRecord& done, const Run* run, const std::string& node) {
  const auto lane = lane_of_job(done);
  const auto goes_on = [&](const auto& entry) {
    const auto& job = entry.second.job.row;
    return job.study == done.study && lane_of_job(job) == lane && job.run != done.run;
  };
  if (std::any_of(entries_.begin(), entries_.end(), goes_on)) return {};
  auto study = runs_.find_study(done.study);
  if (!study && study.error().kind == ErrorKind::bad_file) {
    // What it has done is done, and its node is to be free again.
    log_warning("The study {} does not go on: {}", done.study, study.error().text());
    return {};
  }
  if (!study) return study.error().kind == ErrorKind::not_found ? Result<void>() : Result<void>(study.error());
  const bool was_lost = run && run->verdict == Verdict::interrupted;
  for (std::size_t i = done.entry + 1; i < study->plan.size(); ++i) {
    auto& planned = study->plan[i];
    if (lane_of(planned) != lane) continue;
    ASSAY_TRY(const auto progress, progress_of(planned));
    if (progress == Progress::done) continue;
    if (progress == Progress::going_on) return {};
    // A run that has ended is never begun again: another one does its entry.
    if (progress == Progress::interrupted) planned.run.clear();
    RunRequest request{.plan = {}, .name = study->name, .tags = study->tags, .gpus = done.gpus, .by = done.by};
    request.node = was_lost ? lane : node;
    request.owner = done.owner;
    request.priority = done.priority;
    request.deadline = done.deadline;
    request.retries = done.attempts - 1;
    ASSAY_CHECK(enqueue(planned, request, study->id, i));
    return {};
  }
  return {};
}

}  // namespace assay
