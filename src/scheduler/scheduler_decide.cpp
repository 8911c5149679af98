#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "scheduler/scheduler.h"

namespace assay {
namespace {

/// Jobs of a blocked line that are asked whether they are short enough for nodes which others wait for.
constexpr std::size_t kBackfillLooks = 16;
/// Blocked lines that are asked whether nodes have to be emptied for them, and how many of them are looked for nodes.
constexpr std::size_t kPlanLooks = 128;
constexpr std::size_t kPlans = 32;
/// One node in sixteen of a kind may be emptied at a time: enough for gangs, little enough for everybody else.
constexpr std::size_t kNodesPerPlan = 16;
/// Before nodes are looked at again that are still not empty.
constexpr Nanos kShortestDelay = std::chrono::seconds(1);

/// A single GPU becomes free at once, and whoever is first gets it, also where the node is named; others could wait for
/// ever while small jobs fill each gap.
bool needs_setting_aside(const JobNeeds& needs) { return needs.gpus > 1 || needs.nodes > 1 || needs.alone(); }

/// Each of the nodes that it names is one that it needs.
bool has_no_choice(const JobNeeds& needs) { return needs.on.size() == static_cast<std::size_t>(needs.nodes); }

}  // namespace

PlaceWish Scheduler::wish_of(const Job& job, WallTime now) const {
  return {.data = job.request.data, .at_most = job.request.at_most(), .now = now};
}

int Scheduler::gpus_of(const JobNeeds& needs) const { return needs.nodes * needs.gpus; }

bool Scheduler::over_quota(const Job& job) const {
  const UserRule& rule = fair_share_.rule_of(job.user);
  const UserState& user = users_[job.user];
  if (rule.most_jobs && user.jobs + 1 > *rule.most_jobs) return true;
  return rule.most_gpus && user.gpus + gpus_of(job.request.needs) > *rule.most_gpus;
}

/// In whole seconds: on a large cluster each start and each end would move all of a user's jobs by milliseconds.
void Scheduler::update_delay(std::size_t user) { lines_.set_delay(user, std::floor(fair_share_.delay(user))); }

/// The job runs from `now` on; its nodes and GPUs are known.
void Scheduler::count_in(Job& job, WallTime now) {
  job.phase = Phase::running;
  job.started = now;
  --waiting_;
  ++running_;
  UserState& user = users_[job.user];
  user.gpus += job.gpus;
  ++user.jobs;
  job.charged = job.gpus * seconds_of(job.expected_end - now);
  fair_share_.charge(job.user, job.charged);
  update_delay(job.user);
  if (job.request.time_limit) limits_.emplace(now + *job.request.time_limit, job.entry.job);
}

void Scheduler::vacate(JobNumber number, WallTime when) {
  Job& job = jobs_[number];
  for (const NodeNumber node : job.nodes) {
    places_.vacate(node, number);
    room_on(node);
  }
  --running_;
  UserState& user = users_[job.user];
  user.gpus -= job.gpus;
  --user.jobs;
  fair_share_.charge(job.user, job.gpus * std::max(0.0, seconds_of(when - job.started)) - job.charged);
  if (job.request.time_limit) limits_.erase({job.started + *job.request.time_limit, number});
  job.phase = Phase::waits;
  job.nodes.clear();
  job.gpus = 0;
  lines_.unpark(job.user);
  update_delay(job.user);
}

void Scheduler::room_on(NodeNumber node) {
  roomier_.push_back(node);
  lines_.room_on(node, [&](const WaitingLines::Line& line) {
    return line.needs.nodes > 1 || places_.fits_on(node, line.needs, line.fits);
  });
}

void Scheduler::wake(WallTime now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    const JobNumber number = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    jobs_[number].request.not_before = {};
    settle(number);
  }
  while (!maintenance_ends_.empty() && maintenance_ends_.begin()->first <= now) {
    const NodeNumber node = maintenance_ends_.begin()->second;
    maintenance_ends_.erase(maintenance_ends_.begin());
    if (places_.end_maintenance(node, now)) {
      ++plan_round_;
      room_on(node);
    }
  }
  fade_use(now);
}

