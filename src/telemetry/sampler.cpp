#include "telemetry/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "telemetry/reading.h"

namespace assay {
namespace {

constexpr Nanos kHangCheck = std::chrono::seconds(1);
/// That a reading carries on from others which nobody took.
constexpr std::size_t kMostEvents = 1024;

}  // namespace

WallTime next_grid_time(WallTime now, Nanos period, std::optional<WallTime> last) {
  const auto since_epoch = now.time_since_epoch();
  auto ticks = since_epoch / period;
  if (ticks * period < since_epoch) ++ticks;
  const WallTime time{ticks * period};
  if (!last || time > *last || *last - time > period) return time;
  // The timer woke a little early: the grid time that was served already is not served twice.
  return WallTime{(last->time_since_epoch() / period + 1) * period};
}

/// One source, its thread and its state. Guarded by the mutex of `Shared`, except for `source`, which is the thread's.
struct Sampler::Lane {
  std::size_t index = 0;
  std::unique_ptr<MetricSource> source;
  std::thread thread;
  SourceState state;
  std::optional<SteadyTime> reading_since;
  std::optional<WallTime> last_grid;
  bool everything = false;
  bool ended = false;
};

/// What the threads use. They hold it too, so that one that hangs outlives the sampler without harm.
struct Sampler::Shared {
  SamplerOptions options;
  SystemClock clock;
  mutable std::mutex mutex;
  std::condition_variable timers;  ///< the lanes wait here for their grid time
  std::condition_variable news;    ///< `next` and `stop` wait here
  std::deque<SampledReading> queue;
  std::vector<std::unique_ptr<Lane>> lanes;
  Nanos period{};
  bool stopping = false;

  void push(Lane& lane, SampledReading reading) {
    reading.source = lane.index;
    queue.push_back(std::move(reading));
    while (queue.size() > options.queue_limit) discard_oldest();
    news.notify_all();
  }

  /// Values may be lost; what has happened, and which devices there are, goes on with the source's next reading.
  void discard_oldest() {
    SampledReading oldest = std::move(queue.front());
    queue.pop_front();
    ++lanes[oldest.source]->state.discarded;
    const auto heir = std::find_if(queue.begin(), queue.end(),
                                   [&](const SampledReading& waiting) { return waiting.source == oldest.source; });
    if (heir == queue.end()) return;
    auto& events = heir->reading.events;
    auto& old_events = oldest.reading.events;
    if (events.size() + old_events.size() <= kMostEvents) {
      events.insert(events.begin(), old_events.begin(), old_events.end());
    }
    if (!heir->reading.devices) heir->reading.devices = std::move(oldest.reading.devices);
  }

  TelemetryEvent source_event(const Lane& lane, std::string kind, std::string message) const {
    return {.time = clock.wall(),
            .kind = std::move(kind),
            .about = lane.state.name,
            .message = std::move(message),
            .values = {}};
  }

  void mark_failing(Lane& lane, std::string message, Reading& reading) {
    lane.state.last_error = message;
    if (!lane.state.ok) return;
    lane.state.ok = false;
    lane.state.failing_since = clock.wall();
    reading.events.push_back(source_event(lane, "source_failing", std::move(message)));
  }

  void mark_working(Lane& lane, Reading& reading) {
    ++lane.state.readings;
    if (lane.state.ok) return;
    const double seconds = seconds_of(clock.wall() - *lane.state.failing_since);
    lane.state.ok = true;
    lane.state.failing_since.reset();
    auto event = source_event(lane, "source_recovered", "readings come again");
    event.values["failed_seconds"] = seconds;
    reading.events.push_back(std::move(event));
  }

