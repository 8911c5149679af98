#include "scheduler/queue_order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "scheduler/scheduler_fixture.h"

namespace assay {
namespace {

DurationEstimate estimate_of(double seconds, double log_error) {
  return {Nanos(static_cast<std::int64_t>(seconds * 1e9)), log_error};
}

TEST(EstimateSpread, TellsTheSpreadOfDurationsFromTheErrorOfEstimates) {
  EstimateSpread spread;
  Random random(1, "spread");
  for (int i = 0; i < 4096; ++i) {
    const double actual = random.normal(std::log(300), 0.8);
    spread.add(estimate_of(std::exp(actual + random.normal(0, 0.5)), 0.5));
  }
  EXPECT_NEAR(spread.of_durations(), 0.8, 0.05);
  // Of four times the middle 0.64 / (0.64 + 0.25) is believed.
  EXPECT_NEAR(spread.shrunk(estimate_of(1200, 0.5)) - std::log(300), std::log(4) * 0.64 / 0.89, 0.05);
  EXPECT_NEAR(spread.shrunk(estimate_of(1200, 0)), std::log(1200), 1e-9);
}

TEST(EstimateSpread, ChangesAtPowersOfTwoAlone) {
  EstimateSpread spread;
  int changes = 0;
  for (int i = 1; i <= 64; ++i) {
    const double before = spread.of_durations();
    const bool changed = spread.add(estimate_of(i, 0));
    changes += changed ? 1 : 0;
    EXPECT_EQ(changed, i == 8 || i == 16 || i == 32 || i == 64) << i;
    if (!changed) {
      EXPECT_EQ(spread.of_durations(), before);
    }
  }
  EXPECT_EQ(changes, 4);
}

TEST(EstimateSpread, PoorEstimatesOrderJobsThatCameAtOnce) {
  EstimateSpread spread;
  // They differ less than their own error says.
  for (int i = 0; i < 16; ++i) spread.add(estimate_of(100 + i, 1));
  const OrderRule rule;
  JobRequest shorter = job_of("a", 0, 100);
  JobRequest longer = job_of("b", 0, 110);
  for (auto* job : {&shorter, &longer}) job->estimate.log_error = 1;
  EXPECT_LT(rule.key(shorter, spread), rule.key(longer, spread));
  longer.submitted = at_second(-10);
  EXPECT_LT(rule.key(longer, spread), rule.key(shorter, spread)) << "but age counts more than they do";
}

TEST(OrderRule, AgeCatchesUpWithLength) {
  const OrderRule rule;
  const EstimateSpread spread;
  const double longer = rule.key(job_of("long", 0, 1000), spread);
  EXPECT_GT(longer, rule.key(job_of("soon", 1000, 100), spread));
  EXPECT_LT(longer, rule.key(job_of("late", 100'000, 100), spread));
}

TEST(OrderRule, OtherOrdersLookAtOneThingAlone) {
  const EstimateSpread spread;
  const OrderRule shortest{.order = QueueOrder::shortest};
  EXPECT_LT(shortest.key(job_of("a", 1e6, 10), spread), shortest.key(job_of("b", 0, 11), spread));
  const OrderRule first{.order = QueueOrder::first_come};
  EXPECT_LT(first.key(job_of("a", 0, 1e6), spread), first.key(job_of("b", 1, 1), spread));
}

TEST(JobRequest, WaitsDoubleUpToTheLongest) {
  const RetryRule rule{.attempts = 5, .first_wait = std::chrono::seconds(10), .longest_wait = std::chrono::seconds(30)};
  EXPECT_EQ(wait_before_retry(rule, 1), std::chrono::seconds(10));
  EXPECT_EQ(wait_before_retry(rule, 2), std::chrono::seconds(20));
  EXPECT_EQ(wait_before_retry(rule, 4), std::chrono::seconds(30));
  EXPECT_EQ(wait_before_retry(rule, 5), std::nullopt);
}

TEST(DurationEstimate, AtMostStaysWithinWhatATimeCanHold) {
  EXPECT_NEAR(seconds_of(estimate_of(100, 0.5).at_most()), 164.87, 0.01);
  EXPECT_GT(estimate_of(1e8, 1e6).at_most(), Nanos(0));
}

}  // namespace
}  // namespace assay
