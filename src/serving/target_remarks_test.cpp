#include "serving/target_remarks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(TargetRemarks, SayNothingOfATargetThatDidWell) {
  EXPECT_THAT(flags_of_target({}), testing::IsEmpty());
  EXPECT_THAT(flags_of_target({{"token_counts", {{"by_server", 5}, {"estimated", 0}}}, {"problems", json::object()}}),
              testing::IsEmpty());
  json::object metrics;
  put_target_metrics({{"model", "m"}}, metrics);
  EXPECT_TRUE(metrics.empty()) << "a server that does not say it has no hit rate of 0";
}

TEST(TargetRemarks, NameWhatAReaderMustKnow) {
  const auto flags = flags_of_target({{"token_counts", {{"estimated", 7}}},
                                      {"waited_for_connection", 3},
                                      {"problems", {{"HTTP 404: no", 2}, {"HTTP 500: oh", 9}}}});
  ASSERT_EQ(flags.size(), 3U);
  EXPECT_EQ(flags[0].kind, "tokens_estimated");
  EXPECT_THAT(flags[0].message, testing::HasSubstr("of 7 answers"));
  EXPECT_EQ(flags[1].kind, "waited_for_connection");
  EXPECT_EQ(flags[2].message, "HTTP 500: oh (9 ×); HTTP 404: no (2 ×)");
}

TEST(TargetRemarks, NameAnswersThatMayHaveBeenBrokenOff) {
  const auto flags = flags_of_target({{"cut_short", 4}});
  ASSERT_EQ(flags.size(), 1U);
  EXPECT_EQ(flags[0].kind, "answers_cut_short");
  EXPECT_THAT(flags[0].message, testing::HasSubstr("4 streams ended"));
}

TEST(TargetRemarks, NamePromptsThatACacheMayHaveSeen) {
  EXPECT_EQ(flag_of_repeats(100, 100, false, {}), std::nullopt);
  const auto repeated = flag_of_repeats(101, 100, false, {});
  ASSERT_TRUE(repeated.has_value());
  EXPECT_EQ(repeated->kind, "prompts_repeated");
  EXPECT_THAT(repeated->message, testing::HasSubstr("101 requests were made of the 100 prompts"));
  EXPECT_THAT(repeated->message, testing::HasSubstr("does not say"));
  const auto cached = [](int tokens) {
    return json::object{{"prefix_cache", {{"input_tokens", 200}, {"cached_tokens", tokens}}}};
  };
  EXPECT_THAT(flag_of_repeats(10, 100, true, cached(50))->message, testing::HasSubstr("had 25 % of their tokens"));
  EXPECT_EQ(flag_of_repeats(10, 100, true, cached(0)), std::nullopt) << "it has none";
}

TEST(TargetRemarks, TellHowMuchThePrefixCacheHad) {
  json::object metrics;
  put_target_metrics({{"prefix_cache", {{"input_tokens", 200}, {"cached_tokens", 50}}}}, metrics);
  EXPECT_EQ(metrics.at("prefix_cache_hit_rate"), 0.25);
}

}  // namespace
}  // namespace assay
