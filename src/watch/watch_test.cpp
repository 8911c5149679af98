#include "watch/watch.h"

#include <cmath>

#include "base/random.h"
#include "telemetry/telemetry_event.h"
#include "watch/watch_fixture.h"

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class EventRules : public WatchTest {
 protected:
  const std::string uuid_ = "gpu01-GPU-3";
};

TEST_F(EventRules, ALostGpuIsRaisedAtOnceAndOverWhenItIsFound) {
  watch_.note_event("gpu01", event("gpu_lost", uuid_, {{"nvml_code", 15}}));
  gpu().value = GpuView::unknown_values();
  look();
  ASSERT_THAT(changes_, SizeIs(1));
  EXPECT_EQ(changes_.front().alert.what, "GPU 3 of gpu01: gpu_lost happened.");
  EXPECT_EQ(changes_.front().alert.values.at("nvml_code"), 15);
  EXPECT_TRUE(std::isnan(changes_.front().alert.threshold));
  EXPECT_THAT(changes(), ElementsAre("+gpu_lost gpu01 " + uuid_));
  look_for(hours(2));
  watch_.note_event("gpu01", event("gpu_found", uuid_));
  look();
  EXPECT_EQ(changes_.front().alert.what,
            "GPU 3 of gpu01 is there again after 2 h 00 min. It was: GPU 3 of gpu01: gpu_lost happened.");
  EXPECT_THAT(changes(), ElementsAre("-gpu_lost gpu01 " + uuid_));
}

TEST_F(EventRules, AGpuThatHasValuesIsNotLostAnyMore) {
  watch_.note_event("gpu01", event("gpu_lost", uuid_));
  look_for(minutes(3));
  gpu().value = GpuView::unknown_values();
  look_for(hours(1));
  EXPECT_THAT(changes(), ElementsAre("+gpu_lost gpu01 " + uuid_)) << "the last values may be older than the loss";
  rest(gpu());
  look();
  EXPECT_THAT(changes(), ElementsAre("-gpu_lost gpu01 " + uuid_));
}

TEST_F(EventRules, AGpuThatFellOffTheBusIsOneAlertThatNamesTheXid) {
  gpu().value = GpuView::unknown_values();
  for (const bool xid_first : {true, false}) {
    const std::string uuid = xid_first ? "gpu01-GPU-3" : "gpu01-GPU-4";
    const auto xid = event("xid", uuid, {{"xid", 79}});
    const auto lost = event("gpu_lost", uuid);
    watch_.note_event("gpu01", xid_first ? xid : lost);
    watch_.note_event("gpu01", xid_first ? lost : xid);
    look();
    watch_.note_event("gpu01", event("xid", uuid, {{"xid", 119}}));
    look();
    EXPECT_THAT(changes(), ElementsAre("+gpu_lost gpu01 " + uuid));
    const auto open = watch_.open_alerts();
    const auto alert = std::ranges::find(open, uuid, &Alert::about);
    EXPECT_THAT(alert->what, testing::HasSubstr("xid happened"));
    EXPECT_THAT(alert->remedy, testing::HasSubstr("fallen off the bus"));
    EXPECT_EQ(alert->values.at("xid"), 79);
  }
}

TEST_F(EventRules, EachXidSaysWhatItMeansAndWhatToDo) {
  watch_.note_event("gpu01", event("xid", uuid_, {{"xid", 63}}));
  watch_.note_event("gpu01", event("xid", "gpu01-GPU-4", {{"xid", 777}}));
  look();
  const auto remedy = [&](const std::string& uuid) {
    const auto open = watch_.open_alerts();
    return std::ranges::find(open, uuid, &Alert::about)->remedy;
  };
  EXPECT_THAT(remedy(uuid_), testing::HasSubstr("replaced by a spare one"));
  EXPECT_THAT(remedy("gpu01-GPU-4"), testing::HasSubstr("Look the number up in NVIDIA's XID catalogue"));
  EXPECT_THAT(changes(), SizeIs(2));
  TelemetryEvent worse = event("xid", uuid_, {{"xid", 95}});
  worse.message = "XID 95";
  watch_.note_event("gpu01", worse);
  look();
  EXPECT_THAT(changes(), IsEmpty());
  EXPECT_THAT(remedy(uuid_), testing::HasSubstr("all on this GPU are doubtful")) << "what comes later is not hidden";
  const auto renewed = watch_.take_renewed();
  ASSERT_THAT(renewed, SizeIs(1));
  EXPECT_EQ(renewed.front().what, "GPU 3 of gpu01: xid happened; XID 95.");
  TelemetryEvent unknown = event("xid", uuid_, {{"xid", 9}});
  unknown.message = "XID 9";
  for (int i = 0; i < 3; ++i) {
    watch_.note_event("gpu01", unknown);
    unknown.time += seconds(1);
  }
  look();
  EXPECT_EQ(watch_.take_renewed().front().what, "GPU 3 of gpu01: xid happened; XID 95; XID 9.") << "once";
}

