#include "agent/grid_collector.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::chrono_literals;

const WallTime kGrid{1'000'000s};
const SteadyTime kNow{50s};

TEST(GridCollector, IsCompleteWhenEverySourceHasDelivered) {
  GridCollector collector(2, 100ms);
  EXPECT_FALSE(collector.deadline());
  collector.add(0, kGrid, kNow);
  EXPECT_FALSE(collector.complete());
  EXPECT_EQ(collector.deadline(), kNow + 100ms);
  collector.add(1, kGrid, kNow + 5ms);
  EXPECT_TRUE(collector.complete());
  collector.close();
  EXPECT_FALSE(collector.deadline());
}

TEST(GridCollector, ASourceThatWasWaitedForInVainIsNotWaitedForAgain) {
  GridCollector collector(2, 100ms);
  collector.add(0, kGrid, kNow);
  collector.close();  // its time was up
  collector.add(0, kGrid + 1s, kNow + 1s);
  EXPECT_TRUE(collector.complete());
  collector.close();
  collector.add(1, kGrid + 2s, kNow + 2s);
  EXPECT_FALSE(collector.complete()) << "the first one is still expected";
  collector.add(0, kGrid + 2s, kNow + 2s);
  collector.close();
  collector.add(0, kGrid + 3s, kNow + 3s);
  EXPECT_FALSE(collector.complete()) << "the second one is expected again";
}

TEST(GridCollector, ALateReadingWaitsForNobody) {
  GridCollector collector(2, 100ms);
  collector.add(0, kGrid, kNow);
  collector.close();
  collector.add(1, kGrid, kNow + 300ms);
  EXPECT_TRUE(collector.complete());
  EXPECT_FALSE(collector.closes_before(kGrid));
}

TEST(GridCollector, ANewerGridTimeClosesTheOpenOne) {
  GridCollector collector(2, 100ms);
  EXPECT_FALSE(collector.closes_before(kGrid));
  collector.add(0, kGrid, kNow);
  EXPECT_TRUE(collector.closes_before(kGrid + 100ms));
  EXPECT_FALSE(collector.closes_before(kGrid));
}

TEST(GridCollector, AClockThatWasSetBackStartsAnew) {
  GridCollector collector(2, 100ms);
  collector.add(0, kGrid, kNow);
  collector.add(1, kGrid, kNow);
  collector.close();
  collector.add(0, kGrid - 1h, kNow + 1s);
  EXPECT_FALSE(collector.complete()) << "the other one has not delivered since";
  collector.add(1, kGrid - 1h, kNow + 1s);
  EXPECT_TRUE(collector.complete());
}

TEST(GridCollector, AMachineWithoutSourcesHasNoBatches) {
  const GridCollector collector(0, 100ms);
  EXPECT_FALSE(collector.complete());
}

}  // namespace
}  // namespace assay