  /// Reports sources that have not answered in time; says when the next one would be late.
  SteadyTime check_for_hangs() {
    const SteadyTime now = clock.now();
    SteadyTime soonest = SteadyTime::max();
    for (auto& lane : lanes) {
      if (!lane->reading_since || !lane->state.ok) continue;
      const SteadyTime late = *lane->reading_since + options.read_limit;
      if (now < late) {
        soonest = std::min(soonest, late);
        continue;
      }
      SampledReading report;
      report.time = lane->last_grid.value_or(clock.wall());
      mark_failing(*lane, fmt::format("no answer for {} s", seconds_of(options.read_limit)), report.reading);
      push(*lane, std::move(report));
    }
    return soonest;
  }
};

Sampler::Sampler(std::vector<std::unique_ptr<MetricSource>> sources, const SamplerOptions& options)
    : shared_(std::make_shared<Shared>()) {
  shared_->options = options;
  shared_->period = std::clamp(options.period, kShortestPeriod, kLongestPeriod);
  for (auto& source : sources) {
    auto lane = std::make_unique<Lane>();
    lane->index = shared_->lanes.size();
    lane->state.name = source->name();
    lane->source = std::move(source);
    shared_->lanes.push_back(std::move(lane));
  }
  const std::lock_guard lock(shared_->mutex);
  for (auto& lane : shared_->lanes) {
    lane->thread = std::thread([shared = shared_, &lane = *lane] { run(shared, lane); });
  }
}

Sampler::~Sampler() { stop(); }

void Sampler::run(const std::shared_ptr<Shared>& shared, Lane& lane) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stopping) {
    const WallTime wall = shared->clock.wall();
    const Nanos period = shared->period;
    const WallTime grid = next_grid_time(wall, period, lane.last_grid);
    const SteadyTime wake = shared->clock.now() + (grid - wall);
    const bool interrupted =
        shared->timers.wait_until(lock, wake, [&] { return shared->stopping || shared->period != period; });
    if (interrupted) continue;
    if (lane.last_grid && grid > *lane.last_grid) {
      const auto passed = (grid - *lane.last_grid) / period;
      // Far more than a reading can last: the clock was set forward.
      if (passed > 1 && grid - *lane.last_grid < std::chrono::hours(1)) {
        lane.state.skipped += static_cast<std::uint64_t>(passed - 1);
      }
    }
    lane.last_grid = grid;
    lane.reading_since = shared->clock.now();
    lock.unlock();
    auto result = read_once(*shared, lane);
    lock.lock();
    lane.reading_since.reset();
    finish(*shared, lane, grid, std::move(result));
  }
  lane.ended = true;
  shared->news.notify_all();
}

Result<Reading> Sampler::read_once(Shared& shared, Lane& lane) {
  bool everything = false;
  {
    const std::lock_guard lock(shared.mutex);
    everything = std::exchange(lane.everything, false);
  }
  const SteadyTime deadline = shared.clock.now() + shared.options.read_limit;
  try {
    return everything ? lane.source->read_everything(deadline) : lane.source->read(deadline);
  } catch (const std::exception& problem) {
    return Error{.kind = ErrorKind::internal, .message = problem.what()};
  }
}

void Sampler::finish(Shared& shared, Lane& lane, WallTime grid, Result<Reading> result) {
  if (shared.stopping) return;
  SampledReading sampled{.source = lane.index, .time = grid, .reading = {}};
  if (result) {
    sampled.reading = std::move(*result);
    shared.mark_working(lane, sampled.reading);
  } else {
    shared.mark_failing(lane, result.error().text(), sampled.reading);
    if (sampled.reading.events.empty()) return;  // known to fail
  }
  shared.push(lane, std::move(sampled));
}

std::optional<SampledReading> Sampler::next(SteadyTime deadline) {
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    const SteadyTime late = shared_->check_for_hangs();
    if (!shared_->queue.empty()) {
      SampledReading first = std::move(shared_->queue.front());
      shared_->queue.pop_front();
      return first;
    }
    if (shared_->stopping || shared_->clock.now() >= deadline) return std::nullopt;
    // A reading may begin while we wait, and nobody wakes us for that.
    shared_->news.wait_until(lock, std::min({deadline, late, shared_->clock.now() + kHangCheck}));
  }
}

void Sampler::set_period(Nanos period) {
  const std::lock_guard lock(shared_->mutex);
  shared_->period = std::clamp(period, kShortestPeriod, kLongestPeriod);
  shared_->timers.notify_all();
}

void Sampler::read_everything_next() {
  const std::lock_guard lock(shared_->mutex);
  for (auto& lane : shared_->lanes) lane->everything = true;
}

std::vector<SourceState> Sampler::states() const {
  const std::lock_guard lock(shared_->mutex);
  shared_->check_for_hangs();
  std::vector<SourceState> states;
  states.reserve(shared_->lanes.size());
  for (const auto& lane : shared_->lanes) states.push_back(lane->state);
  return states;
}

void Sampler::stop() {
  std::vector<std::thread> finished;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->timers.notify_all();
    shared_->news.notify_all();
    const auto all_ended = [&] {
      return std::all_of(shared_->lanes.begin(), shared_->lanes.end(), [](const auto& lane) { return lane->ended; });
    };
    shared_->news.wait_until(lock, shared_->clock.now() + shared_->options.stop_limit, all_ended);
    for (auto& lane : shared_->lanes) {
      if (!lane->thread.joinable()) continue;
      // A thread that is stuck in a driver can be neither joined nor killed; it holds all that it uses.
      lane->ended ? finished.push_back(std::move(lane->thread)) : lane->thread.detach();
    }
  }
  for (auto& thread : finished) thread.join();
}

}  // namespace assay
