#include "telemetry/lines/line_sampler.h"

#include <algorithm>
#include <utility>

#include "telemetry/devices.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

constexpr int kTriesBeforeSilent = 5;
/// Readings between two introductions: what a reader can miss to whom the last one was lost.
constexpr int kIntroductionPeriod = 600;

}  // namespace

LineSampler::LineSampler(std::vector<LineSource> sources, LineSamplerOptions options)
    : options_(std::move(options)), writer_(options_.node) {
  for (auto& source : sources) lanes_.push_back({.from = std::move(source)});
  // Whatever becomes of the readings, that there is somebody who reads is known from the first moment on.
  writer_.introduce(lines_);
  thread_.emplace("readings", [this](const std::stop_token& stop) { run(stop); }, SupervisedThread::OnFailure{});
}

std::string LineSampler::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lines_, {});
}

std::string LineSampler::finish() {
  if (!thread_) return {};
  thread_.reset();
  read();
  return take();
}

void LineSampler::run(const std::stop_token& stop) {
  SteadyTime next = clock_.now();
  do {
    read();
    const auto now = clock_.now();
    while (next <= now) next += options_.period;
  } while (sleep_for(stop, next - clock_.now()));
}

void LineSampler::read() {
  std::string lines;
  std::vector<Sample> samples;
  const WallTime time = clock_.wall();
  for (auto& lane : lanes_) read_lane(lane, samples, lines);
  const std::lock_guard lock(mutex_);
  lines_ += lines;
  if (lines_.size() > options_.most_waiting) return;
  if (++readings_ % kIntroductionPeriod == 0) writer_.introduce(lines_);
  writer_.add(lines_, time, samples);
}

void LineSampler::read_lane(Lane& lane, std::vector<Sample>& samples, std::string& lines) {
  auto reading = lane.from.source->read(clock_.now() + options_.read_limit);
  if (!reading) {
    if (!lane.answered && ++lane.failures == kTriesBeforeSilent) {
      writer_.tell_silence(lines, lane.from.source->name(), reading.error().text());
    }
    return;
  }
  if (!std::exchange(lane.answered, true) && lane.failures >= kTriesBeforeSilent) {
    writer_.tell_silence(lines, lane.from.source->name(), "");
  }
  if (reading->devices) learn_devices(*reading->devices);
  for (auto& sample : reading->samples) {
    if (!is_wanted(sample.key)) continue;
    sample.key.labels.insert(lane.from.labels.begin(), lane.from.labels.end());
    samples.push_back(std::move(sample));
  }
}

void LineSampler::learn_devices(const std::vector<DeviceFacts>& devices) {
  parents_.clear();
  for (const auto& device : devices) {
    const auto parent = device.facts.find("parent");
    if (parent == device.facts.end() || !options_.gpus) continue;
    const bool ours = std::any_of(options_.gpus->begin(), options_.gpus->end(),
                                  [&](const std::string& gpu) { return device.id.starts_with(gpu); });
    if (ours) parents_.push_back(parent->second);
  }
}

bool LineSampler::is_wanted(const SeriesKey& key) const {
  const auto gpu = key.labels.find("gpu");
  if (gpu == key.labels.end() || !options_.gpus) return true;
  return std::any_of(options_.gpus->begin(), options_.gpus->end(),
                     [&](const std::string& ours) { return gpu->second.starts_with(ours); }) ||
         std::find(parents_.begin(), parents_.end(), gpu->second) != parents_.end();
}

}  // namespace assay
