#include "leader/run_desk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/ids.h"
#include "base/log.h"
#include "runs/study.h"
#include "spec/spec.h"
#include "store/run_query.h"

namespace assay {
namespace {

/// What a run needs that uses no GPU.
constexpr std::string_view kCpus = "cpus";
constexpr std::string_view kLeaderOwner = "the leader";
constexpr std::size_t kChangesAtOnce = 10'000;
constexpr Nanos kOwnLease = std::chrono::seconds(30);

std::vector<std::string> gpus_of(const NodeRecord& node) {
  std::vector<std::string> ids;
  for (const auto& device : node.devices) ids.push_back(device.id);
  return ids;
}

std::string text_setting(const json::object& spec, std::string_view key) {
  const auto* value = find_setting(spec, key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

/// How many of the node's GPUs a run uses that asked for none by name.
std::size_t gpus_needed(const PlannedRun& planned, std::size_t gpus) {
  const auto kind = text_setting(planned.spec, "kind");
  if (kind == "null" || text_setting(planned.spec, "device") == "cpu") return 0;
  // Nobody knows what a program uses: it gets all of them.
  if (kind == "command") return gpus;
  return std::min(gpus, static_cast<std::size_t>(std::max(planned.ranks, 1)));
}

bool disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::none_of(a.begin(), a.end(), [&](const std::string& one) { return b.contains(one); });
}

Error no_job(std::string_view run) {
  return {.kind = ErrorKind::not_found,
          .message = fmt::format("nobody asked the cluster for the run '{}', or it has ended", run)};
}

}  // namespace

RunDesk::RunDesk(RunStore& runs, ClusterStore& cluster, const NodeRegistry& nodes, const Clock& clock, Options options)
    : runs_(runs), cluster_(cluster), nodes_(nodes), clock_(clock), options_(options), started_(clock.wall()) {}

Result<void> RunDesk::load() {
  const std::lock_guard lock(mutex_);
  ASSAY_TRY(seen_change_, runs_.newest_change());
  ASSAY_TRY(auto jobs, cluster_.jobs().list());
  for (const auto& job : jobs) entries_[job.row.run].job = job;
  for (const auto& job : jobs) ASSAY_CHECK(settle(job.row.run));
  return close_unfinished();
}

/// What a leader had begun when it was killed: runs that it had stored, but not yet written down who is to do them (so
/// that whoever asked was given no answer); runs that were to stop before they began; and runs that it was closing,
/// which nobody else can take from it.
Result<void> RunDesk::close_unfinished() {
  ASSAY_TRY(const auto open, runs_.list_runs({.conditions = {{"state", Condition::Op::not_equal, "ended"}}}));
  for (const auto& row : open.rows) {
    const auto run = runs_.find_run(row.id);
    if (!run && run.error().kind != ErrorKind::not_found) return run.error();
    if (!run || run->state == RunState::ended) continue;
    ASSAY_TRY(const auto lease, runs_.find_lease(row.id));
    const bool ours = lease && lease->owner == kLeaderOwner;
    const auto found = entries_.find(row.id);
    const bool is_job = found != entries_.end();
    const bool is_to_stop = is_job && found->second.job.row.stop;
    const bool is_nobodys = run->state == RunState::queued && (!is_job || is_to_stop);
    if (!ours && !is_nobodys) continue;
    if (!is_job) {
      ASSAY_CHECK(end_before_it_began(row.id, "the leader was killed before it could give it to a node"));
    } else if (is_to_stop && run->state != RunState::running) {
      ASSAY_CHECK(end_before_it_began(row.id, "it was stopped before it began"));
    } else {
      ASSAY_CHECK(close_run_of(run->placement.node, row.id, clock_.wall()));
    }
  }
  return {};
}

// --- asking ---------------------------------------------------------------------------------------------------------
Result<void> RunDesk::check(const RunRequest& request) const {
  std::set<std::string> nodes;
  for (const auto& planned : request.plan) {
    if (planned.nodes > 1) {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("a run over {} nodes cannot be done by agents yet", planned.nodes)};
    }
    const auto& name = planned.node.empty() ? request.node : planned.node;
    if (name.empty()) {
      return Error{.kind = ErrorKind::usage,
                   .message = "the run names no node",
                   .hint = "Say which: `nodes: [gpu03]` in the specification, or --node gpu03."};
    }
    nodes.insert(name);
  }
  for (const auto& name : nodes) {
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
    const auto gpus = gpus_of(record);
    for (const auto& wanted : request.gpus.value_or(std::vector<std::string>())) {
      if (std::find(gpus.begin(), gpus.end(), wanted) != gpus.end()) continue;
      return Error{.kind = ErrorKind::usage, .message = fmt::format("the node '{}' has no GPU '{}'", name, wanted)};
    }
  }
  return {};
}

Result<RunDesk::Accepted> RunDesk::ask(const RunRequest& request) {
  ASSAY_CHECK(check(request));
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMostJobs) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("{} runs are waiting already", entries_.size())};
  }
  crash_point("asked");
  Accepted accepted;
  if (request.plan.size() == 1) {
    ASSAY_TRY(accepted.run, enqueue(request.plan.front(), request, "", 0));
  } else {
    ASSAY_TRY(accepted, begin_study(request));
  }
  ASSAY_CHECK(place_all());
  tell_all();
  return accepted;
}

