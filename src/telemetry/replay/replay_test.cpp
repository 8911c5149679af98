#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "telemetry/reading.h"
#include "telemetry/replay/perturbation.h"
#include "telemetry/replay/recording.h"
#include "telemetry/replay/recording_writer.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kStart = 1'700'000'000;

WallTime at(std::int64_t second) { return WallTime(seconds(kStart + second)); }

Sample gpu_sample(const std::string& name, int gpu, double value, std::string unit = "W") {
  return {.key = {.name = name, .labels = {{"gpu", "GPU-" + std::to_string(gpu)}}},
          .unit = std::move(unit),
          .value = value};
}

/// Two GPUs whose power and temperature grow by one each second.
Reading reading_at(int second) {
  Reading reading;
  for (int gpu = 0; gpu < 2; ++gpu) {
    reading.samples.push_back(gpu_sample("gpu.power_w", gpu, 100 * gpu + second));
    reading.samples.push_back(gpu_sample("gpu.temperature_c", gpu, 60 + second / 100.0, "°C"));
    reading.samples.push_back(gpu_sample("gpu.sm_clock_mhz", gpu, 1000, "MHz"));
    Sample throttle = gpu_sample("gpu.throttle", gpu, 0, "");
    throttle.key.labels["reason"] = "sw_thermal";
    reading.samples.push_back(std::move(throttle));
    if (second % 60 == 0) reading.samples.push_back(gpu_sample("gpu.energy_total_j", gpu, second, "J"));
  }
  if (second == 0) {
    reading.devices = {{.id = "GPU-0", .facts = {{"name", "NVIDIA H200"}, {"serial", "1"}}},
                       {.id = "GPU-1", .facts = {}}};
  }
  if (second == 5) {
    reading.events.push_back(
        {.time = at(5), .kind = "xid", .about = "GPU-1", .message = "XID 63", .values = {{"xid", 63}}});
  }
  return reading;
}

class RecordingTest : public testing::Test {
 protected:
  void record(int length) {
    auto writer = RecordingWriter::create(file_);
    ASSERT_TRUE(writer.ok()) << writer.error().text();
    for (int second = 0; second < length; ++second) {
      ASSERT_TRUE(writer->append(at(second), reading_at(second)).ok());
    }
  }
  std::shared_ptr<const Recording> load() {
    auto recording = load_recording(file_);
    EXPECT_TRUE(recording.ok()) << recording.error().text();
    return std::make_shared<const Recording>(recording ? std::move(*recording) : Recording());
  }
  std::string bytes() { return *read_file(file_); }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "recording";
};

TEST_F(RecordingTest, ComesBackWhole) {
  record(200);
  const auto recording = load();
  EXPECT_FALSE(recording->cut);
  EXPECT_EQ(recording->damaged_bytes, 0U);
  EXPECT_EQ(recording->first_ns, at(0).time_since_epoch().count());
  EXPECT_EQ(recording->last_ns, at(199).time_since_epoch().count());
  EXPECT_EQ(recording->period_ns, 1'000'000'000);
  ASSERT_THAT(recording->series, SizeIs(10));
  const auto& power = recording->series[0];
  EXPECT_EQ(power.key, gpu_sample("gpu.power_w", 0, 0).key);
  EXPECT_EQ(power.unit, "W");
  ASSERT_THAT(power.values, SizeIs(200));
  for (int i = 0; i < 200; ++i) EXPECT_EQ(power.values[static_cast<std::size_t>(i)], i);
  ASSERT_THAT(recording->events, SizeIs(1));
  EXPECT_EQ(recording->events[0], reading_at(5).events[0]);
  EXPECT_EQ(recording->devices, *reading_at(0).devices);
}

TEST_F(RecordingTest, IsSmall) {
  record(3600);
  const double points = 3600 * 8 + 60 * 2;
  EXPECT_LT(static_cast<double>(bytes().size()) / points, 2);
}

TEST_F(RecordingTest, WhatWasWrittenBeforeACutIsReadable) {
  record(200);
  const std::string whole = bytes();
  int readable = 0;
  for (std::size_t length = whole.size() - 1; length > 50; length -= std::min<std::size_t>(length, 97)) {
    const auto recording = parse_recording(std::string_view(whole).substr(0, length));
    if (!recording) continue;
    ++readable;
    for (const auto& series : recording->series) EXPECT_EQ(series.times_ns.size(), series.values.size());
  }
  EXPECT_GT(readable, 5);
  const auto last = parse_recording(std::string_view(whole).substr(0, whole.size() - 1));
  ASSERT_TRUE(last.ok());
  EXPECT_TRUE(last->cut);
  EXPECT_EQ(last->series[0].values.size(), 192U) << "three blocks of 64 readings";
}

TEST_F(RecordingTest, DamageCostsOneFrame) {
  record(200);
  const std::string whole = bytes();
  for (std::size_t i = 40; i < whole.size(); i += 131) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
    const auto recording = parse_recording(damaged);
    ASSERT_TRUE(recording.ok()) << i << ": " << recording.error().text();
    EXPECT_GT(recording->damaged_bytes, 0U) << i;
    for (const auto& series : recording->series) {
      if (series.key.name == "gpu.sm_clock_mhz") {
        for (const double value : series.values) ASSERT_EQ(value, 1000) << "no series gets another one's points";
      }
    }
  }
}

