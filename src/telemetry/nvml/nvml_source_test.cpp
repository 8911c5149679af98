#include "telemetry/nvml/nvml_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "model/metric.h"
#include "support/source_tree.h"
#include "telemetry/nvml/fake_driver.h"
#include "telemetry/nvml/gpu_fields.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::SizeIs;

constexpr const char* kFirst = "GPU-00000000-1111-2222-3333-444455556666";
constexpr const char* kSecond = "GPU-00000001-1111-2222-3333-444455556666";

/// The values of one GPU; those of `gpu.throttle` by reason.
std::map<std::string, double> values(const Reading& reading, const std::string& gpu) {
  std::map<std::string, double> values;
  for (const auto& sample : reading.samples) {
    if (sample.key.labels.at("gpu") != gpu) continue;
    const auto reason = sample.key.labels.find("reason");
    const std::string suffix = reason != sample.key.labels.end() ? "/" + reason->second : "";
    EXPECT_TRUE(values.emplace(sample.key.name + suffix, sample.value).second) << sample.key.name << " twice";
  }
  return values;
}

std::vector<std::string> kinds(const Reading& reading) {
  std::vector<std::string> kinds;
  kinds.reserve(reading.events.size());
  for (const auto& event : reading.events) kinds.push_back(event.kind);
  return kinds;
}

class NvmlSourceTest : public testing::Test {
 protected:
  void start(const std::string& script) {
    driver_.emplace(test::beside_program("libfake-nvml.so"), test::fixture_folder() / "nvml" / script);
    auto api = driver_->load();
    ASSERT_TRUE(api.ok()) << api.error().text();
    api_ = *api;
    source_ = make_nvml_source(api_, {.clock = &clock_});
  }
  Reading read(Nanos later = seconds(1)) {
    clock_.advance(later);
    auto reading = source_->read(SteadyTime::max());
    EXPECT_TRUE(reading.ok()) << reading.error().text();
    return reading ? *std::move(reading) : Reading();
  }
  void set(const std::string& key, const std::string& value) { driver_->set(key, value); }

  ManualClock clock_;
  std::optional<FakeDriver> driver_;
  nvml::Api api_;
  std::unique_ptr<MetricSource> source_;
};

TEST_F(NvmlSourceTest, ReadsEverythingOfABusyGpu) {
  start("h200-x2.txt");
  const auto first = values(read(), kFirst);
  EXPECT_DOUBLE_EQ(first.at("gpu.util"), 0.87);
  EXPECT_DOUBLE_EQ(first.at("gpu.memory_used_bytes"), 51539607552);
  EXPECT_DOUBLE_EQ(first.at("gpu.memory_total_bytes"), 150754820096);
  EXPECT_DOUBLE_EQ(first.at("gpu.memory_reserved_bytes"), 629145600);
  EXPECT_DOUBLE_EQ(first.at("gpu.temperature_c"), 45);
  EXPECT_DOUBLE_EQ(first.at("gpu.memory_temperature_c"), 52);
  EXPECT_DOUBLE_EQ(first.at("gpu.power_w"), 512.3);
  EXPECT_DOUBLE_EQ(first.at("gpu.power_limit_w"), 700);
  EXPECT_DOUBLE_EQ(first.at("gpu.sm_clock_mhz"), 1755);
  EXPECT_DOUBLE_EQ(first.at("gpu.throttle/sw_power"), 1);
  EXPECT_DOUBLE_EQ(first.at("gpu.throttle/hw_thermal"), 0);
  EXPECT_DOUBLE_EQ(first.at("gpu.pcie_width"), 16);
  EXPECT_DOUBLE_EQ(first.at("gpu.nvlink_links_up"), 18);
  EXPECT_DOUBLE_EQ(first.at("gpu.energy_total_j"), 9876543.21);
  EXPECT_DOUBLE_EQ(first.at("gpu.power_violation_seconds"), 2);
  EXPECT_THAT(first, Not(Contains(Key("gpu.retired_pages")))) << "Hopper remaps rows instead";
  EXPECT_THAT(first, Not(Contains(Key("gpu.sm_active")))) << "needs two samples";
  EXPECT_THAT(first, Not(Contains(Key("gpu.fan"))));

  const auto second = values(read(), kFirst);
  EXPECT_DOUBLE_EQ(second.at("gpu.sm_active"), 0.835);
  EXPECT_DOUBLE_EQ(second.at("gpu.sm_occupancy"), 0.413);
  EXPECT_DOUBLE_EQ(second.at("gpu.tensor_active"), 0.62);
  EXPECT_DOUBLE_EQ(second.at("gpu.pcie_transmit_bytes_per_second"), 100 * 1048576.0);
  EXPECT_DOUBLE_EQ(second.at("gpu.nvlink_receive_bytes_per_second"), 3000 * 1048576.0);
}