/// In this order: whatever a killed leader has left out is done by `go_on_with_study` or ended by `close_unfinished`.
Result<std::string> RunDesk::enqueue(const PlannedRun& planned, const RunRequest& request, const std::string& study,
                                     std::size_t entry) {
  Run run = prepare_run(planned, request.name, request.tags);
  run.id = planned.run.empty() ? new_id() : planned.run;
  run.created = clock_.wall();
  run.study = study;
  if (study.empty()) run.variant.clear();  // there is nothing it is a variant of
  run.placement.node = planned.node.empty() ? request.node : planned.node;
  Entry added;
  added.job.row = {.run = run.id,
                   .node = run.placement.node,
                   .created = run.created,
                   .by = request.by,
                   .planned = to_json(planned),
                   .gpus = request.gpus,
                   .study = study,
                   .entry = entry};
  if (!study.empty()) ASSAY_CHECK(runs_.note_planned_run(study, entry, run.id));
  crash_point("run-noted");
  if (auto stored = runs_.add_run(run); !stored && (planned.run.empty() || stored.error().kind != ErrorKind::busy)) {
    return std::move(stored).error();
  }
  crash_point("run-listed");
  ASSAY_TRY(added.job.revision, cluster_.jobs().put(added.job));
  crash_point("job-stored");
  entries_[run.id] = std::move(added);
  return run.id;
}

Result<void> RunDesk::stop(std::string_view run, std::string_view by) {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  const auto found = entries_.find(run);
  if (found == entries_.end()) return no_job(run);
  auto& entry = found->second;
  if (!entry.job.row.stop) {
    auto job = entry.job;
    job.row.stop = true;
    ASSAY_TRY(job.revision, cluster_.jobs().put(job));
    crash_point("stop-stored");
    entry.job = std::move(job);
    log_info("Run {} on {} is to stop, says {}.", run, entry.job.row.node, by);
  }
  if (entry.state == RunState::queued) {
    ASSAY_CHECK(end_before_it_began(std::string(run), fmt::format("it was stopped by {} before it began", by)));
    ASSAY_CHECK(settle(std::string(run)));
  }
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
  const auto found = entries_.find(run);
  if (found == entries_.end() || found->second.job.row.node != node || !found->second.needs) return no_job(run);
  auto& entry = found->second;
  TakenJob taken;
  ASSAY_TRY(taken.planned, planned_run_from_json(json::value(entry.job.row.planned)));
  ASSAY_TRY(taken.lease, runs_.take_run(run, {.owner = std::string(node), .length = options_.lease}));
  crash_point("run-taken");
  ASSAY_TRY(taken.run, runs_.find_run(run));
  entry.state = taken.run.state;
  return taken;
}