TEST_F(RecordingTest, SeriesThatCameAfterALostNameKeepTheirOwn) {
  {
    auto writer = RecordingWriter::create(file_);
    for (int i = 0; i < 3; ++i) {
      Reading reading;
      reading.samples.push_back(gpu_sample("gpu.power_w", i, i));
      ASSERT_TRUE(writer->append(at(i), reading).ok());
    }
  }
  std::string damaged = bytes();
  damaged[damaged.find("GPU-1")] = 'X';
  const auto recording = parse_recording(damaged);
  ASSERT_TRUE(recording.ok());
  ASSERT_THAT(recording->series, SizeIs(2));
  EXPECT_EQ(recording->series[1].key.labels.at("gpu"), "GPU-2");
  EXPECT_EQ(recording->series[1].values, std::vector<double>{2});
}

TEST_F(RecordingTest, OtherFilesAreRefused) {
  EXPECT_EQ(parse_recording("").error().kind, ErrorKind::bad_file);
  EXPECT_EQ(parse_recording("hello, world").error().kind, ErrorKind::bad_file);
  const auto absent = load_recording(folder_.path() / "absent");
  EXPECT_EQ(absent.error().kind, ErrorKind::missing_file);
  std::ofstream(file_) << "time,value\n1,2\n";
  const auto other = load_recording(file_);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().at, file_.string());
}

std::map<std::string, double> values(const Reading& reading, const std::string& gpu) {
  std::map<std::string, double> values;
  for (const auto& sample : reading.samples) {
    if (sample.key.labels.at("gpu") == gpu) values[sample.key.name] = sample.value;
  }
  return values;
}

std::vector<std::string> kinds(const Reading& reading) {
  std::vector<std::string> kinds;
  for (const auto& event : reading.events) kinds.push_back(event.kind);
  return kinds;
}

class ReplayTest : public RecordingTest {
 protected:
  Reading read(MetricSource& source, Nanos later = Nanos(0)) {
    clock_.advance(later);
    auto reading = source.read(SteadyTime::max());
    EXPECT_TRUE(reading.ok()) << reading.error().text();
    return reading ? std::move(*reading) : Reading();
  }
  ManualClock clock_;
};

