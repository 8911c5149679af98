#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crash_point.h"
#include "base/ids.h"
#include "base/log.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/run_desk_words.h"
#include "protocol/hello.h"
#include "runs/study_run.h"
#include "store/account_tables.h"
#include "store/cluster_store.h"
#include "store/run_answers.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

constexpr std::size_t kChangesAtOnce = 10'000;
constexpr Nanos kClosingLease = std::chrono::seconds(30);

/// What the end of a run is to the scheduler.
JobOutcome outcome_of(const Run* run, const JobRecord& job) {
  if (!run || job.stop) return JobOutcome::cancelled;
  if (has_succeeded(run->verdict)) return JobOutcome::succeeded;
  if (run->verdict == Verdict::interrupted) return JobOutcome::lost;
  const bool may_pass = run->error && run->error->kind == ErrorKind::lost_peer;
  return may_pass ? JobOutcome::failed : JobOutcome::hopeless;
}

}  // namespace

/// Takes in what has changed in the store since the last time.
Result<void> RunDesk::refresh() {
  for (;;) {
    ASSAY_TRY(const auto changes, runs_.changes(seen_change_, kChangesAtOnce));
    for (const auto& change : changes) {
      if (const auto job = job_of_run_.find(change.run); job != job_of_run_.end()) {
        settle_or_keep_back(std::string(job->second));
      }
      seen_change_ = change.sequence;
    }
    if (changes.size() < kChangesAtOnce) return {};
  }
}

void RunDesk::settle_or_keep_back(const std::string& job) {
  if (auto settled = settle(job); !settled) keep_back(job, settled.error());
}

/// Others are not to wait for what is wrong with this one.
void RunDesk::keep_back(const std::string& job, const Error& why) {
  const auto found = entries_.find(job);
  if (found == entries_.end()) return log_warning("Run {}: {}", job, why.text());
  auto& entry = found->second;
  if (auto text = why.text(); text != entry.trouble) {
    entry.trouble = std::move(text);
    log_warning("Run {} is kept back: {}", entry.job.row.current, entry.trouble);
  }
  entry.kept_back = true;
  if (entry.state != RunState::queued) return;
  // What its node was offered it is refused.
  if (!entry.place.empty()) (void)scheduler_.take_back(job, clock_.wall()).ok();
  entry.place.clear();
  (void)scheduler_.hold(job).ok();
}

void RunDesk::look_again_at_kept_back() {
  std::vector<std::string> jobs;
  for (const auto& [id, entry] : entries_) {
    if (entry.kept_back) jobs.push_back(id);
  }
  for (const auto& job : jobs) {
    if (entries_.contains(job)) settle_or_keep_back(job);
  }
  end_what_never_runs(std::exchange(never_run_, {}));
}

/// For those who look after the leader.
Result<void> RunDesk::first_trouble() const {
  for (const auto& [id, entry] : entries_) {
    if (!entry.kept_back) continue;
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("run '{}' is kept back: {}", entry.job.row.current, entry.trouble),
                 .hint = "The rest of the queue goes on. `assay rm` removes a run that is lost for good."};
  }
  return {};
}

/// Brings one entry up to date with its run; one that has ended or is gone is over, or tried again.
Result<void> RunDesk::settle(const std::string& job) {
  auto& entry = entries_.at(job);
  const auto found = runs_.find_run(entry.job.row.current);
  if (!found && found.error().kind != ErrorKind::not_found) return found.error();
  if (std::exchange(entry.kept_back, false) && !entry.job.row.held) {
    ASSAY_CHECK(scheduler_.release(job, clock_.wall()));
  }
  if (found && entry.name.empty()) note_name(entry, *found);
  if (found && found->state != RunState::ended) {
    const bool runs_now = found->state == RunState::running && entry.state != RunState::running;
    entry.state = found->state;
    if (found->started != WallTime{}) entry.started = found->started;
    if (found->state != RunState::queued && entry.place.empty()) settle_in(entry, *found);
    if (runs_now && entry.started) {
      // Where that fails the scheduler was told that it is not to be placed.
      (void)scheduler_.started({.job = job, .shares = entry.place}, *entry.started).ok();
    }
    return {};
  }
  const Run* run = found ? &*found : nullptr;
  if (run) remember_length(*run);
  const auto outcome = outcome_of(run, entry.job.row);
  // One that was never given a place was not lost with its node.
  const bool was_placed = run && run->placement.gpus.has_value();
  if (was_placed && (outcome == JobOutcome::lost || outcome == JobOutcome::failed)) {
    const RetryRule rule{.attempts = entry.job.row.attempts, .first_wait = options_.first_wait};
    if (const auto wait = wait_before_retry(rule, entry.job.row.attempt)) return begin_again(entry, *run, *wait);
  }
  return close(job, run, outcome);
}

