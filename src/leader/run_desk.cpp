#include "leader/run_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/ids.h"
#include "base/log.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk_words.h"
#include "net/sse.h"
#include "runs/study_run.h"
#include "spec/spec.h"
#include "store/cluster_store.h"
#include "store/run_store.h"

namespace assay {
namespace {

constexpr Nanos kOwnLease = std::chrono::seconds(30);
/// Who asks for more has mistaken something.
constexpr int kMostRetries = 100;
constexpr int kFarthestPriority = 1'000'000;

Error key_is_taken(const RunRequest& request, std::string_view by) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("the key '{}' was used for another specification, by {}", request.key, by),
          .hint = "A key stands for one order: take another one."};
}

}  // namespace

Error no_such_job(std::string_view run) {
  return {.kind = ErrorKind::not_found,
          .message = fmt::format("nobody asked the cluster for the run '{}', or it has ended", run)};
}

/// The same for everybody who asks with this key, and for nobody else.
std::string RunDesk::id_of_key(const RunRequest& request) {
  return id_from(fmt::format("order of {}\n{}", request.owner.empty() ? request.by : request.owner, request.key));
}

RunDesk::RunDesk(RunStore& runs, ClusterStore& cluster, const NodeRegistry& nodes, const Clock& clock, Options options)
    : runs_(runs),
      cluster_(cluster),
      nodes_(nodes),
      clock_(clock),
      options_(std::move(options)),
      started_(clock.wall()),
      scheduler_(options_.scheduler) {}

Result<void> RunDesk::load() {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(seen_change_, runs_.newest_change());
  ASSAY_TRY(auto jobs, cluster_.jobs().list());
  see_nodes();
  ASSAY_CHECK(read_history());
  for (const auto& job : jobs) {
    job_of_run_[job.row.current] = job.row.run;
    entries_[job.row.run].job = job;
  }
  std::vector<std::string> never;
  for (const auto& job : jobs) {
    // Whoever ended a job told its dependents first, unless it did not succeed.
    const auto is_gone = [&](const std::string& other) { return !entries_.contains(other); };
    if (std::any_of(job.row.after.begin(), job.row.after.end(), is_gone)) never.push_back(job.row.run);
    if (auto queued = queue_up(entries_.at(job.row.run)); !queued) ASSAY_CHECK(give_up(job.row.run, queued.error()));
  }
  for (const auto& job : jobs) {
    if (entries_.contains(job.row.run)) settle_or_keep_back(job.row.run);
  }
  end_what_never_runs(never);
  std::map<std::string, JobRecord> studies;
  for (const auto& [id, entry] : entries_) {
    if (!entry.job.row.study.empty() && !entry.job.row.stop) studies.emplace(entry.job.row.study, entry.job.row);
  }
  for (const auto& [study, job] : studies) {
    if (auto begun = begin_other_lanes(job); !begun) log_warning("Study {}: {}", study, begun.error().text());
  }
  return close_unfinished();
}

/// A job that this leader cannot read, or that makes no sense to it, is nobody's to do.
Result<void> RunDesk::give_up(const std::string& job, const Error& why) {
  const auto run = entries_.at(job).job.row.current;
  log_warning("Run {} is given up: {}", run, why.text());
  if (auto ended = end_before_it_began(run, why.text()); !ended) log_warning("Run {}: {}", run, ended.error().text());
  ASSAY_CHECK(cluster_.jobs().remove(job));
  job_of_run_.erase(run);
  entries_.erase(job);
  return {};
}

// --- asking ---------------------------------------------------------------------------------------------------------

Result<void> RunDesk::check_node(const std::string& name, const RunRequest& request) const {
  const auto node = nodes_.find(name);
  if (!node) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("there is no node '{}'", name),
                 .hint = "`assay nodes` lists them."};
  }
  const auto record = node->record();
  if (std::find(record.allow.begin(), record.allow.end(), "run") == record.allow.end()) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("the agent of '{}' takes no runs", name),
                 .hint = "It does when it is started with --allow run."};
  }
  for (const auto& wanted : request.gpus.value_or(std::vector<std::string>())) {
    const auto is_it = [&](const NodeRecord::Device& device) { return device.id == wanted; };
    if (std::any_of(record.devices.begin(), record.devices.end(), is_it)) continue;
    return Error{.kind = ErrorKind::usage, .message = fmt::format("the node '{}' has no GPU '{}'", name, wanted)};
  }
  return {};
}

