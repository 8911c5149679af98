#include "fleet/sim_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/ids.h"
#include "fleet/agent_identity.h"
#include "telemetry/sampler.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Nanos kStartsWithin = seconds(1);
/// Real agents read at the same moment, and have their answers from the driver at different ones.
constexpr Nanos kSendsWithin = milliseconds(200);
constexpr Nanos kClockAhead = seconds(5);
/// Long enough to be noticed as a loss, and back for too short a time to count as recovered.
constexpr Nanos kFlapAway = seconds(30);
constexpr Nanos kFlapBack = seconds(20);
/// A machine that slept for an hour is not to send all of it.
constexpr Nanos kLatestReading = seconds(60);
constexpr Nanos kFirstBackOff = seconds(1);
/// As real agents do: a leader that is back has all its nodes soon.
constexpr Nanos kLongestBackOff = seconds(10);

std::vector<FleetFault> faults_of(const FleetOptions& options, std::size_t node) {
  std::vector<FleetFault> faults;
  std::ranges::copy_if(options.faults, std::back_inserter(faults),
                       [&](const FleetFault& fault) { return fault.node == node; });
  return faults;
}

}  // namespace

SimAgent::SimAgent(const IoExecutor& executor, FleetState& fleet, std::size_t node)
    : executor_(executor),
      fleet_(fleet),
      name_(simulated_node_name(fleet.options.prefix, node, fleet.options.nodes)),
      key_(simulated_node_key(fleet.options.join_secret, name_)),
      stream_(new_id()),
      seed_(stable_hash(fmt::format("{} {}", fleet.options.seed, name_))),
      faults_(faults_of(fleet.options, node)),
      random_(seed_, "fleet agent"),
      begin_(kStartsWithin * static_cast<std::int64_t>(node) / static_cast<std::int64_t>(fleet.options.nodes)),
      period_(fleet.options.period),
      backlog_(fleet.backlog_bytes) {
  const Nanos within = std::min(kSendsWithin, period_ / 5);
  spread_ = Nanos(static_cast<std::int64_t>(random_.uniform() * static_cast<double>(within.count())));
}

bool SimAgent::suffers(FleetFault::Kind kind, Nanos at) const {
  return std::ranges::any_of(faults_,
                             [&](const FleetFault& fault) { return fault.kind == kind && fault.active_at(at); });
}

bool SimAgent::link_is_away() const {
  // Faults end with the fleet, so that what was kept can still be sent.
  if (ended()) return false;
  return suffers(FleetFault::Kind::node_dead, now()) || std::ranges::any_of(faults_, [&](const FleetFault& fault) {
           return fault.kind == FleetFault::Kind::flapping && fault.active_at(now()) &&
                  (now() - fault.from) % (kFlapAway + kFlapBack) < kFlapAway;
         });
}

WallTime SimAgent::clock_at(Nanos at) const {
  return fleet_.start_wall + at + (suffers(FleetFault::Kind::skew, at) ? kClockAhead : Nanos(0));
}

Nanos SimAgent::grid_time_from(Nanos at) const {
  return next_grid_time(fleet_.start_wall + at, period_, std::nullopt) - fleet_.start_wall;
}

Nanos SimAgent::behind() const { return backlog_.empty() ? Nanos(0) : now() - backlog_.oldest(); }

IoTask<void> SimAgent::run() {
  co_await fleet_.time.wait_until(begin_);
  next_tick_ = grid_time_from(now());
  for (;;) {
    read_what_is_due();
    if (ended()) break;
    if (link_is_away()) {
      client_.reset();
      connected_ = false;
    } else if (now() >= not_before_) {
      co_await talk();
    }
    co_await fleet_.time.wait_until(next_wake());
  }
  co_await drain();
  client_.reset();
}

Nanos SimAgent::next_wake() const {
  Nanos wake = next_tick_ + spread_;
  const Nanos talk = backlog_.empty() ? last_request_ + heartbeat_ : not_before_;
  if (talk > now()) wake = std::min(wake, talk);
  return fleet_.end ? std::min(wake, *fleet_.end) : wake;
}

IoTask<void> SimAgent::drain() {
  const Nanos deadline = *fleet_.end + fleet_.options.drain;
  if (suffers(FleetFault::Kind::node_dead, *fleet_.end)) co_return;
  // There is no later any more. What the leader asked for still holds.
  if (std::exchange(failures_, 0) > 0) wait_for(Nanos(0));
  while (!backlog_.empty() && !fleet_.given_up && now() < deadline) {
    if (now() >= not_before_) co_await talk();
    if (!backlog_.empty()) co_await fleet_.time.wait_until(std::min(not_before_, deadline));
  }
}

void SimAgent::read_what_is_due() {
  if (next_tick_ + kLatestReading < now()) {
    const Nanos from = grid_time_from(now() - kLatestReading);
    fleet_.counts.skipped_readings += static_cast<std::uint64_t>((from - next_tick_) / period_);
    next_tick_ = from;
  }
  for (; next_tick_ <= now() && !(fleet_.end && next_tick_ >= *fleet_.end); next_tick_ += period_) {
    if (!suffers(FleetFault::Kind::node_dead, next_tick_) && !suffers(FleetFault::Kind::node_dead, now())) {
      read_at(next_tick_);
    }
  }
  // The leader takes a node for offline that says nothing.
  if (greeted_ && !ended() && !link_is_away() && backlog_.empty() && now() - last_request_ >= heartbeat_) {
    backlog_.add(next_batch(), now());
  }
}

Batch SimAgent::next_batch() {
  Batch batch;
  batch.stream = stream_;
  batch.sequence = ++sequence_;
  return batch;
}

void SimAgent::read_at(Nanos tick) {
  if (!replay_) replay_.emplace(fleet_.recording, seed_, faults_, tick);
  Batch batch = next_batch();
  if (!std::exchange(named_, true)) {
    batch.series = replay_->names();
    batch.devices = replay_->devices();
  }
  batch.samples.reserve(fleet_.recording->tracks().size());
  replay_->read(tick, clock_at(tick), batch);
  fleet_.counts.samples += batch.samples.size();
  const std::uint64_t before = backlog_.overflowed();
  backlog_.add(batch, tick);
  fleet_.counts.overflowed += backlog_.overflowed() - before;
}

void SimAgent::back_off() {
  const int doubled = std::min(failures_++, 5);
  const Nanos usual = std::min(kFirstBackOff * (1 << doubled), kLongestBackOff);
  // A thousand nodes that lost their leader at the same moment must not come back at the same moment.
  wait_for(Nanos(static_cast<std::int64_t>(static_cast<double>(usual.count()) * random_.uniform(0.6, 1))));
}

void SimAgent::break_off() {
  if (client_) client_->cancel();
}

}  // namespace assay
