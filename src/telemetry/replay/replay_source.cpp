#include "telemetry/replay/replay_source.h"

#include <algorithm>
#include <map>
#include <utility>

#include "telemetry/replay/perturbation.h"

namespace assay {
namespace {

constexpr double kHotRise = 30;  // °C
constexpr double kHotRiseSeconds = 60;
constexpr double kThrottleFrom = 87;  // °C
constexpr double kThrottledClock = 0.75;
constexpr double kSlowClock = 0.7;
constexpr double kSlowPower = 0.8;
constexpr std::string_view kThrottleReason = "sw_thermal";

/// A GPU of the recording as this replay shows it.
struct PlayedGpu {
  std::string recorded;
  std::string shown;
  GpuCharacter character;
  // Of the reading under way.
  double heat = 0;  ///< °C above what was recorded
  bool throttled = false;
  bool slow = false;
  bool dead = false;
  bool was_throttled = false;
  bool was_dead = false;
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
  void apply_faults(Nanos since_start, Reading& reading);
  void report_throttling(Reading& reading);
  void play_series(std::int64_t position, bool everything, Reading& reading);
  void play_events(std::int64_t position, Reading& reading);
  double value_of(PlayedSeries& series, double recorded);
  TelemetryEvent event(std::string kind, const PlayedGpu& gpu, std::string message) const;

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
      options_(std::move(options)),
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
  apply_faults(now - *start_, reading);
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
    if (series.gpu != nullptr && series.gpu->dead) continue;
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
  report_throttling(reading);
}

double ReplaySource::value_of(PlayedSeries& series, double recorded) {
  if (series.gpu == nullptr) return recorded;
  const std::string& metric = series.prototype.key.name;
  PlayedGpu& gpu = *series.gpu;
  double value = options_.seed ? in_character(gpu.character, metric, recorded) : recorded;
  if (metric == "gpu.temperature_c") {
    value += gpu.heat;
    gpu.throttled = gpu.heat > 0 && value >= kThrottleFrom;
  } else if (metric == "gpu.memory_temperature_c") {
    value += gpu.heat;
  } else if (metric == "gpu.sm_clock_mhz") {
    value *= gpu.slow ? kSlowClock : gpu.was_throttled ? kThrottledClock : 1;
  } else if (metric == "gpu.power_w") {
    value *= gpu.slow ? kSlowPower : 1;
  } else if (metric == "gpu.throttle" && gpu.was_throttled) {
    const auto reason = series.prototype.key.labels.find("reason");
    if (reason != series.prototype.key.labels.end() && reason->second == kThrottleReason) value = 1;
  }
  return value;
}

void ReplaySource::apply_faults(Nanos since_start, Reading& reading) {
  for (auto& gpu : gpus_) {
    gpu->heat = 0;
    gpu->slow = gpu->dead = false;
  }
  for (const auto& fault : options_.faults) {
    const bool active = since_start >= fault.from && (!fault.until || since_start < *fault.until);
    if (fault.gpu >= gpus_.size() || !active) continue;
    PlayedGpu& gpu = *gpus_[fault.gpu];
    const double risen = seconds_of(since_start - fault.from) / kHotRiseSeconds;
    if (fault.kind == ReplayFault::Kind::hot) gpu.heat = kHotRise * std::min(1.0, risen);
    if (fault.kind == ReplayFault::Kind::slow) gpu.slow = true;
    if (fault.kind == ReplayFault::Kind::dead) gpu.dead = true;
  }
  for (auto& gpu : gpus_) {
    // Otherwise it lasts until the temperature, which is not in every reading, is below the limit again.
    if (gpu->heat == 0) gpu->throttled = false;
    if (gpu->dead == std::exchange(gpu->was_dead, gpu->dead)) continue;
    if (gpu->dead) {
      auto xid = event("xid", *gpu, "XID 79: the GPU has fallen off the bus");
      xid.values["xid"] = 79;
      reading.events.push_back(std::move(xid));
    }
    reading.events.push_back(gpu->dead ? event("gpu_lost", *gpu, "the GPU has fallen off the bus (NVML 15)")
                                       : event("gpu_found", *gpu, "the GPU is there again, or new"));
  }
}

void ReplaySource::report_throttling(Reading& reading) {
  for (auto& gpu : gpus_) {
    if (gpu->throttled == std::exchange(gpu->was_throttled, gpu->throttled)) continue;
    auto change = event("throttle", *gpu,
                        gpu->throttled ? "slowed by temperature, by the driver (sw_thermal)"
                                       : "no longer slowed by temperature, by the driver (sw_thermal)");
    change.values["active"] = gpu->throttled ? 1 : 0;
    reading.events.push_back(std::move(change));
  }
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

TelemetryEvent ReplaySource::event(std::string kind, const PlayedGpu& gpu, std::string message) const {
  return {
      .time = clock_.wall(), .kind = std::move(kind), .about = gpu.shown, .message = std::move(message), .values = {}};
}

}  // namespace

std::string_view name_of(ReplayFault::Kind kind) {
  switch (kind) {
    case ReplayFault::Kind::hot: return "hot";
    case ReplayFault::Kind::slow: return "slow";
    case ReplayFault::Kind::dead: return "dead";
  }
  return "";
}

std::optional<ReplayFault::Kind> replay_fault_from(std::string_view name) {
  for (const auto kind : {ReplayFault::Kind::hot, ReplayFault::Kind::slow, ReplayFault::Kind::dead}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::unique_ptr<MetricSource> make_replay_source(std::shared_ptr<const Recording> recording, ReplayOptions options) {
  return std::make_unique<ReplaySource>(std::move(recording), std::move(options));
}

}  // namespace assay