/// The whole list, for an agent to compare with what it does.
void RunDesk::tell(const std::string& node, Listener& listener) {
  std::vector<ListedJob> jobs;
  for (const auto& [run, entry] : entries_) {
    if (entry.job.row.node == node && entry.needs) jobs.push_back({.run = run, .stop = entry.job.row.stop});
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

// --- upkeep ---------------------------------------------------------------------------------------------------------

Result<void> RunDesk::tick() {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  for (const auto& [run, entry] : entries_) {
    if (entry.state == RunState::starting || entry.state == RunState::running) ASSAY_CHECK(close_lost(entry));
  }
  ASSAY_CHECK(refresh());
  ASSAY_CHECK(place_all());
  tell_all();
  return {};
}

/// Takes in what has changed in the store since the last time.
Result<void> RunDesk::refresh() {
  for (;;) {
    ASSAY_TRY(const auto changes, runs_.changes(seen_change_, kChangesAtOnce));
    for (const auto& change : changes) {
      if (entries_.contains(change.run)) ASSAY_CHECK(settle(change.run));
      seen_change_ = change.sequence;
    }
    if (changes.size() < kChangesAtOnce) return {};
  }
}

/// Brings one entry up to date with its run; one that has ended or is gone is over, and a study goes on.
Result<void> RunDesk::settle(const std::string& run) {
  auto& entry = entries_.at(run);
  const auto found = runs_.find_run(run);
  if (!found && found.error().kind != ErrorKind::not_found) return found.error();
  if (found && found->state != RunState::ended) {
    entry.state = found->state;
    // What it was given before the leader was started again is still its own.
    if (found->state != RunState::queued && !entry.needs) {
      const auto& gpus = found->placement.gpus;
      entry.needs = gpus && !gpus->empty() ? std::set<std::string>(gpus->begin(), gpus->end())
                                           : std::set<std::string>{std::string(kCpus)};
    }
    return {};
  }
  const auto job = entry.job.row;
  // First what comes next, then what is over: whatever happens in between is done again and changes nothing.
  if (!job.study.empty() && !job.stop) ASSAY_CHECK(go_on_with_study(job));
  crash_point("study-went-on");
  ASSAY_CHECK(cluster_.jobs().remove(run));
  crash_point("job-removed");
  entries_.erase(run);
  return {};
}

Result<void> RunDesk::place_all() {
  std::map<std::string, std::vector<Entry*>> waiting;
  std::map<std::string, std::set<std::string>> taken;
  for (auto& [run, entry] : entries_) {
    const auto& node = entry.job.row.node;
    if (entry.needs) {
      taken[node].insert(entry.needs->begin(), entry.needs->end());
    } else {
      waiting[node].push_back(&entry);
    }
  }
  for (auto& [node, entries] : waiting) ASSAY_CHECK(place(node, entries, taken[node]));
  return {};
}

Result<void> RunDesk::place(const std::string& name, const std::vector<Entry*>& waiting, std::set<std::string> taken) {
  const auto node = nodes_.find(name);
  if (!node || node->state(clock_.now()) != NodeState::online) return {};
  auto in_order = waiting;
  std::sort(in_order.begin(), in_order.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->job.row.created, a->job.row.run) < std::pair(b->job.row.created, b->job.row.run);
  });
  const auto all = gpus_of(node->record());
  for (auto* entry : in_order) {
    const auto& job = entry->job.row;
    auto gpus = job.gpus;
    if (!gpus) {
      ASSAY_TRY(const auto planned, planned_run_from_json(json::value(job.planned)));
      const auto wanted = gpus_needed(planned, all.size());
      gpus.emplace();
      for (const auto& id : all) {
        if (gpus->size() < wanted && !taken.contains(id)) gpus->push_back(id);
      }
      // Not enough that are free: it waits for the first ones, and so does whoever comes after it and needs them.
      if (gpus->size() < wanted) *gpus = std::vector<std::string>(all.begin(), all.begin() + static_cast<long>(wanted));
    }
    std::set<std::string> needs(gpus->begin(), gpus->end());
    if (needs.empty()) needs.insert(std::string(kCpus));
    const bool free = disjoint(needs, taken);
    taken.insert(needs.begin(), needs.end());
    if (!free) continue;
    const auto placed = runs_.change_run(job.run, [&](Run& run) -> Result<void> {
      run.placement = {.node = name, .gpus = *gpus};
      return {};
    });
    if (!placed) return placed.error();
    crash_point("placed");
    entry->needs = std::move(needs);
  }
  return {};
}

/// An owner that came back would have renewed its lease; while the leader itself was away nobody could.
Result<void> RunDesk::close_lost(const Entry& entry) {
  const auto& run = entry.job.row.run;
  const auto lease = runs_.find_lease(run);
  if (!lease || !*lease || !(*lease)->expires) return {};
  const auto silent_since = std::max(*(*lease)->expires, started_);
  if (clock_.wall() < silent_since + options_.patience) return {};
  return close_run_of((*lease)->owner, run, *(*lease)->expires);
}

/// Unless somebody was quicker and has taken it.
Result<void> RunDesk::close_run_of(const std::string& owner, const std::string& run, WallTime last_sign) {
  const auto mine = runs_.take_run(run, {.owner = std::string(kLeaderOwner), .length = kOwnLease});
  if (!mine) return mine.error().kind == ErrorKind::busy ? Result<void>() : Result<void>(mine.error());
  log_warning("Run {} is closed as interrupted: {} has not been heard of since {} at the latest.", run, owner,
              iso8601(last_sign));
  ASSAY_CHECK(close_interrupted(runs_, *mine, owner, last_sign));
  return {};
}

}  // namespace assay
