#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "model/series.h"
#include "telemetry/metric_source.h"
#include "telemetry/reading.h"

namespace assay {

/// What every MetricSource promises, whatever it reads. Each implementation is run through it: see
/// telemetry/sensor/contract_test.cpp.
struct SourceUnderTest {
  std::string name;
  std::function<std::unique_ptr<MetricSource>()> make;
  std::function<void()> let_time_pass;  ///< a second, for sources whose clock is a test's
};

class MetricSourceContract : public testing::TestWithParam<SourceUnderTest> {
 protected:
  Reading read(MetricSource& source) {
    auto reading = source.read(SteadyTime::max());
    EXPECT_TRUE(reading.ok()) << reading.error().text();
    return reading ? std::move(*reading) : Reading();
  }
};

TEST_P(MetricSourceContract, HasAName) { EXPECT_FALSE(GetParam().make()->name().empty()); }

TEST_P(MetricSourceContract, EveryReadingHasSamplesWithNamesUnitsAndFiniteValues) {
  const auto source = GetParam().make();
  for (int i = 0; i < 3; ++i) {
    const Reading reading = read(*source);
    // The first one may have none: on a machine without file systems of its own there are only rates.
    EXPECT_TRUE(i == 0 || !reading.samples.empty());
    for (const auto& sample : reading.samples) {
      EXPECT_NE(sample.key.name.find('.'), std::string::npos) << sample.key.name;
      EXPECT_EQ(sample.value, sample.value) << sample.key.name << " is not a number";
    }
    GetParam().let_time_pass();
  }
}

TEST_P(MetricSourceContract, NoSeriesIsThereTwiceInAReading) {
  const auto source = GetParam().make();
  for (int i = 0; i < 3; ++i) {
    std::set<SeriesKey> keys;
    for (const auto& sample : read(*source).samples) EXPECT_TRUE(keys.insert(sample.key).second) << sample.key.name;
    GetParam().let_time_pass();
  }
}

TEST_P(MetricSourceContract, WhatIsMissingIsListedOnceAndHasNoSample) {
  const auto source = GetParam().make();
  const Reading reading = read(*source);
  std::set<std::string> missing;
  for (const auto& name : reading.missing) EXPECT_TRUE(missing.insert(name).second) << name;
}

TEST_P(MetricSourceContract, ASeriesKeepsItsUnit) {
  const auto source = GetParam().make();
  std::map<SeriesKey, std::string> units;
  for (int i = 0; i < 3; ++i) {
    for (const auto& sample : read(*source).samples) {
      EXPECT_EQ(units.try_emplace(sample.key, sample.unit).first->second, sample.unit) << sample.key.name;
    }
    GetParam().let_time_pass();
  }
}

TEST_P(MetricSourceContract, ReadingEverythingGivesNoLessThanReading) {
  const auto source = GetParam().make();
  read(*source);
  GetParam().let_time_pass();
  std::set<SeriesKey> usual;
  for (const auto& sample : read(*source).samples) usual.insert(sample.key);
  GetParam().let_time_pass();
  const auto everything = source->read_everything(SteadyTime::max());
  ASSERT_TRUE(everything.ok()) << everything.error().text();
  for (const auto& sample : everything->samples) usual.erase(sample.key);
  for (const auto& key : usual) ADD_FAILURE() << key.name << " was left out";
}

TEST_P(MetricSourceContract, DevicesAreSaidOnceAndSamplesAreAboutThem) {
  const auto source = GetParam().make();
  const Reading first = read(*source);
  std::set<std::string> devices;
  if (first.devices) {
    for (const auto& device : *first.devices) devices.insert(device.id);
  }
  for (const auto& sample : first.samples) {
    const auto gpu = sample.key.labels.find("gpu");
    if (gpu == sample.key.labels.end()) continue;
    EXPECT_TRUE(devices.contains(gpu->second)) << gpu->second;
  }
  GetParam().let_time_pass();
  EXPECT_FALSE(read(*source).devices.has_value());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MetricSourceContract);

}  // namespace assay