TEST_F(NvmlSourceTest, EveryMetricIsInTheTableWithItsUnit) {
  for (const auto metric : nvml::kFieldMetrics) EXPECT_NE(find_metric(metric), nullptr) << metric;
  start("h200-x2.txt");
  read();
  for (const auto& sample : read(seconds(60)).samples) {
    ASSERT_NE(find_metric(sample.key.name), nullptr) << sample.key.name;
    EXPECT_EQ(sample.unit, find_metric(sample.key.name)->unit);
  }
}

TEST_F(NvmlSourceTest, CostlyFieldsComeOnceAMinuteAndOnRequest) {
  start("h200-x2.txt");
  EXPECT_THAT(values(read(), kFirst), Contains(Key("gpu.energy_total_j")));
  EXPECT_THAT(values(read(), kFirst), Not(Contains(Key("gpu.energy_total_j"))));
  EXPECT_THAT(values(read(), kFirst), Not(Contains(Key("gpu.ecc_corrected"))));
  const auto calm = values(read(seconds(10)), kFirst);
  EXPECT_THAT(calm, Contains(Key("gpu.ecc_corrected")));
  EXPECT_THAT(calm, Not(Contains(Key("gpu.energy_total_j"))));
  const auto everything = source_->read_everything(SteadyTime::max());
  ASSERT_TRUE(everything.ok());
  EXPECT_THAT(values(*everything, kFirst), Contains(Key("gpu.energy_total_j")));
  EXPECT_THAT(values(read(seconds(59)), kFirst), Not(Contains(Key("gpu.energy_total_j"))));
  EXPECT_THAT(values(read(seconds(2)), kFirst), Contains(Key("gpu.energy_total_j")));
}

TEST_F(NvmlSourceTest, GpmSamplesAreNeverTooClose) {
  start("h200-x2.txt");
  read();
  EXPECT_THAT(values(read(milliseconds(50)), kFirst), Not(Contains(Key("gpu.sm_active"))));
  EXPECT_THAT(values(read(milliseconds(100)), kFirst), Contains(Key("gpu.sm_active")));
}

TEST_F(NvmlSourceTest, TheInventoryComesOnceAndAfterAChange) {
  start("h200-x2.txt");
  const Reading first = read();
  ASSERT_TRUE(first.devices.has_value());
  ASSERT_THAT(*first.devices, SizeIs(2));
  EXPECT_EQ(first.devices->front().id, kFirst);
  const auto& facts = first.devices->front().facts;
  EXPECT_EQ(facts.at("name"), "NVIDIA H200");
  EXPECT_EQ(facts.at("serial"), "1650123000000");
  EXPECT_EQ(facts.at("pci_bus_id"), "00000000:1B:00.0");
  EXPECT_EQ(facts.at("driver"), "570.124.06");
  EXPECT_EQ(facts.at("vbios"), "96.00.A5.00.03");
  EXPECT_EQ(facts.at("persistence_mode"), "on");
  EXPECT_EQ(facts.at("compute_mode"), "default");
  EXPECT_EQ(facts.at("max_sm_clock_mhz"), "1980");
  EXPECT_EQ(facts.at("memory_bytes"), "150754820096");
  EXPECT_THAT(facts, Not(Contains(Key("link_group")))) << "the driver does not say";
  EXPECT_FALSE(read().devices.has_value());
}

TEST_F(NvmlSourceTest, GpusThatAllHaveLinksToEachOtherAreAGroup) {
  start("h200-x8.txt");
  const auto link = [&](int a, int b, int status) {
    set(fmt::format("gpu{}.p2p.gpu{}", a, b), std::to_string(status));
    set(fmt::format("gpu{}.p2p.gpu{}", b, a), std::to_string(status));
  };
  // 0, 1 and 2 are a ring, 3 hangs on 2 alone, 4 and 5 are a pair, 6 and 7 have none.
  link(0, 1, 0);
  link(1, 2, 0);
  link(0, 2, 0);
  link(2, 3, 0);
  link(4, 5, 0);
  link(6, 7, 4);
  const Reading reading = read();
  ASSERT_TRUE(reading.devices.has_value());
  std::vector<std::string> groups;
  for (const auto& device : *reading.devices) {
    const auto group = device.facts.find("link_group");
    groups.push_back(group == device.facts.end() ? "none" : group->second);
  }
  EXPECT_THAT(groups, ElementsAre("0", "0", "0", "none", "4", "4", "none", "none"));
}

TEST_F(NvmlSourceTest, ListsTheProcessesOnEachGpu) {
  start("h200-x2.txt");
  set("gpu0.process.2", "99 18446744073709551615");
  const Reading reading = read();
  ASSERT_TRUE(reading.processes.has_value());
  EXPECT_THAT(*reading.processes, ElementsAre(GpuProcess{kFirst, 4711, 51539607552}, GpuProcess{kFirst, 99, {}},
                                              GpuProcess{kSecond, 4712, 51539607552}));
  EXPECT_FALSE(read().processes.has_value()) << "did not look";
}

