#include "scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace assay {
namespace {

Error unknown_job(const std::string& id) {
  return {.kind = ErrorKind::not_found, .message = fmt::format("there is no job '{}' that has not ended", id)};
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options) : options_(options), fair_share_(options.fair_share) {}

Result<void> Scheduler::node_up(const NodeOffer& offer) {
  if (offer.gpus.size() > kMostGpusOfNode || !(offer.speed > 0)) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("node '{}' offers {} GPUs at a speed of {}: at most {} and more than 0 will do",
                                        offer.name, offer.gpus.size(), offer.speed, kMostGpusOfNode)};
  }
  const NodeNumber number = places_.put(offer);
  if (offer.maintenance) maintenance_ends_.emplace(offer.maintenance->second, number);
  fair_share_.set_gpus(static_cast<double>(places_.gpus_up()));
  ++plan_round_;
  nodes_have_changed_ = true;
  if (!offer.closed.empty()) plan_without(number);
  lines_.look_again();
  return {};
}

std::vector<std::string> Scheduler::node_down(const std::string& name) {
  std::vector<std::string> ids;
  const auto number = places_.number_of(name);
  if (!number) return ids;
  for (const JobNumber job : places_.take_down(*number)) ids.push_back(jobs_[job].request.id);
  fair_share_.set_gpus(static_cast<double>(places_.gpus_up()));
  plan_without(*number);
  return ids;
}

/// A gang whose node takes no jobs any more looks for other nodes.
void Scheduler::plan_without(NodeNumber node) {
  for (std::size_t i = 0; i < aside_.size();) {
    const SetAside aside = aside_[i];
    if (std::find(aside.nodes.begin(), aside.nodes.end(), node) == aside.nodes.end()) {
      ++i;
      continue;
    }
    aside_.erase(aside_.begin() + static_cast<std::ptrdiff_t>(i));
    give_back(aside);
    settle(aside.job);
  }
}

void Scheduler::set_user(const std::string& user, const UserRule& rule) {
  const std::size_t number = fair_share_.user(user);
  if (users_.size() <= number) users_.resize(number + 1);
  fair_share_.set_rule(number, rule);
  lines_.unpark(number);
  update_delay(number);
}

void Scheduler::charge_user(const std::string& user, double gpu_seconds, WallTime when) {
  const std::size_t number = fair_share_.user(user);
  if (users_.size() <= number) set_user(user, options_.user);
  fade_use(when);
  fair_share_.charge(number, gpu_seconds);
  update_delay(number);
}

std::optional<JobNumber> Scheduler::number_of(const std::string& id) const {
  const auto place = numbers_.find(id);
  if (place == numbers_.end()) return std::nullopt;
  return place->second;
}

JobNumber Scheduler::keep(JobRequest request) {
  JobNumber number = 0;
  if (unused_.empty()) {
    number = static_cast<JobNumber>(jobs_.size());
    jobs_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  Job& job = jobs_[number];
  const std::size_t known_users = users_.size();
  job.user = fair_share_.user(request.user);
  if (job.user >= known_users) {
    users_.resize(job.user + 1);
    fair_share_.set_rule(job.user, options_.user);
  }
  job.after.insert(request.after.begin(), request.after.end());
  job.entry.job = number;
  job.entry.sequence = next_sequence_++;
  numbers_.emplace(request.id, number);
  job.request = std::move(request);
  return number;
}

void Scheduler::forget(JobNumber number) {
  numbers_.erase(jobs_[number].request.id);
  jobs_[number] = {};
  unused_.push_back(number);
}

Result<void> Scheduler::submit(JobRequest request) {
  ASSAY_CHECK(check_needs(request));
  if (numbers_.contains(request.id))
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a job '{}' already", request.id)};
  for (const std::string& id : request.after) dependents_[id].push_back(request.id);
  const bool out_of_date = spread_.add(request.estimate);
  const JobNumber number = keep(std::move(request));
  ++waiting_;
  if (out_of_date && options_.order.order == QueueOrder::aged_shortest) rekey();
  settle(number);
  return {};
}

void Scheduler::settle(JobNumber number) {
  Job& job = jobs_[number];
  job.phase = Phase::waits;
  if (job.request.held || !job.after.empty() || !job.broken.empty()) return;
  if (job.request.not_before > WallTime{}) {
    delayed_.emplace(job.request.not_before, number);
    return;
  }
  job.phase = Phase::queued;
  job.entry.key = options_.order.key(job.request, spread_);
  lines_.add(job.request.needs, job.user, job.entry);
  newcomers_.push_back(number);
  update_delay(job.user);
}

/// Out of wherever a job waits.
void Scheduler::leave_line(JobNumber number) {
  Job& job = jobs_[number];
  delayed_.erase({job.request.not_before, number});
  if (job.phase == Phase::queued) lines_.remove(job.request.needs, job.user, job.entry);
  if (job.phase == Phase::set_aside) {
    const auto place =
        std::find_if(aside_.begin(), aside_.end(), [&](const SetAside& one) { return one.job == number; });
    ASSAY_ASSERT(place != aside_.end());
    const SetAside aside = std::move(*place);
    aside_.erase(place);
    give_back(aside);
  }
  job.phase = Phase::waits;
}

/// What is known of the spread of durations has changed: all that stand in line are compared anew.
void Scheduler::rekey() {
  lines_.clear();
  for (JobNumber number = 0; number < jobs_.size(); ++number) {
    Job& job = jobs_[number];
    if (job.phase != Phase::queued) continue;
    job.entry.key = options_.order.key(job.request, spread_);
    lines_.add(job.request.needs, job.user, job.entry);
  }
}

Result<void> Scheduler::started(const JobPlacement& placement, WallTime when) {
  const auto number = number_of(placement.job);
  if (!number) return unknown_job(placement.job);
  Job& job = jobs_[*number];
  if (job.phase == Phase::running) {
    if (job.request.time_limit) {
      limits_.erase({job.started + *job.request.time_limit, *number});
      limits_.emplace(when + *job.request.time_limit, *number);
    }
    job.expected_end += when - job.started;
    job.started = when;
    for (const NodeNumber node : job.nodes) places_.expect_end(node, *number, job.expected_end);
    return {};
  }
  std::vector<NodeNumber> taken;
  const WallTime expected_end = when + job.request.estimate.expected;
  for (const NodeShare& share : placement.shares) {
    const auto node = places_.number_of(share.node);
    if (!node || !places_.occupy_named(*node, *number, share, job.request.needs, expected_end)) {
      for (const NodeNumber one : taken) places_.vacate(one, *number);
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("job '{}' cannot run on node '{}': its GPUs are not there or not free",
                                          placement.job, share.node)};
    }
    taken.push_back(*node);
  }
  leave_line(*number);
  job.nodes = std::move(taken);
  job.expected_end = expected_end;
  for (const NodeShare& share : placement.shares) job.gpus += static_cast<int>(share.gpus.size());
  count_in(job, when);
  return {};
}