void Scheduler::fade_use(WallTime now) {
  if (!fair_share_.forget(now)) return;
  for (std::size_t user = 0; user < fair_share_.users(); ++user) update_delay(user);
}

void Scheduler::start(JobNumber number, const std::vector<NodeNumber>& nodes, const std::vector<KindFit>& fits,
                      WallTime now, SchedulerDecision& decision) {
  Job& job = jobs_[number];
  double speed = places_.node(nodes.front()).offer.speed;
  for (const NodeNumber node : nodes) speed = std::min(speed, places_.node(node).offer.speed);
  const double length = static_cast<double>(job.request.estimate.expected.count()) / speed;
  job.expected_end = now + Nanos(static_cast<std::int64_t>(length));
  job.nodes = nodes;
  JobPlacement placement{.job = job.request.id};
  for (const NodeNumber node : nodes) {
    placement.shares.push_back(places_.occupy(node, number, job.request.needs, fits, job.expected_end));
    job.gpus += static_cast<int>(placement.shares.back().gpus.size());
  }
  count_in(job, now);
  decision.start.push_back(std::move(placement));
}

/// The nodes of a set-aside are open to everybody again.
void Scheduler::give_back(const SetAside& aside) {
  ++plan_round_;
  for (const NodeNumber node : aside.nodes) {
    places_.open_again(node);
    if (places_.node(node).up) room_on(node);
  }
}

void Scheduler::start_set_aside(WallTime now, SchedulerDecision& decision) {
  const std::vector<NodeNumber> roomier = std::exchange(roomier_, {});
  const bool look_everywhere = std::exchange(nodes_have_changed_, false);
  if (roomier.empty() && !look_everywhere) return;
  for (std::size_t i = 0; i < aside_.size();) {
    const JobNeeds& needs = jobs_[aside_[i].job].request.needs;
    const bool allowed = !over_quota(jobs_[aside_[i].job]);
    const auto helps = [&](NodeNumber node) { return places_.fits_on(node, needs, aside_[i].fits); };
    if (allowed && !look_everywhere && std::none_of(roomier.begin(), roomier.end(), helps)) {
      ++i;
      continue;
    }
    const SetAside aside = aside_[i];
    Job& job = jobs_[aside.job];
    const PlaceWish wish = wish_of(job, now);
    const bool ready = std::all_of(aside.nodes.begin(), aside.nodes.end(), [&](NodeNumber node) {
      return places_.fits_on(node, job.request.needs, aside.fits) && places_.ends_in_time(node, now, wish.at_most);
    });
    std::vector<NodeNumber> nodes = ready ? aside.nodes : std::vector<NodeNumber>{};
    if (!ready && allowed) nodes = places_.find(job.request.needs, aside.fits, wish);
    if (allowed && nodes.empty()) {
      ++i;
      continue;
    }
    aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(i));
    for (const NodeNumber node : aside.nodes) places_.open_again(node);
    if (allowed) {
      start(aside.job, nodes, aside.fits, now, decision);
    } else {
      settle(aside.job);
    }
    give_back(aside);
  }
}

