#include "leader/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <set>
#include <utility>

#include "leader/node_outline.h"
#include "leader/node_status.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "store/cluster_store.h"
#include "store/event_log.h"
#include "watch/rule_view.h"

namespace assay {
namespace {

constexpr Nanos kClockSlack = std::chrono::seconds(5);

/// Kinds of faults that are told apart; there are some two hundred.
constexpr std::size_t kMaxXids = 1024;

using Facts = std::map<std::string, std::string>;

/// "kernel: 6.1.0 → 6.1.7"; facts that come and go are said as such.
void compare_facts(const std::string& prefix, const Facts& before, const Facts& after, std::vector<std::string>& out) {
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (old == before.end()) {
      if (!before.empty()) out.push_back(fmt::format("{}{}: now {}", prefix, name, value));
    } else if (old->second != value) {
      out.push_back(fmt::format("{}{}: {} → {}", prefix, name, old->second, value));
    }
  }
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) out.push_back(fmt::format("{}{}: no longer known (was {})", prefix, name, value));
  }
}

Nanos thread_processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Nanos(time.tv_nsec);
}

std::string title_of(const NodeRecord::Device& device) {
  const auto name = device.facts.find("name");
  return name == device.facts.end() ? device.id : fmt::format("{} {}", name->second, device.id);
}

}  // namespace

Node::Node(NodeRecord record) : record_(std::move(record)) {}
Node::~Node() = default;

Node::Intake::Intake(Node& node, const Clock& clock)
    : node_(node), clock_(clock), held_(node.intake_mutex_.try_lock()) {
  if (!held_) return;
  processor_time_ = thread_processor_time();
  const std::lock_guard lock(node_.mutex_);
  node_.in_hand_ = true;
  if (std::exchange(node_.ask_again_, false)) node_.forget_series_locked();
}

Node::Intake::~Intake() {
  if (!held_) return;
  {
    const std::lock_guard lock(node_.mutex_);
    node_.in_hand_ = false;
    // Until now the node waited for us, and could not be heard.
    if (node_.last_heard_) node_.last_heard_->at = std::max(node_.last_heard_->at, clock_.now());
    node_.intake_.processor_time += thread_processor_time() - processor_time_;
  }
  node_.intake_mutex_.unlock();
}

Nanos Node::intake_wait(const IntakeLimits& limits, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  return intake_budget_.wait(limits, now);
}

void Node::spend(const IntakeWork& work, const IntakeLimits& limits, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  intake_budget_.spend(work.units(), limits, now);
  intake_.bytes += work.bytes;
  intake_.rewritten += work.rewritten;
}

std::vector<std::string> Node::say_hello(const AgentHello& hello, Heartbeat heartbeat) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> changes;
  compare_facts("", record_.facts, hello.facts, changes);
  if (!record_.version.empty() && record_.version != hello.version) {
    changes.push_back(fmt::format("agent: {} → {}", record_.version, hello.version));
  }
  NodeRecord said = record_;
  said.facts = hello.facts;
  said.version = hello.version;
  said.simulated = hello.simulated;
  said.allow = hello.allow;
  said.sources = hello.sources;
  said.period_ms = hello.period_ms;
  change_record(std::move(said));
  record_.last_seen = heartbeat.wall;
  last_heard_ = heartbeat;
  if (find_stream(hello.stream) == nullptr) {
    if (streams_.size() == kMaxStreams) {
      streams_.erase(std::min_element(streams_.begin(), streams_.end(),
                                      [](const Stream& a, const Stream& b) { return a.used < b.used; }));
    }
    streams_.push_back({.id = hello.stream, .used = heartbeat.at});
    drop_unnamed();
  }
  return changes;
}

