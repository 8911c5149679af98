#include "telemetry/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

WallTime wall(double at) { return WallTime(Nanos(static_cast<std::int64_t>(at * 1e9))); }

TEST(Grid, IsSharedByAllWhoHaveTheSamePeriod) {
  EXPECT_EQ(next_grid_time(wall(1000.25), seconds(1), std::nullopt), wall(1001));
  EXPECT_EQ(next_grid_time(wall(1000), seconds(1), std::nullopt), wall(1000));
  EXPECT_EQ(next_grid_time(wall(1000.25), milliseconds(100), std::nullopt), wall(1000.3));
}

TEST(Grid, NoTimeIsServedTwice) {
  EXPECT_EQ(next_grid_time(wall(1001), seconds(1), wall(1001)), wall(1002));
  EXPECT_EQ(next_grid_time(wall(1000.999), seconds(1), wall(1001)), wall(1002)) << "the timer was early";
  EXPECT_EQ(next_grid_time(wall(1004.5), seconds(1), wall(1001)), wall(1005)) << "a late source skips";
  EXPECT_EQ(next_grid_time(wall(1000.95), milliseconds(100), wall(1001)), wall(1001.1)) << "the period has changed";
}

TEST(Grid, AClockThatWasSetBackStartsAnew) {
  EXPECT_EQ(next_grid_time(wall(500.5), seconds(1), wall(1001)), wall(501));
}

/// A gate that a test opens and shuts, for a source to wait at.
class Gate {
 public:
  void open() { set(true); }
  void shut() { set(false); }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  void set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

class FunctionSource final : public MetricSource {
 public:
  FunctionSource(std::string name, std::function<Result<Reading>(bool)> function)
      : name_(std::move(name)), function_(std::move(function)) {}
  std::string_view name() const override { return name_; }
  Result<Reading> read(SteadyTime) override { return function_(false); }
  Result<Reading> read_everything(SteadyTime) override { return function_(true); }

