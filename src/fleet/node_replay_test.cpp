#include "fleet/node_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "fleet/small_recording_fixture.h"
#include "telemetry/reading.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = FleetFault::Kind;

std::shared_ptr<const FleetRecording> fleet_recording(std::size_t gpus, std::size_t recorded = 1) {
  auto made = FleetRecording::make(small_recording(recorded), {.gpus = gpus});
  EXPECT_TRUE(made.ok());
  return *made;
}

Batch read(NodeReplay& node, Nanos at) {
  Batch batch;
  node.read(at, WallTime(at), batch);
  return batch;
}

std::vector<double> values(const Batch& batch) {
  std::vector<double> values;
  values.reserve(batch.samples.size());
  for (const auto& sample : batch.samples) values.push_back(sample.value);
  return values;
}

/// The value of one metric of each GPU.
std::vector<double> values_of(const NodeReplay& node, const Batch& batch, std::string_view metric) {
  const auto names = node.names();
  std::vector<double> values;
  for (const auto& sample : batch.samples) {
    if (names.at(sample.series).key.name == metric) values.push_back(sample.value);
  }
  return values;
}

TEST(FleetRecording, FillsUpWithCopiesThatDiffer) {
  const auto fleet = fleet_recording(8);
  const Recording& recording = *fleet->recording();
  EXPECT_THAT(recording.devices, SizeIs(8));
  EXPECT_THAT(recording.series, SizeIs(1 + 8 * 6));
  std::set<std::string> ids;
  std::set<std::string> indices;
  std::set<std::vector<double>> powers;
  for (const auto& device : recording.devices) {
    EXPECT_TRUE(ids.insert(device.id).second);
    EXPECT_TRUE(indices.insert(device.facts.at("index")).second);
  }
  for (const auto& series : recording.series) {
    if (series.key.name == "gpu.power_w") powers.insert(series.values);
    const bool is_counter = series.key.name == "gpu.energy_total_j";
    EXPECT_TRUE(!is_counter || series.values == (std::vector<double>{1000, 1020, 1040})) << "a counter only rises";
  }
  EXPECT_THAT(powers, SizeIs(8));
  EXPECT_THAT(fleet->timelines(), SizeIs(2)) << "what every series has in common is kept once";
}

/// Memory in use may rise through a whole recording, as it does in the one that is built in.
TEST(FleetRecording, CopiesHaveAllTheirLevelsAtTheSamePointOfTheRecording) {
  Recording recorded = small_recording();
  for (auto& series : recorded.series) {
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      if (series.key.name == "gpu.memory_used_bytes") series.values[i] = i < 30 ? 0 : 1e9;
      if (series.key.name == "gpu.sm_clock_mhz") series.values[i] = i < 30 ? 345 : 1980;
    }
  }
  const auto fleet = FleetRecording::make(recorded, {.gpus = 8});
  NodeReplay node(*fleet, 3, {}, seconds(0));
  for (int i = 0; i < 60; ++i) {
    const Batch batch = read(node, seconds(i));
    const auto memory = values_of(node, batch, "gpu.memory_used_bytes");
    const auto clocks = values_of(node, batch, "gpu.sm_clock_mhz");
    ASSERT_THAT(memory, SizeIs(8));
    for (std::size_t gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(memory[gpu] > 0, clocks[gpu] > 1000) << gpu << " at " << i;
  }
}

TEST(FleetRecording, TakesTheFirstWhereThereAreMore) {
  const auto fleet = fleet_recording(2, 4);
  EXPECT_THAT(fleet->recording()->devices, SizeIs(2));
  EXPECT_EQ(fleet->recording()->devices[1].id, "GPU-1");
  EXPECT_THAT(fleet->tracks(), SizeIs(1 + 2 * 6));
}

TEST(FleetRecording, CanHaveFewerMetrics) {
  const auto fleet = FleetRecording::make(small_recording(), {.gpus = 3, .metrics = 5});
  ASSERT_THAT((*fleet)->tracks(), SizeIs(1 + 3 * 5));
  for (const auto& track : (*fleet)->tracks()) EXPECT_NE(track.series->key.name, "gpu.energy_total_j") << "is rare";
  EXPECT_EQ((*fleet)->tracks()[1].series->key.name, "gpu.power_w") << "in their order";
}

