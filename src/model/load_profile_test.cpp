#include "model/load_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

LoadProfile full_profile() {
  LoadProfile profile;
  profile.latency = {.count = 5000, .mean_ns = 20.5, .quantiles_ns = {10, 20, 20, 31}};
  profile.first_token = {.count = 2, .mean_ns = 1.5, .quantiles_ns = {1, 2}};
  profile.endpoints = {{.address = "http://a:1/v1",
                        .requests = 7,
                        .ok = 6,
                        .output_tokens = 60,
                        .mean_latency_s = 0.5,
                        .latency_p99_s = 0.75},
                       {.address = "http://b:1/v1"}};
  profile.endpoints_left_out = 3;
  profile.answers = {.answers = 6,
                     .without_tokens = 1,
                     .fewest_tokens = 2,
                     .most_tokens = 12,
                     .mean_tokens = 10,
                     .finish_reasons = {{"length", 2}, {"stop", 4}}};
  profile.clients = {{.name = "client 0 on a", .requests = 4, .ok = 4, .lateness_p99_s = 0.001, .waited_share = 0.01},
                     {.name = "client 1 on b", .requests = 3, .lost = 3, .clock_bound_s = 2e-5, .lost_reason = "gone"}};
  profile.probes = {{.offered = 10, .completed = 9.9, .latency_p99_s = 0.25, .kept = true},
                    {.offered = 20, .completed = 12, .client_limited = true}};
  return profile;
}

/// The problem that a changed profile is refused for.
std::string problem_of(const std::function<void(json::object&)>& change) {
  json::object object = to_json(full_profile());
  change(object);
  const auto read = load_profile_from_json(object);
  return read ? "" : read.error().message;
}

TEST(LoadProfile, ComesBackAsItWas) {
  const auto again = load_profile_from_json(json::parse(json::serialize(to_json(full_profile()))));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(*again, full_profile());
  const auto empty = load_profile_from_json(to_json(LoadProfile{}));
  ASSERT_TRUE(empty.ok()) << empty.error().text();
  EXPECT_EQ(*empty, LoadProfile{});
}

TEST(LoadProfile, RefusesWhatCannotBeDrawn) {
  using testing::HasSubstr;
  EXPECT_THAT(problem_of([](auto& o) { o["latency"].as_object()["quantiles_ns"] = {3, 2}; }),
              HasSubstr("does not ascend"));
  EXPECT_THAT(problem_of([](auto& o) { o["latency"].as_object()["quantiles_ns"].as_array()[0] = "a"; }),
              HasSubstr("no number of nanoseconds"));
  EXPECT_THAT(problem_of([](auto& o) { o["first_token"].as_object()["count"] = 1; }), HasSubstr("does not fit"));
  EXPECT_THAT(problem_of([](auto& o) { o["latency"].as_object()["quantiles_ns"].as_array().resize(2000, 40); }),
              HasSubstr("too long"));
  EXPECT_THAT(problem_of([](auto& o) { o["endpoints"].as_array().resize(200, o["endpoints"].as_array()[0]); }),
              HasSubstr("too many"));
  EXPECT_THAT(problem_of([](auto& o) { o["answers"].as_object()["answers"] = -1; }), HasSubstr("below 0"));
  EXPECT_THAT(problem_of([](auto& o) { o["probes"].as_array()[0].as_object()["offered"] = nullptr; }),
              HasSubstr("is no rate"));
  EXPECT_THAT(problem_of([](auto& o) { o["schema"] = kLoadProfileSchema + 1; }), HasSubstr("load.json"));
}

TEST(LoadProfile, IsSmall) {
  LoadProfile profile = full_profile();
  const TimeDistribution longest{
      .count = 1'000'000, .mean_ns = 6e10, .quantiles_ns = std::vector<std::int64_t>(kMostQuantiles, 59'999'999'999)};
  profile.latency = profile.first_token = profile.per_output_token = profile.inter_token = longest;
  profile.endpoints.assign(kMostEndpoints, profile.endpoints[0]);
  EXPECT_LT(json::serialize(to_json(profile)).size(), 100'000u);
}

}  // namespace
}  // namespace assay