TEST_F(EventRules, FaultsOfTheHardwareCountThoseOfProgramsDoNot) {
  for (const double xid : {13.0, 31.0, 43.0, 45.0}) watch_.note_event("gpu01", event("xid", uuid_, {{"xid", xid}}));
  watch_.note_event("gpu01", event("throttle", uuid_, {{"active", 1}}));
  watch_.note_event("gpu01", event("ecc", uuid_, {{"increase", 1}}));
  watch_.note_event("gpu01", event("row_remap", uuid_, {{"increase", 1}, {"total", 1}}));
  look();
  EXPECT_THAT(changes(), IsEmpty());
  watch_.note_event("gpu01", event("xid", uuid_, {{"xid", 48}}));
  watch_.note_event("gpu01", event("ecc_uncorrected", uuid_, {{"increase", 1}}));
  look();
  EXPECT_THAT(changes(), UnorderedElementsAre("+xid gpu01 " + uuid_, "+ecc_uncorrected gpu01 " + uuid_));
}

TEST_F(EventRules, AreOverAfterADayOfQuiet) {
  watch_.note_event("gpu01", event("xid", uuid_, {{"xid", 48}}));
  look_for(hours(20));
  watch_.note_event("gpu01", event("xid", uuid_, {{"xid", 48}}));
  look_for(hours(20));
  EXPECT_THAT(changes(), ElementsAre("+xid gpu01 " + uuid_)) << "the second one keeps it open";
  look_for(hours(5));
  EXPECT_THAT(changes(), ElementsAre("-xid gpu01 " + uuid_));
}

TEST_F(EventRules, ThatComeTwiceOrLateCountOnceOrNotAtAll) {
  const TelemetryEvent lost = event("gpu_lost", uuid_);
  watch_.note_event("gpu01", lost);
  look();
  const TelemetryEvent found = event("gpu_found", uuid_);
  watch_.note_event("gpu01", found);
  look();
  EXPECT_THAT(changes(), SizeIs(2));
  watch_.note_event("gpu01", lost);
  watch_.note_event("gpu01", found);
  look();
  EXPECT_THAT(changes(), IsEmpty());
  TelemetryEvent old = event("xid", uuid_, {{"xid", 79}});
  old.time -= hours(25);
  watch_.note_event("gpu01", old);
  watch_.note_event("nobody", event("xid", uuid_, {{"xid", 79}}));
  look();
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(EventRules, ANodeWhoseClockIsAheadDoesNotKeepItsAlertsLonger) {
  TelemetryEvent early = event("xid", uuid_, {{"xid", 48}});
  early.time += hours(24 * 365);
  watch_.note_event("gpu01", early);
  look_for(hours(25));
  EXPECT_THAT(changes(), ElementsAre("+xid gpu01 " + uuid_, "-xid gpu01 " + uuid_));
}

TEST_F(EventRules, AreHeardFromANodeThatIsGone) {
  node().state = NodeState::offline;
  watch_.note_event("gpu01", event("xid", uuid_, {{"xid", 48}}));
  look_for(seconds(30));
  EXPECT_THAT(changes(), ElementsAre("+xid gpu01 " + uuid_, "+node_lost gpu01"));
}

TEST_F(EventRules, ARowThatWaitsIsSeenByEventOrFieldAndOverAfterTheReset) {
  watch_.note_event("gpu01", event("row_remap", uuid_));
  set(gpu(5), GpuField::row_remap_failed, 1);
  look_for(minutes(1));
  EXPECT_THAT(changes(), UnorderedElementsAre("+row_remap gpu01 " + uuid_, "+row_remap gpu01 gpu01-GPU-5"));
  set(gpu(3), GpuField::row_remap_pending, 1);
  look_for(hours(48));
  EXPECT_THAT(changes(), IsEmpty()) << "it still waits";
  set(gpu(3), GpuField::row_remap_pending, 0);
  look_for(minutes(3));
  EXPECT_THAT(changes(), ElementsAre("-row_remap gpu01 " + uuid_));
}

TEST_F(EventRules, ASourceThatFailsIsNamed) {
  watch_.note_event("gpu01", event("source_failing", "nvml"));
  look();
  EXPECT_EQ(changes_.front().alert.what, "nvml of gpu01: source_failing happened.");
  watch_.note_event("gpu01", event("source_recovered", "nvml"));
  look();
  EXPECT_THAT(changes(), ElementsAre("+source_failing gpu01 nvml", "-source_failing gpu01 nvml"));
}

TEST_F(EventRules, AFloodIsBounded) {
  for (std::size_t i = 0; i < 3 * Watch::kMostEvents; ++i) {
    watch_.note_event("gpu01", event("xid", "GPU-" + std::to_string(i), {{"xid", 79}}));
  }
  look();
  EXPECT_LE(changes().size(), 256U);
}

class Restart : public WatchTest {
 protected:
  /// The program ends and starts again with the alerts that it had written down.
  void restart(const WatchRules& rules = WatchRules()) { watch_ = Watch(rules, watch_.open_alerts()); }
};

TEST_F(Restart, OpenAlertsAreNotRaisedTwiceAndResolvedInTime) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  node().clock_skew_s = 3;
  node().file_systems.front().available_bytes = 1;
  watch_.note_event("gpu01", event("xid", "gpu01-GPU-3", {{"xid", 48}}));
  look_for(minutes(8));
  EXPECT_THAT(changes(), SizeIs(4));
  const auto before = watch_.open_alerts();
  restart();
  look_for(minutes(8));
  EXPECT_THAT(changes(), IsEmpty());
  ASSERT_THAT(watch_.open_alerts(), SizeIs(4));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(watch_.open_alerts()[i].id, before[i].id);
  rest(gpu());
  node().clock_skew_s = 0;
  node().file_systems.front().available_bytes = 50 * kGiB;
  look_for(hours(25));
  EXPECT_THAT(changes(), SizeIs(4)) << "all are resolved";
  EXPECT_THAT(watch_.open_alerts(), IsEmpty());
}