/// Another run takes the place of one that was lost: a run that has ended is never begun again. The next one's id
/// follows from the job's, so that a leader that was killed in the middle does the same once more.
Result<void> RunDesk::begin_again(Entry& entry, const Run& lost, Nanos wait) {
  auto job = entry.job.row;
  ++job.attempt;
  ASSAY_TRY(const auto planned, planned_run_from_json(json::value(job.planned)));
  Run next = prepare_run(planned, lost.name, lost.tags);
  next.id = id_from(fmt::format("attempt {} of {}", job.attempt, job.run));
  next.created = clock_.wall();
  next.study = lost.study;
  next.variant = lost.variant;
  next.placement.node = job.node;
  job.current = next.id;
  job.not_before = clock_.wall() + wait;
  if (!job.study.empty()) ASSAY_CHECK(runs_.note_planned_run(job.study, job.entry, next.id));
  crash_point("retry-noted");
  if (auto stored = runs_.add_run(next); !stored && stored.error().kind != ErrorKind::busy) return stored;
  crash_point("retry-listed");
  if (!job.owner.empty()) {
    const OwnerTable::Owned owned{.kind = OwnerTable::Owned::Kind::run, .id = next.id};
    ASSAY_CHECK(cluster_.accounts().owners().note(owned, job.owner, clock_.wall()));
  }
  ASSAY_CHECK(store(entry, std::move(job)));
  crash_point("retry-stored");
  log_info("Run {} was lost; attempt {} of {} is run {}.", lost.id, entry.job.row.attempt, entry.job.row.attempts,
           next.id);
  job_of_run_.erase(lost.id);
  job_of_run_[next.id] = entry.job.row.run;
  entry.place.clear();
  entry.gang = {};
  entry.started.reset();
  entry.silent_since.reset();
  entry.state = RunState::queued;
  ASSAY_CHECK(scheduler_.take_back(entry.job.row.run, clock_.wall()));
  return reconsider(entry);
}

/// First what comes next, then what is over: whatever happens in between is done again and changes nothing.
Result<void> RunDesk::close(const std::string& id, const Run* run, JobOutcome outcome) {
  const auto job = entries_.at(id).job.row;
  const auto& place = entries_.at(id).place;
  const std::string node = !place.empty() ? place.front().node : run ? run->placement.node : "";
  if (!job.study.empty() && !job.stop) ASSAY_CHECK(go_on_with_study(job, run, node));
  crash_point("study-went-on");
  if (outcome == JobOutcome::succeeded) ASSAY_CHECK(tell_dependents(id));
  ASSAY_CHECK(cluster_.jobs().remove(id));
  crash_point("job-removed");
  job_of_run_.erase(job.current);
  entries_.erase(id);
  ASSAY_TRY(const auto afterlife, scheduler_.ended(id, outcome, clock_.wall()));
  end_what_never_runs(afterlife.never_runs);
  return {};
}

/// In the store, that is: the scheduler is told when the job is over.
Result<void> RunDesk::tell_dependents(const std::string& job) {
  for (auto& [id, entry] : entries_) {
    const auto& after = entry.job.row.after;
    if (std::find(after.begin(), after.end(), job) == after.end()) continue;
    auto changed = entry.job.row;
    std::erase(changed.after, job);
    ASSAY_CHECK(store(entry, std::move(changed)));
    crash_point("dependent-stored");
  }
  return {};
}

void RunDesk::end_what_never_runs(const std::vector<std::string>& jobs) {
  for (const auto& id : jobs) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    auto ended = end_never_run(found->second);
    if (ended) ended = settle(id);
    if (ended) continue;
    never_run_.push_back(id);
    keep_back(id, ended.error());
  }
}

