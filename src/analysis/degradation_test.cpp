#include "analysis/degradation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

std::vector<double> noise(std::size_t count, double level, double spread, Random& random) {
  std::vector<double> values(count);
  for (double& value : values) value = random.normal(level, spread);
  return values;
}

DetectorAnswer add_all(DegradationDetector& detector, const std::vector<double>& values) {
  DetectorAnswer answer;
  for (const double value : values) answer = detector.add(value);
  return answer;
}

/// Forty steady runs that no rule objects to.
std::vector<double> calm(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(100 + 0.1 * (static_cast<double>((i * 7) % 11) - 5));
  return values;
}

TEST(RunValue, IsTheMedianOfEnoughRepetitions) {
  EXPECT_EQ(run_value(std::vector{5.0, 1.0, 3.0, 2.0, 90.0}), 3);
  EXPECT_FALSE(run_value(std::vector{5.0, 1.0, 3.0, 2.0}));
  EXPECT_FALSE(run_value(std::vector{5.0, 1.0, 3.0, 2.0, std::nan("")}));
  EXPECT_EQ(run_value(std::vector{5.0, 1.0, 3.0}, 3), 3);
  EXPECT_FALSE(run_value({}, 0));
}

TEST(PeerResidual, CancelsWhatTheFleetShares) {
  // Everyone is 2 % slower than usual, this one 3 %.
  const std::vector<BaselinedValue> peers = {{98, 100}, {49, 50}, {196, 200}, {107.8, 110}, {50, 100}};
  const auto residual = peer_residual({97, 100}, peers);
  ASSERT_TRUE(residual);
  EXPECT_NEAR(residual->percent, 100 * 0.97 / 0.98, 1e-9);
  EXPECT_FALSE(residual->weak);
}

TEST(PeerResidual, IsWeakWithFewPeers) {
  const std::vector<BaselinedValue> peers = {{98, 100}, {98, 100}, {98, 100}, {0, 100}, {98, 0}};
  const auto residual = peer_residual({97, 100}, peers);
  EXPECT_TRUE(residual->weak);
  EXPECT_NEAR(residual->percent, 97, 1e-9);
  EXPECT_FALSE(peer_residual({0, 100}, peers));
  EXPECT_FALSE(peer_residual({std::nan(""), 100}, peers));
}

// Reference values: an independent Python program that follows the formula in degradation.h.
TEST(RollingScan, FollowsTheFormula) {
  std::vector<double> series = {100.2, 99.7, 100.1, 99.9, 100.4, 99.8, 100.0, 100.3, 99.6,
                                100.1, 99.9, 100.2, 97.0, 100.0, 99.8, 99.1,  98.9,  99.2};
  const auto study = rolling_scan(series, study_settings());
  EXPECT_EQ(study.tail, 3u);
  EXPECT_NEAR(study.z, 4.56918103938555, 1e-10);
  EXPECT_NEAR(study.effect_percent, -0.8510005644789733, 1e-10);
  // Fifteen runs are few, so our own settings widen the test.
  EXPECT_NEAR(rolling_scan(series).z, 3.9541865824393403, 1e-10);
  series.erase(series.begin());
  EXPECT_EQ(rolling_scan(series).z, 0);

  // Runs that lean on each other: ρ is held at 0.6, and the test is twice as wide.
  std::vector<double> leaning;
  leaning.reserve(15);
  for (int i = 0; i < 15; ++i) leaning.push_back(100 + 0.3 * std::sin(i / 3.0));
  leaning.insert(leaning.end(), 3, 99.0);
  EXPECT_NEAR(rolling_scan(leaning, study_settings()).z, 3.9269941785662548, 1e-9);
}

TEST(AnchoredScan, FollowsTheFormula) {
  const std::vector<double> since = {99.4, 99.0, 99.3, 99.2, 98.9};
  const auto scan = anchored_scan(calm(40), since, study_settings());
  EXPECT_EQ(scan.tail, 5u);
  EXPECT_NEAR(scan.z, 5.1770614297995206, 1e-9);
  EXPECT_NEAR(scan.effect_percent, -0.8, 1e-9);
  EXPECT_EQ(anchored_scan(calm(39), since).z, 0);
  EXPECT_EQ(anchored_scan(calm(40), std::vector{99.0, 99.0, 99.0, 99.0}).z, 0);
}

TEST(Scans, ABaselineWithoutSpreadIsAnswered) {
  std::vector<double> series(30, 100.0);
  EXPECT_EQ(rolling_scan(series).z, 0);
  series.insert(series.end(), 3, 99.0);
  EXPECT_GT(rolling_scan(series).z, 1000);
}