TEST_F(ReplayTest, PlaysWhatWasRecordedInItsTime) {
  record(120);
  const auto source = make_replay_source(load(), {.clock = &clock_});
  const Reading first = read(*source);
  EXPECT_EQ(first.devices, reading_at(0).devices);
  EXPECT_EQ(values(first, "GPU-1").at("gpu.power_w"), 100);
  EXPECT_EQ(values(first, "GPU-1").at("gpu.energy_total_j"), 0);
  const Reading second = read(*source, seconds(1));
  EXPECT_EQ(values(second, "GPU-1").at("gpu.power_w"), 101);
  EXPECT_FALSE(values(second, "GPU-1").contains("gpu.energy_total_j")) << "was recorded once a minute";
  const Reading late = read(*source, milliseconds(1400));
  EXPECT_EQ(values(late, "GPU-0").at("gpu.power_w"), 2);
  EXPECT_EQ(values(read(*source, milliseconds(100)), "GPU-0").at("gpu.power_w"), 2) << "still current";
  const Reading later = read(*source, seconds(58));
  EXPECT_EQ(values(later, "GPU-0").at("gpu.energy_total_j"), 60);
  ASSERT_THAT(kinds(later), ElementsAre("xid"));
  EXPECT_EQ(later.events[0].about, "GPU-1");
  EXPECT_EQ(later.events[0].time, clock_.wall()) << "it happens now";
}

TEST_F(ReplayTest, LoopsOrEnds) {
  record(10);
  const auto recording = load();
  const auto loop = make_replay_source(recording, {.clock = &clock_});
  const auto once = make_replay_source(recording, {.loop = false, .clock = &clock_});
  read(*loop);
  read(*once);
  EXPECT_EQ(values(read(*loop, seconds(13)), "GPU-0").at("gpu.power_w"), 3);
  const auto over = once->read(SteadyTime::max());
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().kind, ErrorKind::not_found);
  EXPECT_THAT(kinds(read(*loop, seconds(5))), ElementsAre("xid")) << "again in every round";
}

TEST_F(ReplayTest, CanRunFaster) {
  record(120);
  const auto source = make_replay_source(load(), {.speed = 10, .clock = &clock_});
  read(*source);
  EXPECT_EQ(values(read(*source, seconds(3)), "GPU-0").at("gpu.power_w"), 30);
}

TEST_F(ReplayTest, ASeedGivesEveryGpuItsOwnIdentityAndCharacter) {
  record(30);
  const auto recording = load();
  std::set<std::string> identities;
  std::set<double> powers;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto source = make_replay_source(recording, {.seed = seed, .clock = &clock_});
    const Reading first = read(*source);
    for (const auto& device : *first.devices) {
      EXPECT_THAT(device.id, testing::MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
      EXPECT_FALSE(device.facts.contains("serial"));
      EXPECT_TRUE(identities.insert(device.id).second);
      const auto found = values(read(*source), device.id);
      powers.insert(found.at("gpu.power_w"));
      EXPECT_NEAR(found.at("gpu.temperature_c"), 60, 4.1);
      EXPECT_NEAR(found.at("gpu.sm_clock_mhz"), 1000, 11);
    }
  }
  EXPECT_GT(powers.size(), 20U);
}

TEST_F(ReplayTest, TheSameSeedGivesTheSame) {
  record(30);
  const auto recording = load();
  const auto play = [&] {
    const auto source = make_replay_source(recording, {.seed = 7, .clock = &clock_});
    return read(*source);
  };
  const Reading first = play();
  const Reading second = play();
  ASSERT_EQ(first.samples.size(), second.samples.size());
  for (std::size_t i = 0; i < first.samples.size(); ++i) {
    EXPECT_EQ(first.samples[i].key, second.samples[i].key);
    EXPECT_EQ(first.samples[i].value, second.samples[i].value);
  }
}

TEST(Perturbation, LeavesCountersAndRatiosInTheirRange) {
  const GpuCharacter character{.activity_gain = 1.04, .power_gain = 2, .clock_gain = 2, .temperature_offset = 5};
  EXPECT_EQ(in_character(character, "gpu.ecc_corrected", 7), 7);
  EXPECT_EQ(in_character(character, "gpu.energy_total_j", 1e6), 1e6);
  EXPECT_EQ(in_character(character, "gpu.util", 1), 1);
  EXPECT_EQ(in_character(character, "gpu.power_w", 100), 200);
}

}  // namespace
}  // namespace assay
