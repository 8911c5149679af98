#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/crash_point.h"
#include "base/log.h"
#include "leader/node.h"
#include "leader/node_outline.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/run_desk_words.h"
#include "protocol/paths.h"
#include "store/account_tables.h"
#include "store/cluster_store.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// Runs that have ended, from whose lengths those of others are guessed after a start.
constexpr std::int64_t kRememberedRuns = 1000;
/// After so long use counts for next to nothing.
constexpr Nanos kUseFades = std::chrono::hours(24 * 4);
/// A node ends a run at its limit by itself, and says why; this is for one that does not.
constexpr Nanos kBeyondLimit = std::chrono::minutes(2);
constexpr const char* kOverdue = "its time limit, which its node has not kept";

bool same_rule(const UserRule& a, const UserRule& b) {
  return a.weight == b.weight && a.most_gpus == b.most_gpus && a.most_jobs == b.most_jobs;
}

std::string user_of(const JobRecord& job) { return job.owner.empty() ? job.by : job.owner; }

}  // namespace

// --- nodes ----------------------------------------------------------------------------------------------------------

std::vector<std::string> RunDesk::nodes_for_runs() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_.all()) {
    if (const auto offer = offer_of(node->record(), NodeState::online)) names.push_back(offer->name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Tells the scheduler of nodes that have changed since the last time.
void RunDesk::see_nodes() {
  const auto before = gpus_;
  std::set<std::string> seen;
  for (const auto& node : nodes_.all()) {
    const auto outline = node->outline(clock_.now());
    const auto name = node->name();
    seen.insert(name);
    auto used_by = options_.used_by(name);
    auto& known = known_nodes_[name];
    if (known.told == outline.told && known.state == outline.state && known.used_by == used_by) continue;
    known = {.state = outline.state, .told = outline.told, .used_by = std::move(used_by)};
    see_node(*node, known);
  }
  std::erase_if(known_nodes_, [&](const auto& known) {
    if (seen.contains(known.first)) return false;
    gpus_.nodes.erase(known.first);
    take_back_from(known.first);
    scheduler_.node_down(known.first);
    return true;
  });
  if (gpus_ == before) return;
  // What a run needs depends on what there is.
  for (auto& [id, entry] : entries_) {
    if (!entry.place.empty()) continue;
    if (auto changed = reconsider(entry); !changed) log_warning("Run {}: {}", id, changed.error().text());
  }
}

void RunDesk::see_node(const Node& node, const KnownNode& known) {
  const auto record = node.record();
  const auto offer = offer_of(record, known.state, known.used_by);
  if (!offer || !offer->closed.empty()) take_back_from(record.name);
  if (!offer) {
    gpus_.nodes.erase(record.name);
    scheduler_.node_down(record.name);
    return;
  }
  gpus_.nodes[record.name] = {.gpus = offer->gpus, .joins = record.facts.contains(kAddressFact)};
  if (auto up = scheduler_.node_up(*offer); !up) log_warning("{}", up.error().text());
}

/// What a node was offered and has not taken waits again: it may be done elsewhere.
void RunDesk::take_back_from(const std::string& node) {
  for (auto& [id, entry] : entries_) {
    if (!entry.part_of(node) || entry.state != RunState::queued || entry.job.row.stop) continue;
    entry.place.clear();
    const auto forgotten = runs_.change_run(entry.job.row.current, [&](Run& run) -> Result<void> {
      run.placement = {.node = entry.job.row.node, .gpus = {}};
      return {};
    });
    if (!forgotten) log_warning("Run {}: {}", id, forgotten.error().text());
    if (auto back = scheduler_.take_back(id, clock_.wall()); !back) log_warning("Run {}: {}", id, back.error().text());
  }
}

// --- users and lengths ----------------------------------------------------------------------------------------------

/// What people may have at once is an administrator's to change at any time.
void RunDesk::see_rules() {
  std::set<std::string> users;
  for (const auto& [id, entry] : entries_) users.insert(user_of(entry.job.row));
  for (const auto& user : users) {
    auto rule = options_.rule_of(user);
    const auto [known, is_new] = rules_.try_emplace(user);
    if (!is_new && same_rule(known->second, rule)) continue;
    scheduler_.set_user(user, rule);
    known->second = rule;
  }
}

Result<void> RunDesk::read_history() {
  ASSAY_TRY(auto ended,
            runs_.list_runs({.conditions = {{"state", Condition::Op::equal, "ended"}}, .limit = kRememberedRuns}));
  std::reverse(ended.rows.begin(), ended.rows.end());
  for (const auto& row : ended.rows) {
    const auto run = runs_.find_run(row.id);
    if (!run) continue;  // removed meanwhile, or damaged: not worth a leader that does not start
    remember_length(*run);
    ASSAY_CHECK(charge_for(*run));
  }
  return {};
}

void RunDesk::remember_length(const Run& run) {
  if (!has_succeeded(run.verdict) || run.started == WallTime{} || run.ended <= run.started) return;
  const bool used_gpus = run.placement.gpus && !run.placement.gpus->empty();
  std::string gpu = "cpu";
  if (used_gpus) gpu = run.provenance.gpus.empty() ? "" : run.provenance.gpus.front().name;
  const auto keys = length_keys(run.spec, run.name, gpu);
  lengths_.add(keys, run.ended - run.started);
  // Those that are probably like it are judged anew.
  for (auto& [id, entry] : entries_) {
    if (!entry.place.empty() || entry.kind != run.kind || entry.name != run.name) continue;
    if (auto changed = reconsider(entry); !changed) log_warning("Run {}: {}", id, changed.error().text());
  }
}

/// Use from before this leader was started sets a user back as well.
Result<void> RunDesk::charge_for(const Run& run) {
  const auto gpus = run.placement.gpu_count().value_or(0);
  const bool counts =
      gpus > 0 && run.started != WallTime{} && run.ended > run.started && run.ended > clock_.wall() - kUseFades;
  if (!counts) return {};
  using Kind = OwnerTable::Owned::Kind;
  auto& owners = cluster_.accounts().owners();
  ASSAY_TRY(auto owner, owners.find({.kind = Kind::run, .id = run.id}));
  if (owner.empty() && !run.study.empty()) {
    ASSAY_TRY(owner, owners.find({.kind = Kind::study, .id = run.study}));
  }
  if (owner.empty()) return {};
  const double seconds = seconds_of(run.ended - run.started) * static_cast<double>(gpus);
  scheduler_.charge_user(owner, seconds, run.ended);
  return {};
}

DurationEstimate RunDesk::estimate_of(const JobNeeds& needs, const json::object& spec, const std::string& name,
                                      ExpectedLength& length) const {
  auto keys = length_keys(spec, name, gpu_for_length(needs, gpus_));
  const auto specified = specified_length(spec);
  // What others of its kind took says less than its own specification.
  if (specified) keys.pop_back();
  const auto estimate = estimate_duration(lengths_, keys, specified, time_limit_of(spec));
  const auto known = lengths_.estimate(keys);
  length = {.seconds = seconds_of(estimate.expected),
            .factor = std::exp(estimate.log_error),
            .from_runs = known ? static_cast<std::size_t>(known->runs) : 0};
  return estimate;
}

// --- jobs -----------------------------------------------------------------------------------------------------------

/// What the scheduler is told of a job; keeps what people are told of it.
Result<JobRequest> RunDesk::request_of(Entry& entry, const PlannedRun& planned) {
  const auto& job = entry.job.row;
  entry.needs = needs_of(job, planned, gpus_);
  entry.needs.slower = slower_models(entry.needs, planned.spec, lengths_, gpus_);
  JobRequest request{.id = job.run, .user = user_of(job), .needs = entry.needs};
  request.estimate = estimate_of(entry.needs, planned.spec, entry.name, entry.length);
  request.submitted = job.created;
  request.priority = job.priority;
  request.deadline = job.deadline;
  if (const auto limit = time_limit_of(planned.spec)) request.time_limit = *limit + kBeyondLimit;
  request.after = job.after;
  request.data = data_of(planned.spec);
  request.retry = {.attempts = job.attempts, .first_wait = options_.first_wait};
  request.attempt = job.attempt;
  request.not_before = job.not_before;
  request.held = job.held;
  ASSAY_CHECK(check_needs(request));
  return request;
}

void RunDesk::note_name(Entry& entry, const Run& run) {
  entry.name = run.name;
  entry.kind = run.kind;
  entry.variant = run.variant;
}

Result<void> RunDesk::queue_up(Entry& entry) {
  ASSAY_TRY(const auto planned, planned_run_from_json(json::value(entry.job.row.planned)));
  if (entry.name.empty()) {
    if (const auto run = runs_.find_run(entry.job.row.current)) note_name(entry, *run);
  }
  ASSAY_TRY(auto request, request_of(entry, planned));
  return scheduler_.submit(std::move(request));
}

/// A job that waits, whose priority or whose cluster is another one now.
Result<void> RunDesk::reconsider(Entry& entry) {
  ASSAY_TRY(const auto planned, planned_run_from_json(json::value(entry.job.row.planned)));
  ASSAY_TRY(const auto request, request_of(entry, planned));
  return scheduler_.change(request, clock_.wall());
}

/// What a run was given before the leader was started again is still its own.
void RunDesk::settle_in(Entry& entry, const Run& run) {
  const auto& id = entry.job.row.run;
  const auto gpus = run.placement.gpus.value_or(std::vector<std::string>());
  entry.place = {{.node = run.placement.node, .gpus = gpus}};
  for (const auto& one : run.placement.further) entry.place.push_back({.node = one.node, .gpus = one.gpus});
  entry.needs.nodes = static_cast<int>(entry.place.size());
  entry.needs.on.clear();
  for (const auto& share : entry.place) entry.needs.on.push_back(share.node);
  // By name they can be asked of one node alone.
  entry.needs.these = entry.is_gang() ? std::vector<std::string>() : gpus;
  entry.needs.gpus = static_cast<int>(gpus.size());
  entry.needs.cpus = gpus.empty();
  entry.needs.whole_node = false;
  JobRequest request{.id = id, .user = user_of(entry.job.row), .needs = entry.needs};
  request.estimate = {.expected = std::max(Nanos(1), Nanos(static_cast<std::int64_t>(entry.length.seconds * 1e9))),
                      .log_error = std::log(entry.length.factor)};
  request.priority = entry.job.row.priority;
  if (const auto limit = time_limit_of(run.spec)) request.time_limit = *limit + kBeyondLimit;
  request.retry = {.attempts = entry.job.row.attempts, .first_wait = options_.first_wait};
  const WallTime since = run.started == WallTime{} ? clock_.wall() : run.started;
  auto known = scheduler_.change(request, clock_.wall());
  if (known) known = scheduler_.started({.job = id, .shares = entry.place}, since);
  gather(entry);
  if (known) return;
  // Its node or a GPU of it is there no more. It must not be begun a second time.
  log_warning("Run {} goes on where nobody expects it: {}", run.id, known.error().text());
  (void)scheduler_.hold(id).ok();
}

Result<void> RunDesk::place_all() {
  auto decision = scheduler_.decide(clock_.wall());
  for (const auto& start : decision.start) {
    if (auto placed = place(start); !placed) {
      (void)scheduler_.take_back(start.job, clock_.wall()).ok();
      keep_back(start.job, placed.error());
    }
  }
  for (const auto& id : decision.overdue) {
    auto& entry = entries_.at(id);
    // One that has been given a place may wait there for its turn: it counts once it runs.
    if (entry.job.row.stop || entry.state != RunState::running) continue;
    auto job = entry.job.row;
    job.stop = true;
    ASSAY_CHECK(store(entry, std::move(job)));
    crash_point("stop-stored");
    log_warning("Run {} on {} is to stop: it is beyond {}.", entry.job.row.current, entry.place.front().node, kOverdue);
  }
  return {};
}

Result<void> RunDesk::place(const JobPlacement& placement) {
  auto& entry = entries_.at(placement.job);
  auto shares = placement.shares;
  std::vector<std::string> order;
  order.reserve(shares.size());
  for (const auto& share : shares) order.push_back(share.node);
  put_in_order(order, entry.needs);
  std::sort(shares.begin(), shares.end(), [&](const NodeShare& a, const NodeShare& b) {
    return std::find(order.begin(), order.end(), a.node) < std::find(order.begin(), order.end(), b.node);
  });
  const auto placed = runs_.change_run(entry.job.row.current, [&](Run& run) -> Result<void> {
    run.placement = {.node = shares.front().node, .gpus = shares.front().gpus};
    for (std::size_t i = 1; i < shares.size(); ++i) {
      run.placement.further.push_back({.node = shares[i].node, .gpus = shares[i].gpus});
    }
    return {};
  });
  if (!placed) return placed.error();
  crash_point("placed");
  entry.place = std::move(shares);
  entry.gang = {};
  return {};
}

}  // namespace assay