TEST(Detector, LearnsFirst) {
  DegradationDetector detector;
  EXPECT_EQ(add_all(detector, calm(17)).state, DetectorState::learning);
  EXPECT_EQ(detector.add(100).state, DetectorState::steady);
  EXPECT_EQ(name_of(detector.state()), "steady");
}

TEST(Detector, SuspectsAStepAndConfirmsIt) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  DetectorAnswer answer;
  for (int i = 0; i < 10 && answer.state != DetectorState::suspected; ++i) answer = detector.add(99);
  ASSERT_EQ(answer.state, DetectorState::suspected);
  EXPECT_EQ(answer.rule, DetectorRule::rolling);
  EXPECT_EQ(answer.fresh_runs_wanted, 8u);
  EXPECT_EQ(detector.add(99).state, DetectorState::suspected);  // taken in, not checked

  const auto partial = detector.confirm(std::vector<double>(5, 99.0));
  EXPECT_EQ(partial.state, DetectorState::suspected);
  EXPECT_EQ(partial.fresh_runs_wanted, 3u);
  const auto confirmed = detector.confirm(std::vector<double>(3, 99.0));
  EXPECT_EQ(confirmed.state, DetectorState::degraded);
  EXPECT_NEAR(confirmed.scan.effect_percent, -1, 0.05);
  EXPECT_EQ(detector.add(100).state, DetectorState::degraded);  // until someone has acted
  detector.rebaseline();
  EXPECT_EQ(detector.state(), DetectorState::learning);
  EXPECT_EQ(add_all(detector, calm(60)).state, DetectorState::steady);
}

TEST(Detector, AsksForMoreWhereTheFirstRunsDoNotDecide) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  while (detector.add(99).state != DetectorState::suspected) {
  }
  // 0.25 % below is neither confirmed nor refuted.
  const auto undecided = detector.confirm(std::vector<double>(8, 99.75));
  EXPECT_EQ(undecided.state, DetectorState::suspected);
  EXPECT_EQ(undecided.fresh_runs_wanted, 8u);
  EXPECT_EQ(detector.confirm(std::vector<double>(8, 98.0)).state, DetectorState::degraded);
}

TEST(Detector, AnUnconfirmedSuspicionIsMutedForThreeRuns) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  while (detector.add(98).state != DetectorState::suspected) {
  }
  EXPECT_EQ(detector.confirm(std::vector<double>(8, 100.0)).state, DetectorState::muted);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(detector.add(100).state, DetectorState::muted);
  EXPECT_NE(detector.add(100).state, DetectorState::muted);
}

TEST(Detector, ATinyEffectIsNotConfirmedHoweverCertain) {
  DegradationDetector detector;
  Random random(5, "tiny");
  add_all(detector, noise(60, 100, 0.02, random));
  while (detector.add(99.8).state != DetectorState::suspected) {
  }
  detector.confirm(std::vector<double>(8, 99.8));
  EXPECT_EQ(detector.confirm(std::vector<double>(8, 99.8)).state, DetectorState::muted);
}

TEST(Detector, AFewVerySlowRunsAreAnIntruderNotASlowGpu) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  while (detector.add(95).state != DetectorState::suspected) {
  }
  // Four of eight are 10 % slow, the others as ever: whoever was there goes away in the second half.
  const auto undecided = detector.confirm(std::vector{90.0, 90.0, 90.0, 90.0, 100.2, 99.9, 100.1, 100.0});
  EXPECT_NE(undecided.state, DetectorState::degraded);
  EXPECT_EQ(detector.confirm(calm(8)).state, DetectorState::muted);
}

TEST(Detector, WeakSettingsLetSmallSlowdownsPass) {
  const auto verdict = [](double level) {
    DegradationDetector detector(weak_settings());
    add_all(detector, calm(60));
    for (int i = 0; i < 20 && detector.add(level).state != DetectorState::suspected; ++i) {
    }
    auto answer = detector.confirm(std::vector<double>(8, level));
    if (answer.state == DetectorState::suspected) answer = detector.confirm(std::vector<double>(8, level));
    return answer.state;
  };
  EXPECT_EQ(verdict(99), DetectorState::muted);
  EXPECT_EQ(verdict(95), DetectorState::degraded);
}

TEST(Detector, FasterIsNoDegradation) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(detector.add(103).state, DetectorState::steady);
}