/// As one that somebody has stopped: what comes next in its study is not begun either, whoever is leader then.
Result<void> RunDesk::end_never_run(Entry& entry) {
  if (!entry.job.row.stop) {
    auto job = entry.job.row;
    job.stop = true;
    ASSAY_CHECK(store(entry, std::move(job)));
    crash_point("stop-stored");
  }
  return end_before_it_began(entry.job.row.current, "a run that was to come first did not succeed");
}

/// What a leader had begun when it was killed: runs that it had stored, but not yet written down who is to do them (so
/// that whoever asked was given no answer); runs that were to stop before they began; and runs that it was closing,
/// which nobody else can take from it.
Result<void> RunDesk::close_unfinished() {
  ASSAY_TRY(const auto open, runs_.list_runs({.conditions = {{"state", Condition::Op::not_equal, "ended"}}}));
  for (const auto& row : open.rows) {
    // One that is damaged is not worth a leader that does not start.
    if (auto closed = close_unfinished(row.id); !closed) log_warning("Run {}: {}", row.id, closed.error().text());
  }
  return {};
}

Result<void> RunDesk::close_unfinished(const std::string& id) {
  const auto run = runs_.find_run(id);
  if (!run && run.error().kind != ErrorKind::not_found) return run.error();
  if (!run || run->state == RunState::ended) return {};
  ASSAY_TRY(const auto lease, runs_.find_lease(id));
  const bool ours = lease && lease->owner == kLeaderOwner;
  const auto job = job_of_run_.find(id);
  const bool is_job = job != job_of_run_.end();
  const bool is_to_stop = is_job && entries_.at(job->second).job.row.stop;
  const bool is_nobodys = run->state == RunState::queued && (!is_job || is_to_stop);
  if (!ours && !is_nobodys) return {};
  if (!is_job) return end_before_it_began(id, std::string(kNeverGiven));
  if (is_to_stop && run->state != RunState::running) return end_before_it_began(id, "it was stopped before it began");
  return close_run_of(run->placement.node, id, clock_.wall());
}

/// An owner that came back would have renewed its lease; while the leader itself was away nobody could.
Result<void> RunDesk::close_lost(Entry& entry) {
  entry.silent_since.reset();
  entry.given_up_at.reset();
  const auto& run = entry.job.row.current;
  const auto lease = runs_.find_lease(run);
  if (!lease || !*lease || !(*lease)->expires || clock_.wall() < *(*lease)->expires) return {};
  // What is said of it; what happens goes by the lease.
  const auto node = nodes_.find((*lease)->owner);
  const bool is_silent = node && node->state(clock_.now()) == NodeState::offline;
  entry.silent_since = is_silent ? std::min(node->record().last_seen, *(*lease)->expires) : *(*lease)->expires;
  entry.given_up_at = std::max(*(*lease)->expires, started_) + patience_with(entry);
  if (clock_.wall() < *entry.given_up_at) return {};
  return close_run_of((*lease)->owner, run, *(*lease)->expires);
}

/// With an owner that is silent.
Nanos RunDesk::patience_with(const Entry& entry) const {
  if (entry.is_gang()) return options_.gang_patience;
  const auto node = entry.place.empty() ? nullptr : nodes_.find(entry.place.front().node);
  const bool elsewhere = node && node->record().facts.contains(kPlaceFact);
  return elsewhere ? std::max(options_.patience, options_.patience_elsewhere) : options_.patience;
}

/// Unless somebody was quicker and has taken it.
Result<void> RunDesk::close_run_of(const std::string& owner, const std::string& run, WallTime last_sign) {
  const auto mine = runs_.take_run(run, {.owner = std::string(kLeaderOwner), .length = kClosingLease});
  if (!mine) return mine.error().kind == ErrorKind::busy ? Result<void>() : Result<void>(mine.error());
  log_warning("Run {} is closed as interrupted: {} has not been heard of since {} at the latest.", run, owner,
              iso8601(last_sign));
  ASSAY_CHECK(close_interrupted(runs_, *mine, owner, last_sign));
  return {};
}

}  // namespace assay