/// Forgets the values of series that no stream names any more.
void Node::drop_unnamed() {
  std::vector<bool> named(live_.size());
  for (const auto& stream : streams_) {
    for (const auto place : stream.places) {
      if (place != kNowhere) named[place] = true;
    }
  }
  std::vector<std::uint32_t> moved(live_.size(), kNowhere);
  std::deque<LiveValue> kept;
  place_of_.clear();
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) continue;
    moved[i] = static_cast<std::uint32_t>(kept.size());
    place_of_[live_[i].series.id] = moved[i];
    kept.push_back(std::move(live_[i]));
  }
  live_ = std::move(kept);
  for (auto& stream : streams_) {
    for (auto& place : stream.places) {
      if (place != kNowhere) place = moved[place];
    }
  }
}

std::vector<std::string> Node::set_devices(std::vector<DeviceFacts> devices) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> changes;
  std::vector<NodeRecord::Device> now;
  now.reserve(devices.size());
  for (auto& device : devices) now.push_back({.id = std::move(device.id), .facts = std::move(device.facts)});
  const auto find = [](const std::vector<NodeRecord::Device>& list, const std::string& id) {
    return std::find_if(list.begin(), list.end(), [&](const auto& device) { return device.id == id; });
  };
  for (const auto& device : now) {
    const auto before = find(record_.devices, device.id);
    if (before != record_.devices.end()) {
      compare_facts(device.id + " ", before->facts, device.facts, changes);
    } else if (!record_.devices.empty()) {
      changes.push_back(fmt::format("{} was added", title_of(device)));
    }
  }
  for (const auto& device : record_.devices) {
    if (find(now, device.id) == now.end()) changes.push_back(fmt::format("{} is gone", title_of(device)));
  }
  NodeRecord said = record_;
  said.devices = std::move(now);
  change_record(std::move(said));
  return changes;
}

void Node::set_processes(std::vector<GpuProcess> processes) {
  const std::lock_guard lock(mutex_);
  processes_ = std::move(processes);
}

bool Node::is_news(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  const std::int64_t latest = latest_time_ns();
  const std::int64_t time = batch.samples.empty() ? latest - kClockSlack.count() : batch.samples.back().time_ns;
  if (time < machine_time_ns_ && machine_time_ns_ <= latest) return false;
  machine_time_ns_ = time;
  return true;
}

void Node::heard(Heartbeat heartbeat, std::optional<double> clock_skew_s) {
  const std::lock_guard lock(mutex_);
  last_heard_ = heartbeat;
  record_.last_seen = heartbeat.wall;
  if (clock_skew_s) clock_.observe(*clock_skew_s, heartbeat);
}

std::int64_t Node::latest_time_ns() const {
  if (!last_heard_) return INT64_MAX;
  return (clock_.shown(last_heard_->wall) + kClockSlack).time_since_epoch().count();
}

void Node::doubt_our_clock(bool doubtful) {
  const std::lock_guard lock(mutex_);
  clock_.doubt_ours(doubtful);
}

NodeClock::State Node::clock_state() const {
  const std::lock_guard lock(mutex_);
  return clock_.state();
}

void Node::correct_times(Batch& batch, WallTime now) const {
  const std::lock_guard lock(mutex_);
  if (clock_.state() != NodeClock::State::corrected) return;
  for (auto& sample : batch.samples) sample.time_ns = clock_.corrected(sample.time_ns, now);
  for (auto& event : batch.events) {
    event.time = WallTime(Nanos(clock_.corrected(event.time.time_since_epoch().count(), now)));
  }
}

bool Node::is_in_hand() const {
  const std::lock_guard lock(mutex_);
  return in_hand_;
}

void Node::excuse(SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (last_heard_) last_heard_->at = std::max(last_heard_->at, now);
}

Node::Stream* Node::find_stream(std::string_view id) {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const Stream& s) { return s.id == id; });
  return found == streams_.end() ? nullptr : &*found;
}
const Node::Stream* Node::find_stream(std::string_view id) const { return const_cast<Node*>(this)->find_stream(id); }