TEST(FleetRecording, NeedsAGpuAndHasALimit) {
  EXPECT_EQ(FleetRecording::make(Recording(), {}).error().kind, ErrorKind::bad_file);
  EXPECT_EQ(FleetRecording::make(small_recording(), {.gpus = 20'000}).error().kind, ErrorKind::usage);
}

TEST(FleetRecording, OneIsBuiltIn) {
  const auto recorded = built_in_recording();
  ASSERT_TRUE(recorded.ok()) << recorded.error().text();
  EXPECT_EQ(recorded->damaged_bytes, 0U);
  const auto fleet = FleetRecording::make(*recorded, {.gpus = 8});
  ASSERT_TRUE(fleet.ok());
  NodeReplay node(*fleet, 1, {}, seconds(0));
  EXPECT_THAT(values_of(node, read(node, seconds(0)), "gpu.power_w"), SizeIs(8));
}

TEST(NodeReplay, IdentitiesAreUniqueInTheWholeFleetAndValuesDiffer) {
  const auto fleet = fleet_recording(8);
  std::set<std::string> ids;
  std::set<double> powers;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    NodeReplay node(fleet, seed, {}, seconds(0));
    for (const auto& device : node.devices()) {
      EXPECT_TRUE(ids.insert(device.id).second);
      EXPECT_EQ(device.facts.at("simulated"), "yes");
      EXPECT_FALSE(device.facts.contains("serial"));
    }
    for (const auto& name : node.names()) {
      EXPECT_TRUE(!name.key.labels.contains("gpu") || ids.contains(name.key.labels.at("gpu")));
    }
    for (const double power : values_of(node, read(node, seconds(0)), "gpu.power_w")) powers.insert(power);
  }
  EXPECT_THAT(ids, SizeIs(160));
  EXPECT_GT(powers.size(), 100U);
}

TEST(NodeReplay, TheSameSeedGivesTheSame) {
  const auto fleet = fleet_recording(4);
  NodeReplay first(fleet, 7, {}, seconds(1));
  NodeReplay second(fleet, 7, {}, seconds(1));
  NodeReplay other(fleet, 8, {}, seconds(1));
  int different = 0;
  for (int i = 1; i < 130; ++i) {
    const auto one = values(read(first, seconds(i)));
    EXPECT_EQ(one, values(read(second, seconds(i))));
    different += one != values(read(other, seconds(i)));
  }
  EXPECT_EQ(first.names(), second.names());
  EXPECT_GT(different, 120);
}

/// The same node played by a replay source that was started where in the recording the node begins.
class PlayedBySource {
 public:
  PlayedBySource(const NodeReplay& node, const FleetRecording& fleet, std::uint64_t seed)
      : fleet_(fleet), source_(make_replay_source(fleet.recording(), {.seed = seed, .clock = &clock_})) {
    std::uint32_t number = 0;
    for (auto& name : node.names()) numbers_.emplace(std::move(name.key), number++);
    const auto length = static_cast<std::uint64_t>(fleet.length_ns());
    const auto phase = static_cast<std::int64_t>(Random(seed, "fleet phase").below(length));
    read(Nanos(0));
    read(Nanos(phase));  // what came before the node's time
    clock_.advance(Nanos(1));
  }

  Batch read(Nanos later) {
    clock_.advance(later);
    const auto reading = source_->read(SteadyTime::max());
    EXPECT_TRUE(reading.ok());
    Batch batch;
    for (const auto& sample : reading->samples) {
      const std::uint32_t number = numbers_.at(sample.key);
      const double scale = fleet_.tracks()[number].scale;
      const double value = scale > 0 ? std::round(sample.value * scale) / scale : sample.value;
      batch.samples.push_back({.series = number, .time_ns = 0, .value = value});
    }
    batch.events = reading->events;
    return batch;
  }

 private:
  const FleetRecording& fleet_;
  ManualClock clock_;
  std::unique_ptr<MetricSource> source_;
  std::map<SeriesKey, std::uint32_t> numbers_;
};

TEST(NodeReplay, GivesWhatAReplaySourceGives) {
  const auto fleet = fleet_recording(3);
  for (const Nanos step : {Nanos(milliseconds(250)), Nanos(seconds(1)), Nanos(milliseconds(7300))}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      NodeReplay quick(fleet, seed, {}, seconds(3));
      PlayedBySource real(quick, *fleet, seed);
      for (int i = 0; i < 300; ++i) {
        const Batch a = read(quick, seconds(3) + i * step);
        const Batch b = real.read(i == 0 ? Nanos(0) : step);
        ASSERT_EQ(values(a), values(b)) << "seed " << seed << ", reading " << i;
        ASSERT_EQ(a.events.size(), b.events.size());
        for (std::size_t n = 0; n < a.events.size(); ++n) ASSERT_EQ(a.events[n].about, b.events[n].about);
        for (std::size_t n = 0; n < a.samples.size(); ++n) ASSERT_EQ(a.samples[n].series, b.samples[n].series);
      }
    }
  }
}

TEST(NodeReplay, ValuesKeepTheStepsOfTheirSensor) {
  const auto fleet = fleet_recording(4);
  NodeReplay node(fleet, 3, {}, seconds(0));
  for (int i = 0; i < 60; ++i) {
    const Batch batch = read(node, seconds(i));
    for (const double power : values_of(node, batch, "gpu.power_w")) EXPECT_EQ(power * 10, std::round(power * 10));
    for (const double clock : values_of(node, batch, "gpu.sm_clock_mhz")) EXPECT_EQ(clock, std::round(clock));
  }
}

TEST(NodeReplay, WhatHappenedBeforeItsTimeIsNotShown) {
  const auto fleet = fleet_recording(1);
  std::size_t events = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    NodeReplay node(fleet, seed, {}, seconds(5));
    EXPECT_THAT(read(node, seconds(5)).events, IsEmpty());
    for (int i = 6; i < 66; ++i) {
      for (const auto& event : read(node, seconds(i)).events) {
        ++events;
        EXPECT_EQ(event.about, node.devices()[0].id);
        EXPECT_EQ(event.time, WallTime(seconds(i)));
      }
    }
  }
  EXPECT_EQ(events, 50U) << "once in each round";
}