Result<void> RunDesk::check(const RunRequest& request) const {
  std::set<std::string> nodes;
  for (const auto& planned : request.plan) {
    if (planned.nodes > 1) {
      ASSAY_CHECK(check_gang(planned, request));
      continue;
    }
    const auto& name = planned.node.empty() ? request.node : planned.node;
    if (!name.empty()) {
      nodes.insert(name);
    } else if (request.gpus && !request.gpus->empty()) {
      return Error{.kind = ErrorKind::usage,
                   .message = "GPUs were named, but not their node",
                   .hint = "Say whose they are: --node gpu03."};
    }
  }
  for (const auto& name : nodes) ASSAY_CHECK(check_node(name, request));
  if (request.retries < 0 || request.retries > kMostRetries) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' further attempts: 0 to {} will do", request.retries, kMostRetries)};
  }
  if (std::abs(request.priority) > kFarthestPriority) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("a priority of '{}': from -{} to {} will do", request.priority,
                                        kFarthestPriority, kFarthestPriority)};
  }
  return {};
}

Result<RunDesk::Accepted> RunDesk::ask(const RunRequest& request) {
  ASSAY_CHECK(check(request));
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  ASSAY_TRY(auto before, asked_before(request));
  if (before) return std::move(*before);
  if (entries_.size() >= kMostJobs) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("{} runs are waiting already", entries_.size())};
  }
  see_nodes();
  auto wanted = request;
  ASSAY_TRY(wanted.after, jobs_to_wait_for(request.after));
  crash_point("asked");
  Accepted accepted;
  if (wanted.plan.size() == 1) {
    if (!wanted.key.empty()) wanted.plan.front().run = id_of_key(wanted);
    ASSAY_TRY(accepted.run, enqueue(wanted.plan.front(), wanted, "", 0));
  } else {
    ASSAY_TRY(accepted, begin_study(wanted));
  }
  ASSAY_CHECK(place_all());
  tell_all();
  return accepted;
}

Result<std::optional<RunDesk::Accepted>> RunDesk::answered(const RunRequest& request) {
  const std::lock_guard lock(mutex_);
  return asked_before(request);
}

/// What an order with this key was answered with. A run that a killed leader had stored without anybody to do it counts
/// as never asked for: whoever asked was given no answer, and asks again.
Result<std::optional<RunDesk::Accepted>> RunDesk::asked_before(const RunRequest& request) {
  std::optional<Accepted> before;
  if (request.key.empty()) return before;
  const auto id = id_of_key(request);
  const auto run = runs_.find_run(id);
  if (!run && run.error().kind != ErrorKind::not_found) return run.error();
  if (run) {
    const bool is_same =
        request.plan.size() == 1 && prepare_run(request.plan.front(), "", {}).spec_hash == run->spec_hash;
    if (!is_same) return key_is_taken(request, "the run " + id);
    const bool is_nobodys = run->state == RunState::queued && !job_of_run_.contains(id);
    if (!is_nobodys && !was_never_given(*run)) before = Accepted{.study = {}, .run = id};
    return before;
  }
  const auto study = runs_.find_study(id);
  if (!study && study.error().kind != ErrorKind::not_found) return study.error();
  if (!study) return before;
  if (study->spec_hash != request.spec_hash) return key_is_taken(request, "the study " + id);
  for (const auto& planned : study->plan) {
    ASSAY_TRY(const auto progress, progress_of(planned));
    if (progress == Progress::none) continue;
    before = Accepted{.study = id, .run = planned.run};
    // Its store may have failed before all of it was begun.
    for (const auto& [job, entry] : entries_) {
      if (entry.job.row.study != id || entry.job.row.stop) continue;
      const auto row = entry.job.row;
      ASSAY_CHECK(begin_other_lanes(row));
      break;
    }
    return before;
  }
  return before;
}