TEST_F(Restart, WhatHasBecomeGoodMeanwhileIsResolvedInItsUsualTime) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  node().file_systems.front().available_bytes = 1;
  look_for(minutes(8));
  EXPECT_THAT(changes(), SizeIs(2));
  restart();
  set(gpu(), GpuField::temperature_c, 60);
  node().file_systems.front().available_bytes = 50 * kGiB;
  look_for(minutes(6));
  EXPECT_THAT(changes(), ElementsAre("-overheating gpu01 gpu01-GPU-3", "-disk_almost_full gpu01 /"));
}

TEST_F(Restart, ANodeThatWasLostStaysLostUntilItIsBack) {
  node().state = NodeState::offline;
  look_for(minutes(1));
  restart();
  look_for(hours(3));
  EXPECT_THAT(changes(), ElementsAre("+node_lost gpu01"));
  node().state = NodeState::online;
  look_for(minutes(1));
  EXPECT_THAT(changes(), ElementsAre("-node_lost gpu01"));
}

TEST_F(Restart, AlertsOfNodesThatDoNotComeBackEndAfterAnHour) {
  node().clock_skew_s = 3;
  look_for(minutes(1));
  restart();
  cluster_.nodes.clear();
  look_for(minutes(59));
  EXPECT_THAT(changes(), ElementsAre("+clock_skew gpu01"));
  look_for(minutes(3));
  EXPECT_THAT(changes_.front().alert.what,
              testing::StartsWith("Ended because what it was about is no longer reported."));
  EXPECT_THAT(changes(), ElementsAre("-clock_skew gpu01"));
}

TEST_F(Restart, RulesThatWereSwitchedOffEndTheirAlerts) {
  node().clock_skew_s = 3;
  look_for(minutes(1));
  WatchRules rules;
  rules[RuleId::clock_skew].enabled = false;
  restart(rules);
  look_for(minutes(5));
  EXPECT_THAT(changes(), ElementsAre("+clock_skew gpu01", "-clock_skew gpu01"));
}

TEST_F(Restart, TheWorstValueIsNotForgotten) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  look_for(minutes(2));
  set(gpu(), GpuField::temperature_c, 89);
  look_for(minutes(1));
  restart();
  look();
  EXPECT_EQ(watch_.open_alerts().front().worst_value, 95);
}

using WatchPauses = WatchTest;

TEST_F(WatchPauses, AfterAPauseOfTheWatchEveryWaitStartsAnew) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  look_for(seconds(30));
  now_ += minutes(10);
  look_for(seconds(60));
  EXPECT_THAT(changes(), IsEmpty()) << "nobody knows what was in between";
  look();
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-3"));
}

TEST_F(WatchPauses, OneMomentDoesNotStandForAMinuteThatNobodySaw) {
  everything_works();
  set(gpu(), GpuField::throttle_thermal, 1);
  look();
  now_ += minutes(10);
  look();
  look();
  set(gpu(), GpuField::throttle_thermal, 0);
  look();
  set(gpu(), GpuField::throttle_thermal, 1);
  look_for(seconds(30));
  set(gpu(), GpuField::throttle_thermal, 0);
  look_for(minutes(5));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(WatchPauses, AClockThatIsSetBackHarmsNothing) {
  everything_works();
  set(gpu(), GpuField::temperature_c, 95);
  look_for(seconds(30));
  now_ -= hours(5);
  look_for(seconds(70));
  EXPECT_THAT(changes(), ElementsAre("+overheating gpu01 gpu01-GPU-3"));
}

}  // namespace
}  // namespace assay