TEST_F(NvmlSourceTest, AnOldGpuGivesWhatItHas) {
  start("v100.txt");
  api_.memory_v2 = nullptr;
  api_.clock_reasons = nullptr;
  api_.gpm_support = nullptr;
  api_.event_set_create = nullptr;
  api_.processes = nullptr;
  source_ = make_nvml_source(api_, {.clock = &clock_});
  const Reading reading = read();
  const auto found = values(reading, "GPU-70000000-1111-2222-3333-444455556666");
  EXPECT_DOUBLE_EQ(found.at("gpu.memory_used_bytes"), 1 << 30);
  EXPECT_DOUBLE_EQ(found.at("gpu.retired_pages"), 6);
  EXPECT_DOUBLE_EQ(found.at("gpu.pcie_receive_bytes_per_second"), 1000 * 1024);
  EXPECT_THAT(found, Not(Contains(Key("gpu.memory_reserved_bytes"))));
  EXPECT_THAT(reading.missing, IsEmpty()) << "what a GPU does not have is not missing";
}

TEST_F(NvmlSourceTest, AFieldThatFailsIsMissingAndComesBack) {
  start("h200-x2.txt");
  read();
  set("gpu0.power", "error 999");
  set("gpu1.power", "error 999");
  const Reading reading = read();
  EXPECT_THAT(reading.missing, ElementsAre("gpu.power_w"));
  EXPECT_DOUBLE_EQ(values(reading, kFirst).at("gpu.temperature_c"), 45);
  set("gpu0.power", "100000");
  EXPECT_DOUBLE_EQ(values(read(), kFirst).at("gpu.power_w"), 100);
}

TEST_F(NvmlSourceTest, ALostGpuIsAnEventAndTheOthersGoOn) {
  start("h200-x2.txt");
  read();
  set("gpu0.lost", "1");
  const Reading lost = read();
  ASSERT_THAT(kinds(lost), ElementsAre("gpu_lost"));
  EXPECT_EQ(lost.events[0].about, kFirst);
  EXPECT_EQ(lost.events[0].values.at("nvml_code"), 15);
  EXPECT_THAT(values(lost, kFirst), IsEmpty());
  EXPECT_DOUBLE_EQ(values(lost, kSecond).at("gpu.temperature_c"), 46);
  EXPECT_THAT(kinds(read()), IsEmpty()) << "said once";
  EXPECT_THAT(kinds(read(seconds(31))), IsEmpty()) << "looked for, still gone";

  set("gpu0.lost", "0");
  EXPECT_THAT(values(read(seconds(20)), kFirst), IsEmpty()) << "not looked for every second";
  const Reading found = read(seconds(41));
  ASSERT_THAT(kinds(found), ElementsAre("gpu_found"));
  EXPECT_EQ(found.events[0].about, kFirst);
  EXPECT_DOUBLE_EQ(values(found, kFirst).at("gpu.temperature_c"), 45);
  EXPECT_TRUE(found.devices.has_value());
}

TEST_F(NvmlSourceTest, ErrorsOfTheMemoryAreEvents) {
  start("h200-x2.txt");
  set("gpu1.ecc_corrected", "100");
  EXPECT_THAT(kinds(read()), Not(Contains("ecc"))) << "they were there before";
  set("gpu1.ecc_corrected", "103");
  set("gpu1.ecc_uncorrected", "1");
  set("gpu1.remapped_rows", "0 1 1 0");
  const Reading reading = read(seconds(10));
  EXPECT_THAT(kinds(reading), ElementsAre("ecc", "ecc_uncorrected", "row_remap", "row_remap"));
  EXPECT_EQ(reading.events[0].message, "3 more corrected memory errors, 103 in all");
  EXPECT_EQ(reading.events[1].message, "1 more uncorrected memory error, 1 in all");
  EXPECT_EQ(reading.events[0].about, kSecond);
  EXPECT_EQ(reading.events[0].values.at("increase"), 3);
  EXPECT_EQ(reading.events[0].values.at("total"), 103);
  EXPECT_EQ(reading.events[0].time, clock_.wall());
  EXPECT_THAT(reading.events[3].message, HasSubstr("needs a reset"));
  set("gpu1.ecc_corrected", "0");
  EXPECT_THAT(kinds(read(seconds(10))), IsEmpty()) << "a counter that starts anew is no error";
}