/// Jobs among these runs that have not ended; those that have must have succeeded.
Result<std::vector<std::string>> RunDesk::jobs_to_wait_for(const std::vector<std::string>& runs) {
  std::vector<std::string> jobs;
  for (const auto& id : runs) {
    if (const auto entry = entry_of(id); entry != entries_.end()) {
      jobs.push_back(entry->first);
      continue;
    }
    ASSAY_TRY(const auto run, runs_.find_run(id));
    if (run.state != RunState::ended) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("the run '{}' is none that the cluster was asked for", id),
                   .hint = "Nobody here knows when it ends. `assay queue` lists those that can be waited for."};
    }
    if (has_succeeded(run.verdict)) continue;
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("the run '{}' is to come first, and did not succeed", id),
                 .hint = "`assay show " + id + "` says why."};
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

/// In this order: whatever a killed leader has left out is done by `go_on_with_study` or ended by `close_unfinished`.
Result<std::string> RunDesk::enqueue(const PlannedRun& planned, const RunRequest& request, const std::string& study,
                                     std::size_t entry) {
  Run run = prepare_run(planned, request.name, request.tags);
  run.id = planned.run.empty() ? new_id() : planned.run;
  run.created = clock_.wall();
  run.study = study;
  if (study.empty()) run.variant.clear();  // there is nothing it is a variant of
  // What one node is asked for, or was before in a study, says nothing of a run over several.
  if (planned.nodes <= 1) run.placement.node = planned.node.empty() ? request.node : planned.node;
  Entry added;
  added.job.row = {.run = run.id,
                   .current = run.id,
                   .node = run.placement.node,
                   .created = run.created,
                   .by = request.by,
                   .owner = request.owner,
                   .planned = to_json(planned),
                   .gpus = planned.nodes <= 1 ? request.gpus : std::nullopt,
                   .study = study,
                   .entry = entry,
                   .priority = request.priority,
                   .held = request.held,
                   .after = request.after,
                   .attempts = 1 + request.retries,
                   .deadline = request.deadline};
  ASSAY_CHECK(request_of(added, planned));  // needs that make no sense are better said before anything is stored
  if (!study.empty()) ASSAY_CHECK(runs_.note_planned_run(study, entry, run.id));
  crash_point("run-noted");
  if (!planned.run.empty()) ASSAY_CHECK(remove_never_given(run.id));
  if (auto stored = runs_.add_run(run); !stored && (planned.run.empty() || stored.error().kind != ErrorKind::busy)) {
    return std::move(stored).error();
  }
  crash_point("run-listed");
  auto revision = cluster_.jobs().put(added.job);
  if (!revision) {
    // Nobody is to find it waiting for what will not come.
    auto ended = end_before_it_began(run.id, std::string(kNeverGiven));
    if (!ended) log_warning("Run {}: {}", run.id, ended.error().text());
    return std::move(revision).error();
  }
  added.job.revision = *revision;
  crash_point("job-stored");
  note_name(added, run);
  job_of_run_[run.id] = run.id;
  auto& kept = entries_[run.id] = std::move(added);
  ASSAY_CHECK(queue_up(kept));
  return run.id;
}

/// One that was stored when its leader was killed, or when there was no room for its job, gives its id back.
Result<void> RunDesk::remove_never_given(const std::string& run) {
  const auto found = runs_.find_run(run);
  if (!found) return found.error().kind == ErrorKind::not_found ? Result<void>() : Result<void>(found.error());
  return was_never_given(*found) ? runs_.remove_run(run) : Result<void>();
}

// --- changing what waits --------------------------------------------------------------------------------------------

RunDesk::Entries::iterator RunDesk::entry_of(std::string_view run) {
  const auto job = job_of_run_.find(run);
  return entries_.find(job == job_of_run_.end() ? run : std::string_view(job->second));
}