Result<void> Scheduler::take_back(const std::string& id, WallTime when) {
  const auto number = number_of(id);
  if (!number) return unknown_job(id);
  if (jobs_[*number].phase != Phase::running) return {};
  vacate(*number, when);
  ++waiting_;
  settle(*number);
  return {};
}

Result<void> Scheduler::change(const JobRequest& request, WallTime now) {
  ASSAY_CHECK(check_needs(request));
  const auto number = number_of(request.id);
  if (!number) return unknown_job(request.id);
  Job& job = jobs_[*number];
  if (job.phase == Phase::running) return {};
  leave_line(*number);
  job.request.needs = request.needs;
  job.request.estimate = request.estimate;
  job.request.priority = request.priority;
  job.request.time_limit = request.time_limit;
  job.request.retry = request.retry;
  job.request.attempt = request.attempt;
  job.request.not_before = request.not_before > now ? request.not_before : WallTime{};
  job.request.held = request.held;
  settle(*number);
  return {};
}

Result<JobAfterlife> Scheduler::ended(const std::string& id, JobOutcome outcome, WallTime when) {
  const auto number = number_of(id);
  if (!number) return unknown_job(id);
  Job& job = jobs_[*number];
  const bool ran = job.phase == Phase::running;
  if (ran) {
    vacate(*number, when);
  } else {
    leave_line(*number);
    --waiting_;
  }
  const bool may_pass = outcome == JobOutcome::failed || outcome == JobOutcome::lost;
  const auto wait = may_pass && ran ? wait_before_retry(job.request.retry, job.request.attempt) : std::nullopt;
  if (!wait) return close(*number, outcome == JobOutcome::succeeded);
  ++job.request.attempt;
  job.request.not_before = when + *wait;
  ++waiting_;
  settle(*number);
  return JobAfterlife{.retry = job.request.not_before};
}

JobAfterlife Scheduler::close(JobNumber number, bool succeeded) {
  JobAfterlife afterlife;
  const std::string id = jobs_[number].request.id;
  for (const std::string& other : jobs_[number].request.after) {
    const auto waiting = dependents_.find(other);
    if (waiting == dependents_.end()) continue;
    std::erase(waiting->second, id);
    if (waiting->second.empty()) dependents_.erase(waiting);
  }
  forget(number);
  const auto place = dependents_.find(id);
  if (place == dependents_.end()) return afterlife;
  const std::vector<std::string> dependents = std::move(place->second);
  dependents_.erase(place);
  for (const std::string& dependent : dependents) {
    const auto waiting = number_of(dependent);
    if (!waiting) continue;
    Job& job = jobs_[*waiting];
    if (succeeded) {
      job.after.erase(id);
      if (job.phase == Phase::waits && job.after.empty()) settle(*waiting);
    } else {
      job.broken = id;
      afterlife.never_runs.push_back(dependent);
    }
  }
  return afterlife;
}

Result<void> Scheduler::hold(const std::string& id) {
  const auto number = number_of(id);
  if (!number) return unknown_job(id);
  Job& job = jobs_[*number];
  if (job.phase == Phase::running) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("job '{}' runs already", id), .hint = "Cancel it."};
  }
  leave_line(*number);
  job.request.held = true;
  return {};
}

Result<void> Scheduler::release(const std::string& id, WallTime now) {
  const auto number = number_of(id);
  if (!number) return unknown_job(id);
  Job& job = jobs_[*number];
  if (!job.request.held) return {};
  job.request.held = false;
  if (job.request.not_before <= now) job.request.not_before = {};
  settle(*number);
  return {};
}

}  // namespace assay
