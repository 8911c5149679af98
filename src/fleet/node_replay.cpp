#include "fleet/node_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::optional<ReplayFault::Kind> replay_kind(FleetFault::Kind kind) {
  if (kind == FleetFault::Kind::hot) return ReplayFault::Kind::hot;
  if (kind == FleetFault::Kind::slow) return ReplayFault::Kind::slow;
  if (kind == FleetFault::Kind::dead) return ReplayFault::Kind::dead;
  return std::nullopt;
}

/// For each GPU that a fault befalls, the fault as a replay knows it; `shift` is from the fleet's time to the replay's.
std::vector<ReplayFault> replay_faults(std::span<const FleetFault> faults, std::size_t gpus, Nanos shift) {
  std::vector<ReplayFault> list;
  for (const auto& fault : faults) {
    const auto kind = replay_kind(fault.kind);
    if (!kind) continue;
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      if (fault.gpu && *fault.gpu != gpu) continue;
      ReplayFault replayed{.kind = *kind, .gpu = gpu, .from = fault.from + shift};
      if (fault.until) replayed.until = *fault.until + shift;
      list.push_back(replayed);
    }
  }
  return list;
}

/// Above 0: the moment before the first reading is still within the replay.
Nanos phase_of(std::uint64_t seed, std::int64_t length_ns) {
  const auto bound = static_cast<std::uint64_t>(length_ns);
  return Nanos(1 + static_cast<std::int64_t>(Random(seed, "fleet phase").below(bound)));
}

}  // namespace

/// A node with a GPU that is hot, slow or dead: few have one, so they may cost what a real replay costs.
class NodeReplay::Patient {
 public:
  Patient(const NodeReplay& node, std::vector<ReplayFault> faults)
      : now_(node.start_ - node.phase_),
        source_(make_replay_source(node.recording_->recording(),
                                   {.seed = node.seed_, .faults = std::move(faults), .clock = &clock_})) {
    std::uint32_t number = 0;
    for (auto& name : node.names()) numbers_.emplace(std::move(name.key), number++);
    // The first starts the replay, the second shows what came before the node's time: nobody wants to see that.
    Batch unseen;
    read(now_, WallTime(), unseen);
    read(node.start_ - Nanos(1), WallTime(), unseen);
  }

  void read(Nanos since_start, WallTime time, Batch& batch) {
    clock_.advance(since_start - std::exchange(now_, since_start));
    auto reading = source_->read(SteadyTime::max());
    ASSAY_ASSERT(reading.ok());  // a replay that loops does not end
    for (const auto& sample : reading->samples) {
      batch.samples.push_back(
          {.series = numbers_.at(sample.key), .time_ns = time.time_since_epoch().count(), .value = sample.value});
    }
    for (auto& event : reading->events) {
      event.time = time;
      batch.events.push_back(std::move(event));
    }
  }

 private:
  Nanos now_;
  ManualClock clock_;
  std::unique_ptr<MetricSource> source_;
  std::map<SeriesKey, std::uint32_t> numbers_;
};

NodeReplay::NodeReplay(std::shared_ptr<const FleetRecording> recording, std::uint64_t seed,
                       std::span<const FleetFault> faults, Nanos start)
    : recording_(std::move(recording)),
      seed_(seed),
      start_(start),
      phase_(phase_of(seed, recording_->length_ns())),
      next_(recording_->timelines().size(), 0),
      point_(recording_->timelines().size(), kNone) {
  for (const auto& device : recording_->recording()->devices) {
    gpus_.push_back({.id = identity_of(seed, device.id), .character = character_of(seed, device.id)});
  }
  for (const auto& fault : faults) {
    if (fault.kind == FleetFault::Kind::leak) leaks_.push_back(fault);
  }
  if (auto list = replay_faults(faults, gpus_.size(), phase_ - start_); !list.empty()) {
    patient_ = std::make_unique<Patient>(*this, std::move(list));
  } else {
    Batch unseen;
    play(start_ - Nanos(1), WallTime(), unseen);
  }
}

NodeReplay::NodeReplay(NodeReplay&&) noexcept = default;
NodeReplay::~NodeReplay() = default;

