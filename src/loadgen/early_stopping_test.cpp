#include "loadgen/early_stopping.h"

#include <fstream>
#include <string>

#include "loadgen/percentiles.h"
#include "support/source_tree.h"

namespace assay {
namespace {

TEST(EarlyStopping, NeedsAsManyQueriesAsLoadgen) {
  std::ifstream file(test::fixture_folder() / "loadgen/loadgen-early-stopping.csv");
  std::string line;
  std::getline(file, line);
  int checked = 0;
  double percentile = 0;
  std::uint64_t over = 0;
  std::uint64_t passing = 0;
  char comma = 0;
  while (file >> percentile >> comma >> over >> comma >> passing) {
    EXPECT_EQ(min_passing_queries(over, percentile), passing) << percentile << " " << over;
    ++checked;
  }
  EXPECT_EQ(checked, 115);
}

TEST(EarlyStopping, TheFloorsOfTheRules) {
  EXPECT_EQ(min_queries_for_estimate(0.90), 64u);
  EXPECT_EQ(min_queries_for_estimate(0.95), 130u);
  EXPECT_EQ(min_queries_for_estimate(0.97), 219u);
  EXPECT_EQ(min_queries_for_estimate(0.99), 662u);
  EXPECT_EQ(min_queries_for_estimate(0.999), 6636u);
}

TEST(EarlyStopping, TellsEnoughFromTooFew) {
  EXPECT_TRUE(early_stopping_met(459, 0, 0.99));
  EXPECT_FALSE(early_stopping_met(458, 0, 0.99));
  EXPECT_TRUE(early_stopping_met(662, 1, 0.99));
  EXPECT_FALSE(early_stopping_met(661, 1, 0.99));
  EXPECT_FALSE(early_stopping_met(1'000'000, 20'000, 0.99));
  EXPECT_FALSE(early_stopping_met(0, 0, 0.99));
}

TEST(EarlyStopping, EstimatesFromTheQueriesThatAreLeft) {
  std::vector<std::int64_t> sorted(63);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(early_stopping_estimate(sorted, 0.90), std::nullopt);
  sorted.push_back(63);
  const auto least = early_stopping_estimate(sorted, 0.90);
  ASSERT_TRUE(least.has_value());
  EXPECT_EQ(least->discarded, 0u);
  EXPECT_EQ(least->latency_ns, 63);
  // h(1000) + 1000 = 10722 for 90 %.
  sorted.resize(10'722);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<std::int64_t>(i);
  const auto many = early_stopping_estimate(sorted, 0.90);
  EXPECT_EQ(many->discarded, 999u);
  EXPECT_EQ(many->latency_ns, 10'722 - 1'000);
}

TEST(Percentiles, AreValuesThatWereMeasured) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1000; i > 0; --i) values.push_back(i);
  const LatencySummary summary = summarise_latencies(values);
  EXPECT_EQ(summary.count, 1000u);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 1000);
  EXPECT_EQ(summary.mean, 500.5);
  EXPECT_EQ(summary.p50, 501);  // sorted[500]
  EXPECT_EQ(summary.p99, 991);
  EXPECT_EQ(summary.p999, 1000);
  EXPECT_EQ(percentile_of_sorted(values, 1), 1000);
  EXPECT_EQ(summary.quantiles, values) << "all of few";
  for (std::int64_t i = 1001; i <= 5001; ++i) values.push_back(i);
  const auto thinned = summarise_latencies(values).quantiles;
  ASSERT_EQ(thinned.size(), 1001u);
  EXPECT_EQ(thinned.front(), 1);
  EXPECT_EQ(thinned[500], 2501) << "the median";
  EXPECT_EQ(thinned.back(), 5001);
  std::vector<std::int64_t> one = {7};
  EXPECT_EQ(summarise_latencies(one).quantiles, one);
  std::vector<std::int64_t> none;
  EXPECT_EQ(summarise_latencies(none).count, 0u);
}

}  // namespace
}  // namespace assay