/// Starts the first of a line, or one behind it that is short enough for a node which others wait for. False: none.
bool Scheduler::start_from(WaitingLines::Line& line, WallTime now, SchedulerDecision& decision) {
  const std::vector<KindFit> fits = line.fits;
  const bool all_alike = aside_.empty() && maintenance_ends_.empty();
  const bool one_node = line.needs.nodes == 1 && line.needs.on.empty();
  std::optional<Nanos> gap;
  for (const WaitingLines::Head& head : lines_.first(line, all_alike ? 1 : kBackfillLooks)) {
    const JobNumber number = head.entry.job;
    const Job& job = jobs_[number];
    const PlaceWish wish = wish_of(job, now);
    if (over_quota(job) || (gap && wish.at_most > *gap)) continue;
    const std::vector<NodeNumber> nodes = places_.find(line.needs, fits, wish);
    if (nodes.empty()) {
      // Gaps alone are left.
      if (!gap && one_node) gap = places_.longest_gap(line.needs, fits, now);
      if (gap && *gap <= Nanos(0)) return false;
      continue;
    }
    leave_line(number);
    start(number, nodes, fits, now, decision);
    return true;
  }
  return false;
}

/// A line is blocked as a whole; who has just joined it may be short enough for nodes for which those before it were
/// too long, since others wait for these nodes or their maintenance is ahead.
void Scheduler::fill_gaps(WallTime now, SchedulerDecision& decision) {
  const std::vector<JobNumber> newcomers = std::exchange(newcomers_, {});
  if (aside_.empty() && maintenance_ends_.empty()) return;
  for (const JobNumber number : newcomers) {
    const Job& job = jobs_[number];
    if (job.phase != Phase::queued || over_quota(job)) continue;
    const WaitingLines::Line* line = lines_.find(job.request.needs);
    if (line == nullptr || !line->blocked) continue;
    const std::vector<KindFit> fits = line->fits;
    const std::vector<NodeNumber> nodes = places_.find(job.request.needs, fits, wish_of(job, now));
    if (nodes.empty()) continue;
    leave_line(number);
    start(number, nodes, fits, now, decision);
  }
}

/// Kinds of which no further nodes may be emptied now. Those of a job that can go nowhere else are not counted: others
/// need not wait for it.
std::vector<bool> Scheduler::full_kinds() const {
  std::vector<std::size_t> emptied(places_.kinds(), 0);
  for (const SetAside& aside : aside_) {
    if (has_no_choice(jobs_[aside.job].request.needs)) continue;
    for (const NodeNumber node : aside.nodes) ++emptied[places_.node(node).kind];
  }
  std::vector<bool> full;
  for (std::size_t kind = 0; kind < emptied.size(); ++kind) {
    const std::size_t nodes = places_.nodes_of(static_cast<std::uint32_t>(kind));
    full.push_back(emptied[kind] >= std::max<std::size_t>(1, nodes / kNodesPerPlan));
  }
  return full;
}

/// In the order of keys: whoever comes later leaves alone what an earlier one waits for, which is its nodes where it
/// names some, else every node of the kinds that it fits on.
void Scheduler::set_nodes_aside(WallTime now) {
  const std::vector<bool> full = full_kinds();
  std::vector<bool> waited_for(places_.kinds(), false);
  std::vector<const WaitingLines::Line*> passed;  ///< that name nodes: which is looked up if a plan has to know it
  std::set<NodeNumber> named;
  const auto note_names = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (const auto number = places_.number_of(name)) named.insert(*number);
    }
  };
  std::size_t plans = 0;
  for (WaitingLines::Line* line : lines_.blocked(kPlanLooks)) {
    if (plans == kPlans || std::find(waited_for.begin(), waited_for.end(), false) == waited_for.end()) return;
    // Who waits for CPUs keeps no GPU from anybody.
    if (line->needs.cpus) continue;
    const std::vector<std::string> on = line->needs.on;
    const bool looks_for_nodes = needs_setting_aside(line->needs) && line->planless != plan_round_;
    if (!on.empty() && !looks_for_nodes) {
      passed.push_back(line);
      continue;
    }
    if (!places_.could_ever_fit(line->needs, line->fits)) continue;
    std::vector<KindFit> open;
    for (const KindFit& fit : line->fits) {
      if (!waited_for[fit.kind] && (has_no_choice(line->needs) || !full[fit.kind])) open.push_back(fit);
      if (on.empty()) waited_for[fit.kind] = true;
    }
    if (!open.empty() && looks_for_nodes) {
      ++plans;
      for (const auto* const earlier : std::exchange(passed, {})) {
        if (places_.could_ever_fit(earlier->needs, earlier->fits)) note_names(earlier->needs.on);
      }
      const PlaceWish wish = wish_of(jobs_[line->heads.begin()->entry.job], now);
      const Places::DrainPlan plan = places_.plan_drain(line->needs, open, wish, named);
      if (!plan.nodes.empty()) {
        set_aside(*line, plan);  // which may be the end of the line
      } else if (named.empty() && maintenance_ends_.empty()) {
        line->planless = plan_round_;  // before a maintenance there may be room for another job of the line
      }
    }
    note_names(on);
  }
}