TEST_F(NvmlSourceTest, XidsAreEventsEachOnce) {
  start("h200-x2.txt");
  read();
  set("xid.events-1", "1 79");
  set("xid.events-2", "1 79");
  set("xid.events-3", "0 12345");
  const Reading reading = read();
  ASSERT_THAT(kinds(reading), ElementsAre("xid", "xid", "xid"));
  EXPECT_EQ(reading.events[0].about, kSecond);
  EXPECT_EQ(reading.events[0].values.at("xid"), 79);
  EXPECT_THAT(reading.events[0].message, HasSubstr("fallen off the bus"));
  EXPECT_EQ(reading.events[2].message, "XID 12345");
  EXPECT_THAT(kinds(read()), IsEmpty());
}

TEST_F(NvmlSourceTest, ThrottlingIsReportedWhenItBeginsAndWhenItIsOver) {
  start("h200-x2.txt");
  set("gpu0.reasons", "0");
  set("gpu1.reasons", "1");
  EXPECT_THAT(kinds(read()), IsEmpty());
  set("gpu0.reasons", "64");
  const Reading began = read();
  ASSERT_THAT(kinds(began), ElementsAre("throttle"));
  EXPECT_EQ(began.events[0].message, "slowed by temperature, by the hardware (hw_thermal)");
  EXPECT_EQ(began.events[0].values.at("active"), 1);
  for (int i = 0; i < 20; ++i) {
    set("gpu0.reasons", i % 2 == 0 ? "0" : "64");
    EXPECT_THAT(kinds(read()), IsEmpty()) << "flickers";
  }
  set("gpu0.reasons", "1");
  EXPECT_THAT(kinds(read(seconds(9))), IsEmpty());
  const Reading over = read(seconds(2));
  ASSERT_THAT(kinds(over), ElementsAre("throttle"));
  EXPECT_EQ(over.events[0].values.at("active"), 0);
}

TEST_F(NvmlSourceTest, InstancesAreDevicesOfTheirOwn) {
  start("h200-mig.txt");
  const Reading first = read();
  ASSERT_THAT(*first.devices, SizeIs(3));
  const auto& instance = first.devices->at(1);
  EXPECT_EQ(instance.id, "MIG-00000000-aaaa-bbbb-cccc-dddddddddddd");
  EXPECT_EQ(instance.facts.at("kind"), "mig");
  EXPECT_EQ(instance.facts.at("parent"), kFirst);
  const auto found = values(first, "MIG-00000002-aaaa-bbbb-cccc-dddddddddddd");
  EXPECT_DOUBLE_EQ(found.at("gpu.memory_used_bytes"), 1 << 30);
  EXPECT_THAT(found, Not(Contains(Key("gpu.power_w"))));
  EXPECT_DOUBLE_EQ(values(read(), "MIG-00000002-aaaa-bbbb-cccc-dddddddddddd").at("gpu.sm_active"), 0.835);

  set("gpu0.mig1.uuid", "MIG-00000001-aaaa-bbbb-cccc-dddddddddddd");
  const Reading changed = read(seconds(60));
  EXPECT_THAT(kinds(changed), ElementsAre("gpu_found"));
  EXPECT_THAT(*changed.devices, SizeIs(4));
}

TEST_F(NvmlSourceTest, WithoutADriverItSaysSoAndTriesAgainNowAndThen) {
  start("h200-x2.txt");
  set("init", "error 18");
  const auto first = source_->read(SteadyTime::max());
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().kind, ErrorKind::no_device);
  EXPECT_THAT(first.error().message, HasSubstr("different versions"));
  set("init", "error 0");
  clock_.advance(seconds(1));
  EXPECT_FALSE(source_->read(SteadyTime::max()).ok()) << "not every second";
  clock_.advance(seconds(30));
  EXPECT_TRUE(source_->read(SteadyTime::max()).ok());
}

TEST(NvmlLoad, ASourceWaitsForItsLibrary) {
  const FakeDriver driver(test::beside_program("libfake-nvml.so"), test::fixture_folder() / "nvml" / "h200-x2.txt");
  const TemporaryFolder folder;
  const fs::path library = folder.path() / "libnvidia-ml.so.1";
  const auto source = make_nvml_source(library.string());
  const auto before = source->read(SteadyTime::max());
  ASSERT_FALSE(before.ok());
  EXPECT_EQ(before.error().kind, ErrorKind::no_device);
  EXPECT_THAT(before.error().message, HasSubstr("the NVIDIA driver is not installed here"));
  fs::copy_file(test::beside_program("libfake-nvml.so"), library);
  EXPECT_TRUE(source->read(SteadyTime::max()).ok());
  EXPECT_TRUE(source->read_everything(SteadyTime::max()).ok());
}

TEST(NvmlLoad, SaysWhatIsWrongWithTheLibrary) {
  const auto absent = nvml::load("libno-such-thing.so.9");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().kind, ErrorKind::no_device);
  const auto other = nvml::load("libc.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("is not the NVML library"));
}

}  // namespace
}  // namespace assay
