#include "fleet/node_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "fleet/small_recording.h"
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

/// A node whose GPU dies at the end of time plays through a replay source.
TEST(NodeReplay, GivesWhatAReplaySourceGives) {
  const auto fleet = fleet_recording(3);
  const std::vector<FleetFault> never = {{.kind = Kind::dead, .from = std::chrono::hours(1000)}};
  for (const Nanos step : {Nanos(milliseconds(250)), Nanos(seconds(1)), Nanos(milliseconds(7300))}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      NodeReplay quick(fleet, seed, {}, seconds(3));
      NodeReplay real(fleet, seed, never, seconds(3));
      for (int i = 0; i < 300; ++i) {
        const Batch a = read(quick, seconds(3) + i * step);
        const Batch b = read(real, seconds(3) + i * step);
        ASSERT_EQ(values(a), values(b)) << "seed " << seed << ", reading " << i;
        ASSERT_EQ(a.events, b.events);
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
  for (int i = 2; i < 40; ++i) {
    const auto expected = values_of(well, read(well, seconds(i)), "gpu.sm_clock_mhz");
    const Batch batch = read(sick, seconds(i));
    const auto found = values_of(sick, batch, "gpu.sm_clock_mhz");
    ASSERT_THAT(found, SizeIs(i < 30 ? 3 : 2)) << i;
    EXPECT_EQ(found[0], expected[0]);
    EXPECT_NEAR(found[1], expected[1] * (i >= 10 && i < 20 ? 0.7 : 1), 1) << i;
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

TEST(NodeReplay, AFaultWithoutAGpuBefallsAll) {
  const auto fleet = fleet_recording(4);
  const std::vector<FleetFault> faults = {{.kind = Kind::dead}};
  NodeReplay node(fleet, 5, faults, seconds(0));
  EXPECT_THAT(values_of(node, read(node, seconds(1)), "gpu.power_w"), IsEmpty());
}

}  // namespace
}  // namespace assay