std::vector<SeriesName> NodeReplay::names() const {
  std::vector<SeriesName> names;
  names.reserve(recording_->tracks().size());
  for (const auto& track : recording_->tracks()) {
    names.push_back({.key = track.series->key, .unit = track.series->unit});
    if (track.gpu) names.back().key.labels["gpu"] = gpus_[*track.gpu].id;
  }
  return names;
}

std::vector<DeviceFacts> NodeReplay::devices() const {
  std::vector<DeviceFacts> devices = recording_->recording()->devices;
  for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
    devices[gpu].id = gpus_[gpu].id;
    devices[gpu].facts.erase("serial");
    devices[gpu].facts["simulated"] = "yes";
  }
  return devices;
}

void NodeReplay::read(Nanos since_start, WallTime time, Batch& batch) {
  const std::size_t before = batch.samples.size();
  if (patient_) {
    patient_->read(since_start, time, batch);
  } else {
    play(since_start, time, batch);
  }
  const std::span<BatchSample> samples = std::span(batch.samples).subspan(before);
  if (!leaks_.empty()) leak(since_start, samples);
  for (auto& sample : samples) {
    const double scale = recording_->tracks()[sample.series].scale;
    if (scale > 0) sample.value = std::round(sample.value * scale) / scale;
  }
}

void NodeReplay::play(Nanos since_start, WallTime time, Batch& batch) {
  const std::int64_t played = (since_start - start_ + phase_).count();
  const std::int64_t round = played / recording_->length_ns();
  if (round != std::exchange(round_, round)) {
    next_event_ = 0;
    std::ranges::fill(next_, 0U);
  }
  const std::int64_t position = recording_->recording()->first_ns + played % recording_->length_ns();
  find_points(position);
  play_series(time.time_since_epoch().count(), batch);
  play_events(position, time, batch);
}

void NodeReplay::find_points(std::int64_t position) {
  for (std::size_t i = 0; i < point_.size(); ++i) {
    const auto& timeline = recording_->timelines()[i];
    const auto& times = *timeline.times_ns;
    const auto past = static_cast<std::size_t>(std::ranges::upper_bound(times, position) - times.begin());
    const bool is_current = past > 0 && (past > next_[i] || position - times[past - 1] < timeline.window_ns);
    point_[i] = is_current ? past - 1 : kNone;
    if (is_current) next_[i] = past;
  }
}

void NodeReplay::play_series(std::int64_t time_ns, Batch& batch) const {
  const auto& tracks = recording_->tracks();
  for (std::size_t number = 0; number < tracks.size(); ++number) {
    const auto& track = tracks[number];
    const std::size_t point = point_[track.timeline];
    if (point == kNone) continue;
    double value = track.series->values[point];
    if (track.gpu) value = in_character(gpus_[*track.gpu].character, track.series->key.name, value);
    batch.samples.push_back({.series = static_cast<std::uint32_t>(number), .time_ns = time_ns, .value = value});
  }
}

void NodeReplay::play_events(std::int64_t position, WallTime time, Batch& batch) {
  const auto& events = recording_->recording()->events;
  for (; next_event_ < events.size() && events[next_event_].time.time_since_epoch().count() <= position;
       ++next_event_) {
    TelemetryEvent event = events[next_event_];
    event.about = shown(event.about);
    event.time = time;
    batch.events.push_back(std::move(event));
  }
}

std::string NodeReplay::shown(const std::string& recorded) const {
  const auto& devices = recording_->recording()->devices;
  for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
    if (devices[gpu].id == recorded) return gpus_[gpu].id;
  }
  return recorded;
}

void NodeReplay::leak(Nanos since_start, std::span<BatchSample> samples) const {
  for (const auto& fault : leaks_) {
    if (!fault.active_at(since_start)) continue;
    const double lost = seconds_of(since_start - fault.from) * kLeakBytesPerSecond;
    for (auto& sample : samples) {
      const auto& track = recording_->tracks()[sample.series];
      if (!track.is_memory_used || !track.gpu || (fault.gpu && fault.gpu != track.gpu)) continue;
      sample.value = std::min(sample.value + std::floor(lost), recording_->memory_bytes()[*track.gpu]);
    }
  }
}

}  // namespace assay
