#include <cmath>

#include "watch/watch_fixture.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using GpuRules = WatchTest;

TEST_F(GpuRules, AnIdleNightAndABusyDayAreQuiet) {
  look_for(hours(3));
  everything_works();
  look_for(hours(3));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(GpuRules, OverheatingIsRaisedAfterItsTimeAndResolvedAfterIts) {
  everything_works();
  look();
  set(gpu(), GpuField::temperature_c, 91);
  look_for(seconds(60));
  EXPECT_THAT(changes(), IsEmpty());
  look();
  ASSERT_THAT(changes_, SizeIs(1));
  const Alert alert = changes_.front().alert;
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-3"));
  EXPECT_EQ(alert.what, "GPU 3 of gpu01 is at 91 °C (limit 87 °C, worst 91 °C, began 1 min 00 s ago).");
  EXPECT_EQ(alert.severity, AlertSeverity::critical);
  EXPECT_EQ(alert.threshold, 87);
  EXPECT_EQ(alert.last_value, 91);
  EXPECT_EQ(alert.values.at("power_w"), 600);
  EXPECT_EQ(alert.since, now_ - seconds(60));
  EXPECT_FALSE(alert.remedy.empty());
  EXPECT_FALSE(alert.id.empty());
  set(gpu(), GpuField::temperature_c, 85);
  look_for(minutes(5));
  EXPECT_THAT(changes(), IsEmpty()) << "between clear and level nothing changes";
  EXPECT_EQ(watch_.open_alerts().front().last_value, 85);
  set(gpu(), GpuField::temperature_c, 70);
  look_for(minutes(2));
  EXPECT_THAT(changes(), IsEmpty());
  look();
  EXPECT_THAT(changes(), ElementsAre("-overheating gpu01 gpu01-GPU-3"));
  EXPECT_THAT(watch_.open_alerts(), IsEmpty());
}

TEST_F(GpuRules, TheWordsOfAnOpenAlertAreRenewedOnceAMinuteAndNobodyIsWoken) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 88);
  look_for(seconds(65));
  EXPECT_THAT(changes(), SizeIs(1));
  EXPECT_THAT(watch_.take_renewed(), IsEmpty());
  set(gpu(), GpuField::temperature_c, 96);
  look();
  set(gpu(), GpuField::temperature_c, 92);
  look_for(seconds(55));
  const auto renewed = watch_.take_renewed();
  ASSERT_THAT(renewed, SizeIs(1));
  EXPECT_EQ(renewed.front().what, "GPU 3 of gpu01 is at 92 °C (limit 87 °C, worst 96 °C, began 2 min 00 s ago).");
  EXPECT_EQ(renewed.front().last_value, 92);
  EXPECT_EQ(renewed.front().worst_value, 96);
  EXPECT_THAT(watch_.take_renewed(), IsEmpty());
  set(gpu(), GpuField::temperature_c, 64);
  look_for(seconds(60));
  EXPECT_THAT(watch_.take_renewed().front().what, HasSubstr("is at 64 °C again (limit 87 °C, worst 96 °C"));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(GpuRules, AResolvedAlertSaysHowItIsNowAndHowBadItWas) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 93);
  look_for(seconds(85));
  set(gpu(), GpuField::temperature_c, 64);
  look_for(seconds(125));
  ASSERT_THAT(changes_, SizeIs(2));
  EXPECT_EQ(changes_.back().alert.what, "GPU 3 of gpu01 is at 64 °C again; it was at up to 93 °C for 1 min 25 s.");
  EXPECT_EQ(changes_.back().alert.last_value, 64);
  changes();
}

TEST_F(GpuRules, OneHotSecondOrARippleAroundTheLevelIsNothing) {
  everything_works();
  int i = 0;
  look_for(hours(1), [&] { set(gpu(), GpuField::temperature_c, ++i % 10 == 0 ? 99 : 80); });
  look_for(hours(1), [&] { set(gpu(), GpuField::temperature_c, ++i % 2 == 0 ? 87.5 : 86.5); });
  EXPECT_THAT(changes(), Not(Contains(HasSubstr("overheating"))));
}