TEST(NodeReplay, FaultsBefallTheirGpuInTheirTime) {
  const auto fleet = fleet_recording(3);
  const std::vector<FleetFault> faults = {{.kind = Kind::slow, .gpu = 1, .from = seconds(10), .until = seconds(20)},
                                          {.kind = Kind::dead, .gpu = 2, .from = seconds(30)}};
  NodeReplay well(fleet, 5, {}, seconds(2));
  NodeReplay sick(fleet, 5, faults, seconds(2));
  double slow_clock = 0;
  for (const auto& track : fleet->tracks()) {
    if (track.gpu == 1U && track.series->key.name == "gpu.sm_clock_mhz") slow_clock = *track.under_load;
  }
  slow_clock *= character_of(5, fleet->recording()->devices[1].id).clock_gain;
  for (int i = 2; i < 40; ++i) {
    const auto expected = values_of(well, read(well, seconds(i)), "gpu.sm_clock_mhz");
    const Batch batch = read(sick, seconds(i));
    const auto found = values_of(sick, batch, "gpu.sm_clock_mhz");
    ASSERT_THAT(found, SizeIs(i < 30 ? 3 : 2)) << i;
    EXPECT_EQ(found[0], expected[0]);
    EXPECT_NEAR(found[1], i >= 10 && i < 20 ? 0.7 * slow_clock : expected[1], 1) << i;
    if (i == 30) {
      ASSERT_THAT(batch.events, testing::Not(IsEmpty()));
      EXPECT_EQ(batch.events[0].about, sick.devices()[2].id);
    }
  }
}

TEST(NodeReplay, ALeakGrowsUpToWhatThereIs) {
  const auto fleet = fleet_recording(2);
  const std::vector<FleetFault> faults = {{.kind = Kind::leak, .gpu = 1, .from = seconds(10)}};
  NodeReplay node(fleet, 5, faults, seconds(0));
  EXPECT_THAT(values_of(node, read(node, seconds(9)), "gpu.memory_used_bytes"), ElementsAre(1e9, 1e9));
  EXPECT_THAT(values_of(node, read(node, seconds(70)), "gpu.memory_used_bytes"), ElementsAre(1e9, 1e9 + (1 << 30)));
  EXPECT_THAT(values_of(node, read(node, std::chrono::hours(9)), "gpu.memory_used_bytes"), ElementsAre(1e9, 150e9));
}

TEST(NodeReplay, ALeakNeverFallsWhateverTheRecordingDoes) {
  const auto recorded = built_in_recording();
  const auto fleet = FleetRecording::make(*recorded, {.gpus = 2});
  const std::vector<FleetFault> faults = {{.kind = Kind::leak, .gpu = 1}};
  NodeReplay node(*fleet, 5, faults, seconds(0));
  double before = 0;
  for (int i = 0; i < 600; ++i) {
    const double used = values_of(node, read(node, seconds(i)), "gpu.memory_used_bytes").at(1);
    ASSERT_GE(used, before) << "after " << i << " s";
    before = used;
  }
}

TEST(NodeReplay, AHotGpuStaysHot) {
  const auto recorded = built_in_recording();
  const auto fleet = FleetRecording::make(*recorded, {.gpus = 2});
  const std::vector<FleetFault> faults = {{.kind = Kind::hot, .gpu = 1, .until = seconds(500)}};
  NodeReplay node(*fleet, 5, faults, seconds(0));
  std::vector<std::string> throttling;
  for (int i = 0; i < 600; ++i) {
    const Batch batch = read(node, seconds(i));
    const double temperature = values_of(node, batch, "gpu.temperature_c").at(1);
    EXPECT_TRUE(i < 60 || i >= 500 || temperature > 87) << temperature << " after " << i << " s";
    for (const auto& event : batch.events) {
      if (event.about == node.devices()[1].id && event.kind == "throttle") throttling.push_back(event.message);
    }
  }
  EXPECT_THAT(throttling, ElementsAre("slowed by temperature, by the driver (sw_thermal)",
                                      "no longer slowed by temperature, by the driver (sw_thermal)"));
}

TEST(NodeReplay, AFaultWithoutAGpuBefallsAll) {
  const auto fleet = fleet_recording(4);
  const std::vector<FleetFault> faults = {{.kind = Kind::dead}};
  NodeReplay node(fleet, 5, faults, seconds(0));
  EXPECT_THAT(values_of(node, read(node, seconds(1)), "gpu.power_w"), IsEmpty());
}

}  // namespace
}  // namespace assay
