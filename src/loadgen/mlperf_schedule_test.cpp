#include "loadgen/mlperf_schedule.h"

#include <fstream>
#include <sstream>
#include <string>

#include "support/source_tree.h"

namespace assay {
namespace {

// What LoadGen 6.0, built with libstdc++, gave for the seeds of v5.1.
struct ReferenceQuery {
  std::int64_t scheduled_ns = 0;
  std::vector<std::uint32_t> samples;
};
std::vector<ReferenceQuery> reference(const std::string& name) {
  std::ifstream file(test::fixture_folder() / "loadgen" / name);
  std::string line;
  std::getline(file, line);
  std::vector<ReferenceQuery> queries;
  while (std::getline(file, line)) {
    std::istringstream text(line);
    ReferenceQuery query;
    std::uint64_t number = 0;
    char comma = 0;
    text >> number >> comma >> query.scheduled_ns >> comma;
    for (std::uint32_t sample = 0; text >> sample;) query.samples.push_back(sample);
    queries.push_back(std::move(query));
  }
  EXPECT_FALSE(queries.empty()) << name;
  return queries;
}

void expect_order(const std::string& name, MlperfOrderOptions options) {
  options.performance_samples = 1024;
  MlperfSampleOrder order(options);
  int query_number = 0;
  for (const auto& query : reference(name)) {
    for (const auto sample : query.samples) ASSERT_EQ(order.next(), sample) << name << ", query " << query_number;
    ++query_number;
  }
}

TEST(MlperfSchedule, ServerArrivalsAreThoseOfLoadgen) {
  for (const auto* name : {"loadgen-server-1000qps.csv", "loadgen-server-1000qps-equal-issue.csv"}) {
    MlperfServerArrivals arrivals(1000, MlperfSeeds().schedule);
    for (const auto& query : reference(name)) ASSERT_EQ(arrivals.next().count(), query.scheduled_ns);
  }
}

TEST(MlperfSchedule, SamplesAreThoseOfLoadgen) {
  expect_order("loadgen-server-1000qps.csv", {.scenario = Scenario::server, .min_queries = 2000});
  expect_order("loadgen-server-1000qps-equal-issue.csv",
               {.scenario = Scenario::server, .min_queries = 2000, .equal_issue = true});
  expect_order("loadgen-single-stream.csv", {.scenario = Scenario::single_stream, .min_queries = 100});
  expect_order("loadgen-multi-stream.csv",
               {.scenario = Scenario::multi_stream, .samples_per_query = 8, .min_queries = 662});
  expect_order("loadgen-offline.csv", {.scenario = Scenario::offline});
}

TEST(MlperfSchedule, PermutationsBeginAgainWhereLoadgenHasNoMore) {
  MlperfSampleOrder order({.performance_samples = 16, .min_queries = 20, .equal_issue = true});
  std::vector<std::uint32_t> first;
  for (int i = 0; i < 32; ++i) first.push_back(order.next());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(order.next(), first[static_cast<std::size_t>(i)]) << i;
}

TEST(MlperfSchedule, LargeSetsAreShuffledOneByOne) {
  // Beyond 65,535 samples two positions no longer fit into one random number.
  MlperfSampleOrder order({.scenario = Scenario::offline, .performance_samples = 70'000});
  std::vector<bool> seen(70'000);
  for (int i = 0; i < 70'000; ++i) seen[order.next()] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 70'000);
}

}  // namespace
}  // namespace assay
