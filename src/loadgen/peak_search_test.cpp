#include "loadgen/peak_search.h"

#include <functional>

namespace assay {
namespace {

/// A server that keeps its limits up to `peak` and completes at most `capacity`.
struct ModelServer {
  double peak = 100;
  double capacity = 120;
  double client = 1e9;

  LoadProbe probe(double rate) const {
    return {.rate = rate,
            .completed_per_second = std::min({rate, capacity, client}),
            .verdict = rate > client  ? ProbeVerdict::client_limited
                       : rate <= peak ? ProbeVerdict::kept
                                      : ProbeVerdict::missed};
  }
};

PeakFinding search(const ModelServer& server, PeakSearchOptions options) {
  PeakSearch searching(options);
  while (const auto rate = searching.next()) searching.take(server.probe(*rate));
  return searching.finding();
}

TEST(PeakSearch, FindsThePeakToThePrecisionInFewProbes) {
  for (const double peak : {0.37, 9.0, 100.0, 5'000.0}) {
    for (const double first : {0.5, 10.0, 4'000.0}) {
      const auto finding = search({.peak = peak, .capacity = peak * 1.2}, {.first = first});
      ASSERT_TRUE(finding.rate.has_value()) << peak << " from " << first;
      EXPECT_LE(*finding.rate, peak);
      EXPECT_GE(*finding.rate * 1.05, peak);
      EXPECT_TRUE(finding.precise);
      EXPECT_EQ(finding.confidence, 0.99);
      EXPECT_LE(finding.probes, 22u) << peak << " from " << first;
    }
  }
}

TEST(PeakSearch, AProbeFarBeyondCapacityIsWorthMany) {
  const auto finding = search({.peak = 100, .capacity = 110}, {.first = 100'000});
  EXPECT_LE(finding.probes, 8u);
  EXPECT_GE(finding.rate.value() * 1.05, 100);
  EXPECT_EQ(finding.capacity, 110);
}

TEST(PeakSearch, SaysWhereTheClientGaveOut) {
  const auto finding = search({.peak = 1e6, .capacity = 1e6, .client = 500}, {.first = 10});
  EXPECT_TRUE(finding.client_limited);
  EXPECT_EQ(finding.rate, 320);
  EXPECT_FALSE(finding.precise);
}

TEST(PeakSearch, AMomentsDisturbanceOfTheClientIsForgiven) {
  const ModelServer server{.peak = 100, .capacity = 120};
  PeakSearch searching({.first = 10});
  for (int number = 0; const auto rate = searching.next(); ++number) {
    auto probe = server.probe(*rate);
    if (number == 2) probe.verdict = ProbeVerdict::client_limited;
    searching.take(probe);
  }
  EXPECT_FALSE(searching.finding().client_limited);
  EXPECT_TRUE(searching.finding().precise);
}

TEST(PeakSearch, SaysWhereNoRateKeepsTheLimits) {
  const auto finding = search({.peak = 0, .capacity = 100}, {.first = 10, .lowest = 0.1});
  EXPECT_EQ(finding.rate, std::nullopt);
  EXPECT_EQ(finding.confidence, 0);
  EXPECT_LE(finding.probes, 8u);
}

TEST(PeakSearch, ALuckyProbeIsNotConfirmed) {
  // 100 passes once by luck; what it is worth is what passes again.
  PeakSearch searching({.first = 100, .precision = 0.05});
  int at_100 = 0;
  while (const auto rate = searching.next()) {
    const bool lucky = *rate == 100 && at_100++ == 0;
    searching.take({.rate = *rate,
                    .completed_per_second = *rate,
                    .verdict = lucky || *rate <= 80 ? ProbeVerdict::kept : ProbeVerdict::missed});
  }
  ASSERT_TRUE(searching.finding().rate.has_value());
  EXPECT_LE(*searching.finding().rate, 80);
  EXPECT_GE(*searching.finding().rate * 1.05, 80);
  EXPECT_EQ(at_100, 2);
}

TEST(PeakSearch, StopsAtTheHighestRateAndAfterTheMostProbes) {
  EXPECT_EQ(search({.peak = 1e9, .capacity = 1e9}, {.first = 100, .highest = 1000}).rate, 1000);
  const auto few = search({.peak = 100, .capacity = 120}, {.first = 1, .most_probes = 5});
  EXPECT_EQ(few.probes, 5u);
  EXPECT_FALSE(few.precise);
  EXPECT_EQ(few.rate, 8);  // 1, 2, 4, 8, then once more
}

TEST(Knee, LiesWhereTheServerStopsToKeepUp) {
  std::vector<LoadProbe> probes;
  const ModelServer server{.peak = 50, .capacity = 120};
  for (const double rate : {400.0, 50.0, 100.0, 110.0, 200.0}) probes.push_back(server.probe(rate));
  const auto knee = find_knee(probes);
  ASSERT_TRUE(knee.has_value());
  EXPECT_GT(knee->rate, 110);
  EXPECT_LT(knee->rate, 130);
  EXPECT_EQ(knee->capacity, 120);
  EXPECT_EQ(find_knee(std::span(probes).subspan(1, 2)), std::nullopt);
  EXPECT_EQ(find_knee({}), std::nullopt);
}

}  // namespace
}  // namespace assay