Node::StreamState Node::stream_state(const Batch& batch) const {
  const std::lock_guard lock(mutex_);
  const Stream* stream = find_stream(batch.stream);
  if (stream == nullptr) return StreamState::unknown_stream;
  const std::size_t known = stream->places.size();
  if (batch.first_series > known) return StreamState::unknown_series;
  const std::size_t named = std::max(known, batch.first_series + batch.series.size());
  const bool all_named = std::all_of(batch.samples.begin(), batch.samples.end(),
                                     [&](const BatchSample& sample) { return sample.series < named; });
  return all_named ? StreamState::ready : StreamState::unknown_series;
}

std::size_t Node::known_series(std::string_view stream) const {
  const std::lock_guard lock(mutex_);
  const Stream* found = find_stream(stream);
  return found == nullptr ? 0 : found->places.size();
}

void Node::name_series(std::string_view stream, const std::vector<std::optional<SeriesInfo>>& series) {
  const std::lock_guard lock(mutex_);
  Stream* found = find_stream(stream);
  if (found == nullptr) return;
  for (const auto& info : series) {
    if (!info) {
      found->places.push_back(kNowhere);
      continue;
    }
    const auto [place, is_new] = place_of_.try_emplace(info->id, static_cast<std::uint32_t>(live_.size()));
    if (is_new) {
      live_.push_back({.series = *info, .gpu_field = gpu_field_of(info->key.name, info->key.labels)});
    }
    found->places.push_back(place->second);
  }
}

std::vector<bool> Node::admit_series(std::span<const SeriesName> series, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<bool> admitted(series.size(), true);
  // Most nodes have so few that nobody needs to look which of these are new.
  if (live_.size() + series.size() <= most) return admitted;
  std::set<SeriesKey> known;
  for (const auto& live : live_) known.insert(live.series.key);
  for (std::size_t i = 0; i < series.size(); ++i) {
    admitted[i] = known.contains(series[i].key) || known.size() < most;
    if (admitted[i]) known.insert(series[i].key);
  }
  return admitted;
}

void Node::forget_series() {
  const std::lock_guard lock(mutex_);
  forget_series_locked();
}

void Node::ask_again_for_refused() {
  const std::lock_guard lock(mutex_);
  ask_again_ = std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
    return std::find(stream.places.begin(), stream.places.end(), kNowhere) != stream.places.end();
  });
}

void Node::forget_series_locked() {
  for (auto& stream : streams_) stream.places.clear();
  live_.clear();
  place_of_.clear();
}

std::vector<SeriesSample> Node::resolve(const Batch& batch) const {
  const std::lock_guard lock(mutex_);
  std::vector<SeriesSample> samples;
  const Stream* stream = find_stream(batch.stream);
  if (stream == nullptr) return samples;
  samples.reserve(batch.samples.size());
  for (const auto& sample : batch.samples) {
    const std::uint32_t place = sample.series < stream->places.size() ? stream->places[sample.series] : kNowhere;
    if (place == kNowhere) continue;
    samples.push_back({.series = live_[place].series.id, .time_ns = sample.time_ns, .value = sample.value});
  }
  return samples;
}

void Node::remember(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  Stream* stream = find_stream(batch.stream);
  if (stream == nullptr) return;
  stream->last_sequence = std::max(stream->last_sequence, batch.sequence);
  if (last_heard_) stream->used = last_heard_->at;
  const std::int64_t latest = latest_time_ns();
  ++changes_;
  samples_ += batch.samples.size();
  for (const auto& sample : batch.samples) {
    const std::uint32_t place = sample.series < stream->places.size() ? stream->places[sample.series] : kNowhere;
    if (place == kNowhere) continue;
    LiveValue& live = live_[place];
    // What is filled in later is not news.
    if (sample.time_ns < live.time_ns && live.time_ns <= latest) continue;
    live.time_ns = sample.time_ns;
    live.value = sample.value;
    live.changed = changes_;
  }
}