/// Of a run that was named by a person, who may have looked at the queue a moment too early.
Error RunDesk::not_in_queue(std::string_view run) const {
  const auto known = runs_.find_run(run);
  if (!known || known->state != RunState::ended) return no_such_job(run);
  return {.kind = ErrorKind::not_found,
          .message = fmt::format("the run '{}' has ended", run),
          .hint = fmt::format("`assay show {}` says how.", run)};
}

Result<RunDesk::Entries::iterator> RunDesk::waiting_entry(std::string_view run) {
  ASSAY_CHECK(refresh());
  const auto found = entry_of(run);
  if (found == entries_.end()) return not_in_queue(run);
  if (found->second.state != RunState::queued) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("the run '{}' has begun on {}", run, found->second.place.front().node),
                 .hint = "`assay cancel` ends it."};
  }
  return found;
}

Result<void> RunDesk::store(Entry& entry, JobRecord changed) {
  Stored<JobRecord> job{.row = std::move(changed), .revision = entry.job.revision};
  ASSAY_TRY(job.revision, cluster_.jobs().put(job));
  entry.job = std::move(job);
  return {};
}

Result<void> RunDesk::stop(std::string_view run, std::string_view by) {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  const auto found = entry_of(run);
  if (found == entries_.end()) return not_in_queue(run);
  auto& entry = found->second;
  if (!entry.job.row.stop) {
    auto job = entry.job.row;
    job.stop = true;
    ASSAY_CHECK(store(entry, std::move(job)));
    crash_point("stop-stored");
    log_info("Run {}{} is to stop, says {}.", run, entry.place.empty() ? "" : " on " + entry.place.front().node, by);
  }
  if (entry.state == RunState::queued) {
    ASSAY_CHECK(end_before_it_began(entry.job.row.current, fmt::format("it was stopped by {} before it began", by)));
    ASSAY_CHECK(settle(std::string(found->first)));
  }
  ASSAY_CHECK(place_all());
  tell_all();
  return {};
}

Result<void> RunDesk::hold(std::string_view run) {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto found, waiting_entry(run));
  auto& entry = found->second;
  if (!entry.job.row.held) {
    auto job = entry.job.row;
    job.held = true;
    ASSAY_CHECK(store(entry, std::move(job)));
    crash_point("hold-stored");
  }
  // Its node was offered it, and has not taken it yet: from now on it is refused.
  if (!entry.place.empty()) ASSAY_CHECK(scheduler_.take_back(found->first, clock_.wall()));
  entry.place.clear();
  ASSAY_CHECK(scheduler_.hold(found->first));
  ASSAY_CHECK(place_all());
  tell_all();
  return {};
}

Result<void> RunDesk::release(std::string_view run) {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto found, waiting_entry(run));
  auto& entry = found->second;
  if (entry.job.row.held) {
    auto job = entry.job.row;
    job.held = false;
    ASSAY_CHECK(store(entry, std::move(job)));
    crash_point("release-stored");
  }
  ASSAY_CHECK(scheduler_.release(found->first, clock_.wall()));
  ASSAY_CHECK(place_all());
  tell_all();
  return {};
}

Result<void> RunDesk::set_priority(std::string_view run, int priority) {
  RunRequest wanted;
  wanted.priority = priority;
  ASSAY_CHECK(check(wanted));
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(const auto found, waiting_entry(run));
  auto job = found->second.job.row;
  job.priority = priority;
  ASSAY_CHECK(store(found->second, std::move(job)));
  crash_point("priority-stored");
  ASSAY_CHECK(reconsider(found->second));
  ASSAY_CHECK(place_all());
  tell_all();
  return {};
}