TEST(Detector, OneOutlierIsNoDegradation) {
  DegradationDetector detector;
  add_all(detector, calm(60));
  EXPECT_EQ(detector.add(85).state, DetectorState::steady);
  for (const double value : calm(20)) EXPECT_EQ(detector.add(value).state, DetectorState::steady);
}

TEST(Detector, TheAnchorSeesADriftThatTheRollingBaselineFollows) {
  // With the rolling rule switched off, only the anchor is left to see it.
  DetectorSettings settings;
  settings.rolling_trigger = 1e6;
  DegradationDetector detector(settings);
  const auto steady = calm(400);
  add_all(detector, {steady.begin(), steady.begin() + 50});
  DetectorAnswer answer;
  int runs = 0;
  for (; runs < 300 && answer.state != DetectorState::suspected; ++runs) {
    answer = detector.add(steady[static_cast<std::size_t>(runs) + 50] - 0.01 * runs);
  }
  EXPECT_EQ(answer.state, DetectorState::suspected);
  EXPECT_EQ(answer.rule, DetectorRule::anchored);
  EXPECT_LT(runs, 80);
}

TEST(Detector, AfterManyRunsAStepIsStillFound) {
  DegradationDetector detector;
  EXPECT_EQ(add_all(detector, calm(1000)).state, DetectorState::steady);
  DetectorAnswer answer;
  for (int i = 0; i < 10 && answer.state != DetectorState::suspected; ++i) answer = detector.add(99);
  EXPECT_EQ(answer.state, DetectorState::suspected);
}

TEST(Detector, WithoutConfirmationTheTriggerIsHigher) {
  DetectorSettings settings;
  settings.confirms = false;
  DegradationDetector alone(settings);
  DegradationDetector confirming;
  add_all(alone, calm(60));
  add_all(confirming, calm(60));
  // Three runs 0.6 % below: z is about 3.3.
  EXPECT_NE(add_all(alone, {99.4, 99.4, 99.4}).state, DetectorState::degraded);
  EXPECT_EQ(add_all(confirming, {99.4, 99.4, 99.4}).state, DetectorState::suspected);
  EXPECT_EQ(add_all(alone, std::vector<double>(6, 98.5)).state, DetectorState::degraded);
}

// A small version of bench/detector, to notice when the method breaks. Seeded: the same counts for ever.
TEST(Detector, FindsStepsAndStaysQuiet) {
  Random random(7, "detector");
  int found = 0;
  int alarms = 0;
  for (int series = 0; series < 40; ++series) {
    DegradationDetector detector;
    const auto step = [&](double level) {
      auto answer = detector.add(random.normal(level, 0.55));
      while (answer.state == DetectorState::suspected) {
        answer = detector.confirm(noise(answer.fresh_runs_wanted, level, 0.55, random));
      }
      return answer.state == DetectorState::degraded;
    };
    for (int run = 0; run < 80; ++run) alarms += step(100) ? 1 : 0;
    bool seen = false;
    for (int run = 0; run < 10; ++run) seen = step(99) || seen;
    found += seen ? 1 : 0;
  }
  EXPECT_EQ(alarms, 0);
  EXPECT_GE(found, 37);
}

TEST(FleetShift, NamesAChangeOfEverything) {
  Random random(3, "fleet");
  double drift = 0;
  const auto next = [&] {
    drift = 0.9 * drift + random.normal(0, 0.2);
    return 100 + drift;
  };
  std::vector<double> medians;
  medians.reserve(60);
  for (int i = 0; i < 60; ++i) medians.push_back(next());
  EXPECT_FALSE(find_fleet_shift(medians).shifted);
  auto slower = medians;
  auto faster = medians;
  for (int i = 0; i < 5; ++i) {
    const double value = next();
    slower.push_back(value - 3);
    faster.push_back(value + 3);
  }
  const auto down = find_fleet_shift(slower);
  EXPECT_TRUE(down.shifted);
  EXPECT_NEAR(down.effect_percent, -3, 0.8);
  EXPECT_EQ(down.runs_since, 5u);
  const auto up = find_fleet_shift(faster);
  EXPECT_TRUE(up.shifted);
  EXPECT_NEAR(up.effect_percent, 3, 0.8);
}

TEST(FleetShift, OneBadDayIsNone) {
  std::vector<double> medians = calm(60);
  medians.push_back(95);
  medians.insert(medians.end(), {100, 100.1, 99.9, 100});
  EXPECT_FALSE(find_fleet_shift(medians).shifted);
  EXPECT_FALSE(find_fleet_shift({}).shifted);
}

}  // namespace
}  // namespace assay
