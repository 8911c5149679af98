#include "loadgen/arrivals.h"

#include <cmath>

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Gaps {
  double mean_s = 0;
  double squared_variation = 0;
};
Gaps gaps_of(ArrivalProcess& process, int count) {
  double sum = 0;
  double squares = 0;
  Nanos last = Nanos(0);
  for (int i = 0; i < count; ++i) {
    const Nanos at = process.next();
    EXPECT_GE(at, last);
    const double gap = seconds_of(at - last);
    sum += gap;
    squares += gap * gap;
    last = at;
  }
  const double mean = sum / count;
  return {mean, (squares / count - mean * mean) / (mean * mean)};
}

TEST(Arrivals, ScenariosHaveTheNamesOfTheSetting) {
  for (int i = 0; i < 9; ++i) {
    const auto scenario = static_cast<Scenario>(i);
    EXPECT_EQ(scenario_from(name_of(scenario)), scenario);
  }
  EXPECT_EQ(scenario_from("sever"), std::nullopt);
  EXPECT_TRUE(is_open_loop(Scenario::server));
  EXPECT_FALSE(is_open_loop(Scenario::closed));
}

TEST(Arrivals, PoissonHasItsRateAndKnowsNoPast) {
  PoissonArrivals process(1000, 7);
  const Gaps gaps = gaps_of(process, 100'000);
  EXPECT_NEAR(gaps.mean_s, 1e-3, 1e-5);
  EXPECT_NEAR(gaps.squared_variation, 1, 0.03);
}

TEST(Arrivals, TheSameSeedGivesTheSameTimesForEver) {
  // Written down: a change makes old and new runs incomparable.
  PoissonArrivals process(1000, 1);
  for (const int expected : {311653, 1711756, 2341741, 2934480}) EXPECT_EQ(process.next(), Nanos(expected));
  BurstArrivals burst(1000, 10, 1);
  for (const int expected : {137161, 177757, 1270157, 1286753}) EXPECT_EQ(burst.next(), Nanos(expected));
  EXPECT_NE(PoissonArrivals(1000, 2).next(), PoissonArrivals(1000, 1).next());
}

TEST(Arrivals, ConstantIsEvenWithoutDrift) {
  ConstantArrivals process(3);
  EXPECT_EQ(process.next(), Nanos(0));
  for (int i = 1; i < 300'000; ++i) process.next();
  EXPECT_EQ(process.next(), seconds(100'000));
}

TEST(Arrivals, BurstsKeepTheRateAndAreAsUnevenAsAsked) {
  for (const double unevenness : {1.0, 10.0, 50.0}) {
    BurstArrivals process(1000, unevenness, 3);
    const Gaps gaps = gaps_of(process, 100'000);
    EXPECT_NEAR(gaps.mean_s, 1e-3, 1e-4) << unevenness;
    EXPECT_NEAR(gaps.squared_variation, unevenness, 0.15 * unevenness);
  }
}

TEST(Arrivals, ARampGoesEvenlyFromRateToRate) {
  const Ramp ramp{.from_per_second = 100, .to_per_second = 300, .duration = seconds(100)};
  EXPECT_EQ(rate_at(ramp, seconds(50)), 200);
  EXPECT_EQ(rate_at(ramp, seconds(500)), 300);
  EXPECT_NEAR(expected_arrivals(ramp, seconds(100)), 20'000, 1e-6);
  RampArrivals process(ramp, 5);
  int before_half = 0;
  int inside = 0;
  int after = 0;
  for (Nanos at = process.next(); at < seconds(200); at = process.next()) {
    before_half += at < seconds(50) ? 1 : 0;
    inside += at < seconds(100) ? 1 : 0;
    after += at >= seconds(100) ? 1 : 0;
  }
  EXPECT_NEAR(before_half, 7'500, 350);
  EXPECT_NEAR(inside, 20'000, 600);
  EXPECT_NEAR(after, 30'000, 700);
}

TEST(Arrivals, ARampDownAndOneInSteps) {
  const Ramp down{.from_per_second = 300, .to_per_second = 100, .duration = seconds(100)};
  RampArrivals falling(down, 5);
  int fallen = 0;
  while (falling.next() < seconds(100)) ++fallen;
  EXPECT_NEAR(fallen, 20'000, 600);
  const Ramp steps{.from_per_second = 100, .to_per_second = 300, .duration = seconds(30), .steps = 3};
  EXPECT_EQ(rate_at(steps, seconds(5)), 100);
  EXPECT_EQ(rate_at(steps, seconds(15)), 200);
  EXPECT_EQ(rate_at(steps, seconds(25)), 300);
  EXPECT_NEAR(expected_arrivals(steps, seconds(20)), 3'000, 1e-9);
  RampArrivals stepped(steps, 5);
  int in_second = 0;
  for (Nanos at = stepped.next(); at < seconds(20); at = stepped.next()) in_second += at >= seconds(10) ? 1 : 0;
  EXPECT_NEAR(in_second, 2'000, 200);
}

TEST(Arrivals, ATraceIsReplayedFaster) {
  const std::vector<Nanos> times = {Nanos(0), milliseconds(100), milliseconds(100), seconds(1)};
  TraceArrivals process(times, 10);
  EXPECT_EQ(process.next(), Nanos(0));
  EXPECT_EQ(process.next(), milliseconds(10));
  EXPECT_EQ(process.next(), milliseconds(10));
  EXPECT_EQ(process.next(), milliseconds(100));
  EXPECT_EQ(process.next(), ArrivalProcess::kNever);
  EXPECT_EQ(process.next(), ArrivalProcess::kNever);
}

}  // namespace
}  // namespace assay
