#include "fleet/node_replay.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/random.h"

namespace assay {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Above 0: the moment before the first reading is still within the replay.
Nanos phase_of(std::uint64_t seed, std::int64_t length_ns) {
  const auto bound = static_cast<std::uint64_t>(length_ns);
  return Nanos(1 + static_cast<std::int64_t>(Random(seed, "fleet phase").below(bound)));
}

}  // namespace

NodeReplay::NodeReplay(std::shared_ptr<const FleetRecording> recording, std::uint64_t seed,
                       std::span<const FleetFault> faults, Nanos start)
    : recording_(std::move(recording)),
      start_(start),
      phase_(phase_of(seed, recording_->length_ns())),
      next_(recording_->timelines().size(), 0),
      point_(recording_->timelines().size(), kNone) {
  for (const auto& device : recording_->recording()->devices) {
    gpus_.push_back({.id = identity_of(seed, device.id), .character = character_of(seed, device.id)});
  }
  std::ranges::copy_if(faults, std::back_inserter(faults_),
                       [](const FleetFault& fault) { return is_of_gpu(fault.kind); });
  Batch unseen;
  play(start_ - Nanos(1), WallTime(), unseen);
}

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
  if (!faults_.empty()) take_faults(since_start, time, batch);
  play(since_start, time, batch);
  for (auto& sample : std::span(batch.samples).subspan(before)) {
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
    if (track.gpu && gpus_[*track.gpu].ailment.dead) continue;
    batch.samples.push_back(
        {.series = static_cast<std::uint32_t>(number), .time_ns = time_ns, .value = value_of(track, point)});
  }
}

double NodeReplay::value_of(const FleetRecording::Track& track, std::size_t point) const {
  const double recorded = track.series->values[point];
  if (!track.gpu) return recorded;
  const Gpu& gpu = gpus_[*track.gpu];
  const SeriesKey& key = track.series->key;
  const double value = gpu.ailment.loaded ? track.under_load.value_or(recorded) : recorded;
  const double own = in_character(gpu.character, key.name, value);
  return faults_.empty() ? own : ailing_value(gpu.ailment, key, own, recording_->memory_bytes()[*track.gpu]);
}

void NodeReplay::play_events(std::int64_t position, WallTime time, Batch& batch) {
  const auto& events = recording_->recording()->events;
  for (; next_event_ < events.size() && events[next_event_].time.time_since_epoch().count() <= position;
       ++next_event_) {
    TelemetryEvent event = events[next_event_];
    if (const Gpu* gpu = recorded_gpu(event.about)) {
      // It happened under another load than the one that this GPU has now.
      if (gpu->ailment.loaded) continue;
      event.about = gpu->id;
    }
    event.time = time;
    batch.events.push_back(std::move(event));
  }
}

const NodeReplay::Gpu* NodeReplay::recorded_gpu(const std::string& id) const {
  const auto& devices = recording_->recording()->devices;
  for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
    if (devices[gpu].id == id) return &gpus_[gpu];
  }
  return nullptr;
}

void NodeReplay::take_faults(Nanos since_start, WallTime time, Batch& batch) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    Gpu& gpu = gpus_[i];
    const double hottest = recording_->hottest_c()[i] + gpu.character.temperature_offset;
    const GpuAilment before = std::exchange(gpu.ailment, ailment_at(faults_, i, since_start, hottest));
    for (auto& event : events_between(before, gpu.ailment, gpu.id)) {
      event.time = time;
      batch.events.push_back(std::move(event));
    }
  }
}

}  // namespace assay
