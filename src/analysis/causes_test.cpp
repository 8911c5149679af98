#include "analysis/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> kinds(const GpuHealth& health) {
  std::vector<std::string> names;
  for (const auto& cause : degradation_causes(health)) names.push_back(cause.kind);
  return names;
}

TEST(Causes, NothingRecordedNothingSaid) { EXPECT_THAT(degradation_causes({}), IsEmpty()); }

TEST(Causes, AHealthyGpuHasNone) {
  EXPECT_THAT(kinds({.thermal_throttle_share = 0.0,
                     .power_throttle_share = 0.9,  // at its cap all the time, with its usual clock: as it should be
                     .power_brake_share = 0.0,
                     .sm_clock_mhz = 1755,
                     .usual_sm_clock_mhz = 1755,
                     .memory_clock_mhz = 1593,
                     .usual_memory_clock_mhz = 1593,
                     .temperature_c = 70,
                     .usual_temperature_c = 69,
                     .power_limit_w = 700,
                     .usual_power_limit_w = 700,
                     .ecc_corrected = 0,
                     .ecc_uncorrected = 0,
                     .rows_remapped = 0,
                     .pcie_width = 16,
                     .usual_pcie_width = 16,
                     .pcie_generation = 5,
                     .usual_pcie_generation = 5,
                     .foreign_processes = 0}),
              IsEmpty());
}

// Each rule with its evidence, and without it.
TEST(Causes, Thermal) {
  const GpuHealth hot{.thermal_throttle_share = 0.31, .temperature_c = 88, .usual_temperature_c = 71};
  EXPECT_THAT(kinds(hot), ElementsAre("thermal"));
  EXPECT_EQ(degradation_causes(hot)[0].evidence,
            "The clock was held down by heat during 31 % of the time, at 88 °C (usually 71 °C).");
  EXPECT_THAT(kinds({.thermal_throttle_share = 0.01, .temperature_c = 72, .usual_temperature_c = 71}), IsEmpty());
}

TEST(Causes, PowerLimit) {
  EXPECT_THAT(kinds({.power_throttle_share = 0.9, .power_limit_w = 500, .usual_power_limit_w = 700}),
              ElementsAre("power_limit"));
  EXPECT_THAT(kinds({.power_throttle_share = 0.9, .power_limit_w = 700, .usual_power_limit_w = 700}), IsEmpty());
  EXPECT_THAT(kinds({.power_limit_w = 500}), IsEmpty());  // nothing to compare with
}

TEST(Causes, PowerCap) {
  EXPECT_THAT(kinds({.power_throttle_share = 0.5, .sm_clock_mhz = 1700, .usual_sm_clock_mhz = 1755}),
              ElementsAre("power_cap"));
  EXPECT_THAT(kinds({.power_throttle_share = 0.5, .sm_clock_mhz = 1755, .usual_sm_clock_mhz = 1755}), IsEmpty());
}

TEST(Causes, PowerBrake) {
  EXPECT_THAT(kinds({.power_brake_share = 0.2}), ElementsAre("power_brake"));
  EXPECT_THAT(kinds({.power_brake_share = 0.0}), IsEmpty());
}

TEST(Causes, LowClockWithoutAReason) {
  EXPECT_THAT(kinds({.sm_clock_mhz = 1410, .usual_sm_clock_mhz = 1755}), ElementsAre("low_clock"));
  EXPECT_THAT(kinds({.sm_clock_mhz = 1750, .usual_sm_clock_mhz = 1755}), IsEmpty());
  // Heat explains it already.
  EXPECT_THAT(kinds({.thermal_throttle_share = 0.4, .sm_clock_mhz = 1410, .usual_sm_clock_mhz = 1755}),
              ElementsAre("thermal"));
}

TEST(Causes, LowMemoryClock) {
  EXPECT_THAT(kinds({.memory_clock_mhz = 1215, .usual_memory_clock_mhz = 1593}), ElementsAre("low_memory_clock"));
  EXPECT_THAT(kinds({.memory_clock_mhz = 1593, .usual_memory_clock_mhz = 1593}), IsEmpty());
}

TEST(Causes, MemoryErrors) {
  EXPECT_THAT(kinds({.ecc_uncorrected = 1}), ElementsAre("memory_errors"));
  EXPECT_THAT(kinds({.rows_remapped = 1}), ElementsAre("memory_errors"));
  EXPECT_THAT(kinds({.ecc_corrected = 50}), ElementsAre("memory_errors"));
  EXPECT_THAT(kinds({.ecc_corrected = 1, .ecc_uncorrected = 0, .rows_remapped = 0}), IsEmpty());
}

TEST(Causes, PcieLink) {
  EXPECT_THAT(kinds({.pcie_width = 8, .usual_pcie_width = 16}), ElementsAre("pcie_link"));
  EXPECT_THAT(kinds({.pcie_generation = 3, .usual_pcie_generation = 4}), ElementsAre("pcie_link"));
  EXPECT_THAT(kinds({.pcie_width = 16, .usual_pcie_width = 16, .pcie_generation = 4, .usual_pcie_generation = 4}),
              IsEmpty());
}

TEST(Causes, Xids) {
  const GpuHealth health{.xids = {79, 48, 48}};
  EXPECT_THAT(kinds(health), ElementsAre("xid"));
  EXPECT_EQ(degradation_causes(health)[0].evidence, "The driver reported XID 48 (2 times), 79.");
  EXPECT_THAT(kinds({.xids = {}}), IsEmpty());
}

TEST(Causes, Intruders) {
  EXPECT_THAT(kinds({.foreign_processes = 2}), ElementsAre("not_clear"));
  EXPECT_THAT(kinds({.foreign_processes = 0}), IsEmpty());
}

TEST(Causes, Hotter) {
  EXPECT_THAT(kinds({.temperature_c = 80, .usual_temperature_c = 70}), ElementsAre("hotter"));
  EXPECT_THAT(kinds({.temperature_c = 73, .usual_temperature_c = 70}), IsEmpty());
  EXPECT_THAT(kinds({.temperature_c = 90}), IsEmpty());
}

}  // namespace
}  // namespace assay