 private:
  std::string name_;
  std::function<Result<Reading>(bool)> function_;
};

Reading one_sample(double value) {
  Reading reading;
  reading.samples.push_back({.key = {.name = "a.b", .labels = {}}, .unit = "", .value = value});
  return reading;
}

std::unique_ptr<MetricSource> source(std::string name, std::function<Result<Reading>(bool)> function) {
  return std::make_unique<FunctionSource>(std::move(name), std::move(function));
}

std::unique_ptr<MetricSource> good_source() {
  return source("good", [](bool everything) { return one_sample(everything ? 2 : 1); });
}

template <typename... Sources>
std::vector<std::unique_ptr<MetricSource>> list(Sources... sources) {
  std::vector<std::unique_ptr<MetricSource>> all;
  (all.push_back(std::move(sources)), ...);
  return all;
}

SamplerOptions fast() { return {.period = milliseconds(10)}; }

SampledReading take(Sampler& sampler) {
  auto reading = sampler.next(SteadyTime::max());
  EXPECT_TRUE(reading.has_value());
  return reading ? std::move(*reading) : SampledReading();
}

/// The first event of this kind; other readings are passed over.
TelemetryEvent await(Sampler& sampler, const std::string& kind) {
  for (;;) {
    for (const auto& event : take(sampler).reading.events) {
      if (event.kind == kind) return event;
    }
  }
}

TEST(Sampler, ReadingsComeOnTheGridInAscendingOrder) {
  Sampler sampler(list(good_source()), fast());
  std::optional<WallTime> last;
  for (int i = 0; i < 10; ++i) {
    const SampledReading reading = take(sampler);
    EXPECT_EQ(reading.source, 0U);
    EXPECT_EQ(reading.time.time_since_epoch() % milliseconds(10), Nanos(0));
    if (last) {
      EXPECT_GT(reading.time, *last);
    }
    last = reading.time;
  }
  EXPECT_GE(sampler.states()[0].readings, 10U);
  EXPECT_TRUE(sampler.states()[0].ok);
}

TEST(Sampler, ThePeriodCanBeChangedWhileItRuns) {
  Sampler sampler(list(good_source()), {.period = hours(1)});
  EXPECT_FALSE(sampler.next(SystemClock().now() + milliseconds(20)).has_value());
  sampler.set_period(milliseconds(10));
  take(sampler);
  take(sampler);
  sampler.set_period(seconds(600));
  // Whatever was under way comes through; then there is silence.
  while (sampler.next(SystemClock().now() + milliseconds(100))) {
  }
  sampler.set_period(milliseconds(10));
  take(sampler);
}

TEST(Sampler, ReadsEverythingWhenAsked) {
  Sampler sampler(list(good_source()), fast());
  EXPECT_EQ(take(sampler).reading.samples[0].value, 1);
  sampler.read_everything_next();
  while (take(sampler).reading.samples[0].value != 2) {
  }
  while (take(sampler).reading.samples[0].value != 1) {
  }
}

TEST(Sampler, ASourceThatFailsAndRecoversIsAnEventEachAndDelaysNobody) {
  std::atomic<bool> broken = false;
  auto moody = source("moody", [&](bool) -> Result<Reading> {
    if (broken) return Error{.kind = ErrorKind::denied, .message = "no access"};
    return one_sample(1);
  });
  Sampler sampler(list(good_source(), std::move(moody)), fast());
  take(sampler);
  broken = true;
  const auto failing = await(sampler, "source_failing");
  EXPECT_EQ(failing.about, "moody");
  EXPECT_EQ(failing.message, "no access");
  EXPECT_FALSE(sampler.states()[1].ok);
  EXPECT_EQ(sampler.states()[1].last_error, "no access");
  EXPECT_TRUE(sampler.states()[1].failing_since.has_value());
  for (int i = 0; i < 5; ++i) {
    const SampledReading reading = take(sampler);
    EXPECT_EQ(reading.source, 0U) << "the failing one says nothing more";
  }
  broken = false;
  const auto recovered = await(sampler, "source_recovered");
  EXPECT_EQ(recovered.about, "moody");
  EXPECT_GE(recovered.values.at("failed_seconds"), 0);
  EXPECT_TRUE(sampler.states()[1].ok);
}

TEST(Sampler, ASourceThatHangsIsReportedAndSkipsWithoutPilingUp) {
  Gate gate;
  std::atomic<int> readings = 0;
  auto stuck = source("stuck", [&](bool) {
    gate.pass();
    ++readings;
    return one_sample(1);
  });
  auto options = fast();
  options.read_limit = milliseconds(300);
  Sampler sampler(list(good_source(), std::move(stuck)), options);
  while (take(sampler).source != 1) {
  }
  gate.shut();
  const auto failing = await(sampler, "source_failing");
  EXPECT_EQ(failing.about, "stuck");
  EXPECT_THAT(failing.message, HasSubstr("no answer"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(take(sampler).source, 0U);
  const int before = readings;
  gate.open();
  await(sampler, "source_recovered");
  EXPECT_GE(readings, before + 1);
  while (take(sampler).source != 1) {
  }
  EXPECT_GT(sampler.states()[1].skipped, 0U);
}

TEST(Sampler, AnExceptionIsAFailureOfItsSource) {
  auto thrower = source("thrower", [](bool) -> Result<Reading> { throw std::runtime_error("ouch"); });
  Sampler sampler(list(std::move(thrower)), fast());
  EXPECT_THAT(await(sampler, "source_failing").message, HasSubstr("ouch"));
}

TEST(Sampler, TheQueueIsBoundedAndLosesTheOldest) {
  std::atomic<int> readings = 0;
  auto counting = source("counting", [&](bool) {
    Reading reading = one_sample(++readings);
    if (readings == 1) {
      reading.events.push_back({.time = {}, .kind = "xid", .about = "GPU-1", .message = "", .values = {}});
    }
    return reading;
  });
  auto options = fast();
  options.queue_limit = 4;
  Sampler sampler(list(std::move(counting)), options);
  while (sampler.states()[0].discarded < 3) {
  }
  const SampledReading oldest = take(sampler);
  EXPECT_GT(oldest.reading.samples[0].value, 3);
  ASSERT_EQ(oldest.reading.events.size(), 1U) << "values may be lost, events not";
  EXPECT_EQ(oldest.reading.events[0].kind, "xid");
}

TEST(Sampler, StopsWithASourceThatHangs) {
  const auto gate = std::make_shared<Gate>();
  const auto alive = std::make_shared<std::atomic<bool>>(false);
  gate->shut();
  auto stuck = source("stuck", [gate, alive](bool) {
    *alive = true;
    gate->pass();
    return one_sample(1);
  });
  auto options = fast();
  options.stop_limit = milliseconds(10);
  Sampler sampler(list(std::move(stuck), good_source()), options);
  while (!*alive) {
  }
  sampler.stop();
  sampler.stop();
  while (sampler.next(SteadyTime::max())) {  // what was waiting already
  }
  gate->open();
}

TEST(Sampler, StoppingWakesWhoeverWaits) {
  Sampler sampler(list(good_source()), {.period = hours(1)});
  std::thread stopper([&] { sampler.stop(); });
  EXPECT_FALSE(sampler.next(SteadyTime::max()).has_value());
  stopper.join();
}

}  // namespace
}  // namespace assay
