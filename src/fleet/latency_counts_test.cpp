#include "fleet/latency_counts.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LatencyCounts, PercentilesAreWithinTwoPercent) {
  LatencyCounts counts;
  EXPECT_EQ(counts.percentile(0.5), Nanos(0));
  for (int i = 1; i <= 1000; ++i) counts.add(milliseconds(i));
  EXPECT_EQ(counts.count(), 1000U);
  for (const double p : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = 1000 * p + 1;
    const double found = seconds_of(counts.percentile(p)) * 1000;
    EXPECT_GE(found, exact * 0.999) << p;
    EXPECT_LE(found, exact * 1.021) << p;
  }
  EXPECT_EQ(counts.percentile(1), milliseconds(1000));
  EXPECT_EQ(counts.largest(), milliseconds(1000));
}

TEST(LatencyCounts, TakeTheTinyAndTheHuge) {
  LatencyCounts counts;
  counts.add(Nanos(0));
  counts.add(hours(24));
  EXPECT_LE(counts.percentile(0), microseconds(2));
  EXPECT_EQ(counts.largest(), hours(24));
  EXPECT_GT(counts.percentile(1), std::chrono::minutes(5));
}

TEST(LatencyCounts, TellWhatCameSince) {
  LatencyCounts counts;
  counts.add(milliseconds(500));
  const LatencyCounts before = counts;
  counts.add(milliseconds(3));
  const LatencyCounts since = counts.since(before);
  EXPECT_EQ(since.count(), 1U);
  EXPECT_NEAR(seconds_of(since.percentile(0.99)), 0.003, 0.0001);
  EXPECT_NEAR(seconds_of(since.largest()), 0.003, 0.0001);
  EXPECT_EQ(counts.since(counts).percentile(0.5), Nanos(0));
}

}  // namespace
}  // namespace assay