/// Unless somebody was quicker and has taken it.
Result<void> RunDesk::end_before_it_began(const std::string& run, std::string why) {
  const auto lease = runs_.take_run(run, {.owner = std::string(kLeaderOwner), .length = kOwnLease});
  if (!lease) return lease.error().kind == ErrorKind::busy ? Result<void>() : Result<void>(lease.error());
  ASSAY_CHECK(runs_.change_owned(*lease, [&](Run& ended) -> Result<void> {
    ended.state = RunState::ended;
    ended.verdict = Verdict::interrupted;
    ended.ended = clock_.wall();
    ended.error = RunError{.kind = ErrorKind::interrupted, .message = std::move(why), .hint = ""};
    return {};
  }));
  return {};
}

// --- agents ---------------------------------------------------------------------------------------------------------

EventStream RunDesk::listen(std::string_view node, std::function<bool()> still_allowed) {
  const std::lock_guard lock(mutex_);
  const auto before = listeners_.find(node);
  if (before != listeners_.end()) {
    before->second.stream.finish();
    listeners_.erase(before);
  }
  auto& listener = listeners_[std::string(node)];
  listener.still_allowed = std::move(still_allowed);
  auto stream = listener.stream;
  tell(std::string(node), listener);
  return stream;
}

Result<TakenJob> RunDesk::take(std::string_view node, std::string_view run) {
  const std::lock_guard lock(mutex_);
  const auto found = entry_of(run);
  const bool is_current = found != entries_.end() && found->second.job.row.current == run;
  const auto part = is_current ? found->second.part_of(node) : std::nullopt;
  if (!part) return no_such_job(run);
  auto& entry = found->second;
  TakenJob taken;
  ASSAY_TRY(taken.planned, planned_run_from_json(json::value(entry.job.row.planned)));
  if (*part > 0) return take_part(entry, *part, std::move(taken));
  ASSAY_TRY(taken.lease, runs_.take_run(run, {.owner = std::string(node), .length = options_.lease}));
  crash_point("run-taken");
  ASSAY_TRY(taken.run, runs_.find_run(run));
  entry.state = taken.run.state;
  if (!entry.is_gang()) return taken;
  taken.part = {.number = 0, .of = static_cast<int>(entry.place.size()), .epoch = taken.lease.epoch, .meeting = {}};
  gather(entry);
  // The others may begin now.
  tell_all();
  return taken;
}

/// The whole list, for an agent to compare with what it does.
void RunDesk::tell(const std::string& node, Listener& listener) {
  std::vector<ListedJob> jobs;
  for (const auto& [id, entry] : entries_) {
    const auto part = entry.part_of(node);
    if (!part) continue;
    // Further nodes begin when the first one has; they end with it, whoever ended it.
    if (*part > 0 && entry.state == RunState::queued) continue;
    const bool is_over = *part > 0 && !entry.gang.parts.empty() && entry.gang.parts.front().error;
    jobs.push_back({.run = entry.job.row.current, .stop = entry.job.row.stop || is_over, .part = *part});
  }
  auto text = json::serialize(to_json(jobs));
  if (text == listener.told) return;
  if (listener.stream.send({.event = kJobsEvent, .data = text})) listener.told = std::move(text);
}

void RunDesk::tell_all() {
  for (auto listener = listeners_.begin(); listener != listeners_.end();) {
    const bool allowed = !listener->second.still_allowed || listener->second.still_allowed();
    if (!allowed) listener->second.stream.finish();
    if (!allowed || !listener->second.stream.open()) {
      listener = listeners_.erase(listener);
      continue;
    }
    tell(listener->first, listener->second);
    ++listener;
  }
}

void RunDesk::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& [node, listener] : listeners_) listener.stream.finish();
  listeners_.clear();
}

Result<void> RunDesk::tick() {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  look_again_at_kept_back();
  for (auto& [id, entry] : entries_) {
    if (entry.state != RunState::starting && entry.state != RunState::running) continue;
    look_after(entry);
    if (auto looked = close_lost(entry); !looked) keep_back(id, looked.error());
  }
  last_look_ = clock_.now();
  ASSAY_CHECK(refresh());
  see_nodes();
  see_rules();
  ASSAY_CHECK(place_all());
  tell_all();
  return first_trouble();
}

}  // namespace assay