/// Empties nodes for the first job of a line.
void Scheduler::set_aside(const WaitingLines::Line& line, const Places::DrainPlan& plan) {
  const JobNumber number = line.heads.begin()->entry.job;
  aside_.push_back({.job = number, .nodes = plan.nodes, .fits = line.fits, .start = plan.ready});
  leave_line(number);
  jobs_[number].phase = Phase::set_aside;
  reserve(aside_.back());
}

void Scheduler::reserve(const SetAside& aside) {
  const JobNeeds& needs = jobs_[aside.job].request.needs;
  for (const NodeNumber node : aside.nodes) places_.reserve(node, aside.start, needs.cpus || needs.alone());
}

/// Where jobs take longer than was thought, others may use the time, or other nodes are free sooner. A job that would
/// run into a maintenance by now wherever it waits keeps no node from others.
void Scheduler::plan_anew(WallTime now) {
  for (std::size_t i = 0; i < aside_.size();) {
    SetAside& aside = aside_[i];
    if (aside.start > now) {
      ++i;
      continue;
    }
    const Job& job = jobs_[aside.job];
    const std::vector<NodeNumber> before = aside.nodes;
    for (const NodeNumber node : before) places_.open_again(node);
    Places::DrainPlan plan = places_.plan_drain(job.request.needs, aside.fits, wish_of(job, now), {});
    if (plan.nodes.empty()) {
      const SetAside given_up = aside;
      aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(i));
      settle(given_up.job);
      give_back(given_up);
      continue;
    }
    aside.nodes = std::move(plan.nodes);
    aside.start = std::max(plan.ready, now + kShortestDelay);
    reserve(aside);
    ++plan_round_;
    for (const NodeNumber node : before) room_on(node);
    for (const NodeNumber node : aside.nodes) room_on(node);
    ++i;
  }
}

void Scheduler::report_overdue(WallTime now, SchedulerDecision& decision) {
  while (!limits_.empty() && limits_.begin()->first <= now) {
    decision.overdue.push_back(jobs_[limits_.begin()->second].request.id);
    limits_.erase(limits_.begin());
  }
}

SchedulerDecision Scheduler::decide(WallTime now) {
  SchedulerDecision decision;
  wake(now);
  plan_anew(now);
  start_set_aside(now, decision);
  while (WaitingLines::Line* line = lines_.next()) {
    const WaitingLines::Head head = *line->heads.begin();
    if (over_quota(jobs_[head.entry.job])) {
      lines_.park(*line, head.user);
    } else if (!start_from(*line, now, decision)) {
      lines_.block(*line);
    }
  }
  fill_gaps(now, decision);
  set_nodes_aside(now);
  report_overdue(now, decision);
  return decision;
}

std::optional<WallTime> Scheduler::next_look() const {
  std::optional<WallTime> next;
  const auto consider = [&](const auto& times) {
    if (!times.empty() && (!next || times.begin()->first < *next)) next = times.begin()->first;
  };
  consider(delayed_);
  consider(limits_);
  consider(maintenance_ends_);
  for (const SetAside& aside : aside_) {
    if (!next || aside.start < *next) next = aside.start;
  }
  return next;
}

}  // namespace assay