TEST_F(GpuRules, AnAlertThatHasClearedIsQuietForItsClearTime) {
  everything_works();
  const auto heat = [&](double celsius) { set(gpu(), GpuField::memory_temperature_c, celsius); };
  heat(99);
  look_for(seconds(70));
  heat(60);
  look_for(seconds(130));
  EXPECT_THAT(changes(), ElementsAre("+memory_overheating gpu01 gpu01-GPU-3", "-memory_overheating gpu01 gpu01-GPU-3"));
  heat(99);
  look_for(seconds(110));
  EXPECT_THAT(changes(), IsEmpty()) << "two minutes quiet";
  look_for(seconds(80));
  EXPECT_THAT(changes(), ElementsAre("+memory_overheating gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, UnknownValuesNeitherRaiseNorResolve) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  look_for(seconds(45));
  set(gpu(), GpuField::temperature_c, std::nan(""));
  look();
  set(gpu(), GpuField::temperature_c, 95);
  look_for(seconds(45));
  EXPECT_THAT(changes(), IsEmpty()) << "the wait started anew";
  look_for(seconds(30));
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-3"));
  gpu().value = GpuView::unknown_values();
  look_for(hours(3));
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_EQ(watch_.open_alerts().front().last_value, 95) << "the newest that was known";
}

TEST_F(GpuRules, ThrottlingCountsByItsShareOfTheTime) {
  everything_works();
  int i = 0;
  look_for(minutes(10), [&] { set(gpu(), GpuField::throttle_thermal, ++i % 5 == 0 ? 1 : 0); });
  EXPECT_THAT(changes(), IsEmpty()) << "a fifth of the time";
  look_for(minutes(10), [&] { set(gpu(), GpuField::throttle_thermal, ++i % 5 == 0 ? 0 : 1); });
  EXPECT_THAT(changes(), ElementsAre("+thermal_throttling gpu01 gpu01-GPU-3"));
  set(gpu(), GpuField::throttle_thermal, 0);
  look_for(minutes(10));
  EXPECT_THAT(changes(), ElementsAre("-thermal_throttling gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, AHardwareSlowdownByHeatIsOneAlertNotTwo) {
  everything_works();
  set(gpu(), GpuField::throttle_hardware, 1);
  set(gpu(1), GpuField::throttle_hardware, 1);
  set(gpu(1), GpuField::throttle_thermal, 1);
  look_for(minutes(5));
  EXPECT_THAT(changes(), testing::UnorderedElementsAre("+thermal_throttling gpu01 gpu01-GPU-1",
                                                       "+hardware_throttling gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, PowerCappingIsOnlyWorthAnInfo) {
  everything_works();
  set(gpu(), GpuField::throttle_power, 1);
  look_for(minutes(13));
  ASSERT_THAT(changes(), ElementsAre("+power_capping gpu01 gpu01-GPU-3"));
  EXPECT_EQ(watch_.open_alerts().front().severity, AlertSeverity::info);
}

TEST_F(GpuRules, AHotGpuAmongCoolOnesIsFoundUnlessItWorksHarder) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 80);
  look_for(minutes(15));
  EXPECT_THAT(changes(), ElementsAre("+gpu_temperature_imbalance gpu01 gpu01-GPU-3"));
  set(gpu(), GpuField::power_w, 690);
  look_for(minutes(15));
  EXPECT_THAT(changes(), ElementsAre("-gpu_temperature_imbalance gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, ASlowClockAmongBusyOnesIsFoundAndRestingIsNoSlowness) {
  everything_works();
  set(gpu(), GpuField::sm_clock_mhz, 1300);
  look_for(minutes(15));
  EXPECT_THAT(changes_.front().alert.what,
              testing::MatchesRegex("The SM clock of GPU 3 of gpu01 is 1300 MHz, 28% lower "
                                    "than that of the other busy GPUs of its node .1800 "
                                    "MHz. .limit 10%, worst 28%, began 10 min 00 s ago.*"));
  EXPECT_THAT(changes(), ElementsAre("+gpu_clock_imbalance gpu01 gpu01-GPU-3"));
  rest(gpu());
  look_for(minutes(15));
  EXPECT_THAT(changes(), ElementsAre("-gpu_clock_imbalance gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, AnAllocatedGpuThatDoesLessThanTheOthersIsFoundAFreeOneIsNot) {
  everything_works();
  set(gpu(3), GpuField::util, 0.3);
  rest(gpu(4));
  look_for(minutes(40));
  EXPECT_THAT(changes(), ElementsAre("+gpu_use_imbalance gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, TwoGpusHaveNobodyToBeComparedWith) {
  cluster_.nodes.clear();
  add_node("small", 2);
  everything_works();
  set(gpu(0), GpuField::sm_clock_mhz, 1000);
  set(gpu(0), GpuField::temperature_c, 84);
  look_for(hours(1));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(GpuRules, AllocatedButIdleNeedsMemoryOrAProcessAndAQuarterOfAnHour) {
  set(gpu(1), GpuField::memory_used_bytes, 40 * kGiB);
  gpu(2).processes = 1;
  gpu(5).processes = -1;
  look_for(minutes(15));
  EXPECT_THAT(changes(), IsEmpty());
  look_for(minutes(1));
  EXPECT_THAT(changes(), testing::UnorderedElementsAre("+allocated_but_idle gpu01 gpu01-GPU-1",
                                                       "+allocated_but_idle gpu01 gpu01-GPU-2"));
  rest(gpu(1));
  work(gpu(2));
  look_for(minutes(3));
  EXPECT_THAT(changes(), testing::UnorderedElementsAre("-allocated_but_idle gpu01 gpu01-GPU-1",
                                                       "-allocated_but_idle gpu01 gpu01-GPU-2"));
}

TEST_F(GpuRules, ANotebookThatWorksNowAndThenIsUnderUsedNotIdle) {
  int i = 0;
  gpu().processes = 1;
  look_for(hours(2), [&] { set(gpu(), GpuField::util, ++i % 20 == 0 ? 1 : 0); });
  EXPECT_THAT(changes(), ElementsAre("+under_use gpu01 gpu01-GPU-3"));
  look_for(hours(1), [&] { set(gpu(), GpuField::util, 0.6); });
  EXPECT_THAT(changes(), ElementsAre("-under_use gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, AMemoryLeakIsFoundBeforeTheMemoryIsFull) {
  everything_works();
  double used = 40 * kGiB;
  look_for(hours(2), [&] { set(gpu(), GpuField::memory_used_bytes, used += 0.01 * kGiB); });
  ASSERT_THAT(changes(), ElementsAre("+gpu_memory_leak gpu01 gpu01-GPU-3"));
  const Alert alert = watch_.open_alerts().front();
  // 7.2 GiB an hour; some 86 GiB are left.
  EXPECT_NEAR(alert.last_value, 12 * 3600, 3600);
  EXPECT_THAT(alert.what, HasSubstr("will be full in"));
  look_for(hours(2));
  EXPECT_THAT(changes(), ElementsAre("-gpu_memory_leak gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, AnInstanceWithoutUtilisationIsJudgedByItsSms) {
  set(gpu(), GpuField::util, std::nan(""));
  set(gpu(), GpuField::sm_active, 0.7);
  gpu().processes = 1;
  look_for(hours(1));
  EXPECT_THAT(changes(), IsEmpty());
  set(gpu(), GpuField::sm_active, 0);
  look_for(minutes(25));
  EXPECT_THAT(changes(), ElementsAre("+allocated_but_idle gpu01 gpu01-GPU-3"));
}

TEST_F(GpuRules, AGpuThatIsNoLongerReportedIsForgottenAfterAnHour) {
  everything_works();
  set(gpu(7), GpuField::temperature_c, 95);
  look_for(minutes(2));
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-7"));
  node().gpus.pop_back();
  look_for(minutes(59));
  EXPECT_THAT(changes(), IsEmpty());
  look_for(minutes(3));
  EXPECT_THAT(changes(), ElementsAre("-overheating gpu01 gpu01-GPU-7"));
}

TEST_F(GpuRules, GpusMayChangeTheirOrder) {
  everything_works();
  set(gpu(3), GpuField::temperature_c, 95);
  look_for(seconds(30));
  std::swap(node().gpus[3], node().gpus[0]);
  look_for(seconds(35));
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-3"));
}

TEST(GpuFields, SeriesFindTheirField) {
  const std::map<std::string, std::string> gpu{{"gpu", "GPU-1"}};
  EXPECT_EQ(gpu_field_of("gpu.util", gpu), GpuField::util);
  EXPECT_EQ(gpu_field_of("gpu.temperature_c", gpu), GpuField::temperature_c);
  EXPECT_EQ(gpu_field_of("gpu.util", {}), std::nullopt);
  EXPECT_EQ(gpu_field_of("host.cpu_util", gpu), std::nullopt);
  const auto throttle = [](const char* reason) {
    return gpu_field_of("gpu.throttle", {{"gpu", "GPU-1"}, {"reason", reason}});
  };
  EXPECT_EQ(throttle("sw_thermal"), GpuField::throttle_thermal);
  EXPECT_EQ(throttle("hw_thermal"), GpuField::throttle_thermal);
  EXPECT_EQ(throttle("power_brake"), GpuField::throttle_hardware);
  EXPECT_EQ(throttle("sw_power"), GpuField::throttle_power);
  EXPECT_EQ(throttle("idle"), std::nullopt);
  EXPECT_EQ(gpu_field_of("gpu.throttle", gpu), std::nullopt);
}

TEST(GpuFields, OfSeveralSeriesTheLargestCounts) {
  GpuView view;
  view.put(GpuField::throttle_thermal, 1);
  view.put(GpuField::throttle_thermal, 0);
  EXPECT_EQ(view[GpuField::throttle_thermal], 1);
  EXPECT_TRUE(std::isnan(view[GpuField::util]));
}

}  // namespace
}  // namespace assay
