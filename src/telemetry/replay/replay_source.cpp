#include "telemetry/replay/replay_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "telemetry/reading.h"
#include "telemetry/replay/perturbation.h"

namespace assay {
namespace {

/// A GPU of the recording as this replay shows it.
struct PlayedGpu {
  std::string recorded;
  std::string shown;
  GpuCharacter character;
};

class ReplaySource final : public MetricSource {
 public:
  ReplaySource(std::shared_ptr<const Recording> recording, ReplayOptions options);

  std::string_view name() const override { return "replay"; }
  Result<Reading> read(SteadyTime) override { return play(false); }
  Result<Reading> read_everything(SteadyTime) override { return play(true); }

 private:
  struct PlayedSeries {
    const RecordedSeries* recorded;
    Sample prototype;
    PlayedGpu* gpu;        ///< null where the series is not of a GPU
    std::size_t next = 0;  ///< the first point that was not shown yet
    std::int64_t window;   ///< ns for which a point stays current
  };

  std::int64_t length() const { return recording_->last_ns - recording_->first_ns + recording_->period_ns; }
  PlayedGpu* gpu_of(const SeriesKey& key);
  Result<Reading> play(bool everything);
  void start_round();
  void play_series(std::int64_t position, bool everything, Reading& reading);
  void play_events(std::int64_t position, Reading& reading);
  double value_of(const PlayedSeries& series, double recorded) const;

  std::shared_ptr<const Recording> recording_;
  ReplayOptions options_;
  SystemClock system_clock_;
  const Clock& clock_;
  std::vector<std::unique_ptr<PlayedGpu>> gpus_;
  std::vector<PlayedSeries> series_;
  std::size_t next_event_ = 0;
  std::optional<SteadyTime> start_;
  std::int64_t round_ = 0;
};

/// How long a point of this series counts as the present value: a bit more than the time to the next one, where that
/// is the usual one; what was recorded once a minute is shown once a minute.
std::int64_t window_of(const RecordedSeries& series, const Recording& recording) {
  const auto points = static_cast<std::int64_t>(series.times_ns.size());
  const std::int64_t apart = (recording.last_ns - recording.first_ns + recording.period_ns) / points;
  return apart > 2 * recording.period_ns ? 0 : recording.period_ns + recording.period_ns / 2;
}

ReplaySource::ReplaySource(std::shared_ptr<const Recording> recording, ReplayOptions options)
    : recording_(std::move(recording)),
      options_(options),
      clock_(options_.clock != nullptr ? *options_.clock : system_clock_) {
  ASSAY_ASSERT(options_.speed > 0);
  for (const auto& device : recording_->devices) gpu_of({.name = "gpu.", .labels = {{"gpu", device.id}}});
  for (const auto& series : recording_->series) {
    PlayedGpu* gpu = gpu_of(series.key);
    Sample prototype{.key = series.key, .unit = series.unit, .value = 0};
    if (gpu != nullptr) prototype.key.labels["gpu"] = gpu->shown;
    series_.push_back(
        {.recorded = &series, .prototype = std::move(prototype), .gpu = gpu, .window = window_of(series, *recording_)});
  }
}

PlayedGpu* ReplaySource::gpu_of(const SeriesKey& key) {
  const auto label = key.labels.find("gpu");
  if (!key.name.starts_with("gpu.") || label == key.labels.end()) return nullptr;
  for (const auto& gpu : gpus_) {
    if (gpu->recorded == label->second) return gpu.get();
  }
  PlayedGpu gpu{.recorded = label->second, .shown = label->second};
  if (options_.seed) {
    gpu.shown = identity_of(*options_.seed, gpu.recorded);
    gpu.character = character_of(*options_.seed, gpu.recorded);
  }
  gpus_.push_back(std::make_unique<PlayedGpu>(std::move(gpu)));
  return gpus_.back().get();
}

Result<Reading> ReplaySource::play(bool everything) {
  const SteadyTime now = clock_.now();
  Reading reading;
  if (!start_) {
    start_ = now;
    reading.devices = recording_->devices;
    for (auto& device : *reading.devices) {
      device.id = gpu_of({.name = "gpu.", .labels = {{"gpu", device.id}}})->shown;
      if (options_.seed) device.facts.erase("serial");
    }
  }
  const auto played = static_cast<std::int64_t>(static_cast<double>((now - *start_).count()) * options_.speed);
  const std::int64_t round = played / length();
  if (round > 0 && !options_.loop) {
    return Error{.kind = ErrorKind::not_found, .message = "the recording is over"};
  }
  if (round != std::exchange(round_, round)) start_round();
  const std::int64_t position = recording_->first_ns + played % length();
  play_series(position, everything, reading);
  play_events(position, reading);
  return reading;
}

void ReplaySource::start_round() {
  next_event_ = 0;
  for (auto& series : series_) series.next = 0;
}

void ReplaySource::play_series(std::int64_t position, bool everything, Reading& reading) {
  for (auto& series : series_) {
    const auto& times = series.recorded->times_ns;
    const auto past = std::upper_bound(times.begin(), times.end(), position);
    if (past == times.begin()) continue;
    const auto index = static_cast<std::size_t>(past - times.begin()) - 1;
    const bool is_new = index >= series.next;
    if (!everything && !is_new && position - times[index] >= series.window) continue;
    series.next = index + 1;
    reading.samples.push_back(series.prototype);
    reading.samples.back().value = value_of(series, series.recorded->values[index]);
  }
}

double ReplaySource::value_of(const PlayedSeries& series, double recorded) const {
  if (series.gpu == nullptr || !options_.seed) return recorded;
  return in_character(series.gpu->character, series.prototype.key.name, recorded);
}

void ReplaySource::play_events(std::int64_t position, Reading& reading) {
  const auto& events = recording_->events;
  for (; next_event_ < events.size() && events[next_event_].time.time_since_epoch().count() <= position;
       ++next_event_) {
    TelemetryEvent event = events[next_event_];
    for (const auto& gpu : gpus_) {
      if (event.about == gpu->recorded) event.about = gpu->shown;
    }
    event.time = clock_.wall();
    reading.events.push_back(std::move(event));
  }
}

}  // namespace

std::unique_ptr<MetricSource> make_replay_source(std::shared_ptr<const Recording> recording, ReplayOptions options) {
  return std::make_unique<ReplaySource>(std::move(recording), options);
}

}  // namespace assay