std::uint64_t Node::last_sequence(std::string_view stream) const {
  const std::lock_guard lock(mutex_);
  const Stream* found = find_stream(stream);
  return found == nullptr ? 0 : found->last_sequence;
}

std::size_t Node::limit_events(std::vector<ClusterEvent>& events, Heartbeat now, std::size_t per_hour) const {
  const std::lock_guard lock(mutex_);
  EventBudget budget = event_budget_;
  return std::erase_if(events, [&](const ClusterEvent& event) {
    if (!budget.has_room(event.time, now, per_hour)) return true;
    budget.count(event.time, now, per_hour);
    return false;
  });
}

void Node::count_events(std::span<const ClusterEvent> events, Heartbeat now, std::size_t per_hour) {
  const std::lock_guard lock(mutex_);
  for (const auto& event : events) event_budget_.count(event.time, now, per_hour);
}

void Node::count_xid(const std::string& gpu, int xid) {
  const std::lock_guard lock(mutex_);
  const std::pair key(gpu, xid);
  if (xids_.size() < kMaxXids || xids_.contains(key)) ++xids_[key];
}

std::size_t Node::series_count() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

double Node::clock_skew_s() const {
  const std::lock_guard lock(mutex_);
  return clock_.skew_s();
}

std::string Node::name() const {
  const std::lock_guard lock(mutex_);
  return record_.name;
}

WallTime Node::first_seen() const {
  const std::lock_guard lock(mutex_);
  return record_.first_seen;
}

NodeOutline Node::outline(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  return {.state = state_locked(now),
          .simulated = record_.simulated,
          .gpus = record_.devices.size(),
          .changes = changes_,
          .told = told_};
}

NodeRecord Node::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

NodeState Node::state(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  return state_locked(now);
}

NodeState Node::state_locked(SteadyTime now) const {
  if (!last_heard_) return NodeState::offline;
  if (in_hand_) return record_.draining ? NodeState::draining : NodeState::online;
  if (now - last_heard_->at >= kMissedHeartbeats * kHeartbeat) return NodeState::offline;
  if (now - last_heard_->at >= kHeartbeat + kHeartbeat / 2) return NodeState::late;
  return record_.draining ? NodeState::draining : NodeState::online;
}

NodeStatus Node::status(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  return {.record = record_,
          .state = state_locked(now),
          .clock_skew_s = clock_.skew_s(),
          .clock_note = clock_.note(),
          .processes = processes_,
          .samples = samples_,
          .series = live_.size(),
          .intake = intake_,
          .xids = xids_,
          .behind_own_time = clock_.shown(WallTime()) - WallTime()};
}

void Node::set_draining(bool draining, std::string reason, std::optional<Maintenance> maintenance) {
  const std::lock_guard lock(mutex_);
  NodeRecord said = record_;
  said.draining = draining;
  said.drain_reason = std::move(reason);
  said.maintenance = maintenance;
  change_record(std::move(said));
}

Node::MaintenanceTurn Node::turn_maintenance(WallTime now) {
  const std::lock_guard lock(mutex_);
  const auto& maintenance = record_.maintenance;
  if (!maintenance || now < maintenance->from) return MaintenanceTurn::none;
  const bool ends = now >= maintenance->until;
  if (!ends && record_.draining) return MaintenanceTurn::none;
  NodeRecord said = record_;
  said.draining = !ends;
  if (ends) {
    said.drain_reason.clear();
    said.maintenance.reset();
  }
  change_record(std::move(said));
  return ends ? MaintenanceTurn::ends : MaintenanceTurn::begins;
}

/// With the mutex.
void Node::change_record(NodeRecord record) {
  ++told_;
  if (record == record_) return;
  ++version_;
  record_ = std::move(record);
}

std::optional<Node::Unsaved> Node::unsaved() const {
  const std::lock_guard lock(mutex_);
  if (version_ == saved_version_) return std::nullopt;
  return Unsaved{.record = record_, .version = version_};
}

void Node::note_saved(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  saved_version_ = version;
}

}  // namespace assay
