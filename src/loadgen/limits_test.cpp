#include "loadgen/limits.h"

#include <gmock/gmock.h>

#include "loadgen/load_result.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Limits, AreNamedAsTheSettingHasThem) {
  const auto limit = latency_limit("ttft_p99", milliseconds(5));
  ASSERT_TRUE(limit.ok());
  EXPECT_EQ(*limit, (LatencyLimit{LatencyMeasure::first_token, 0.99, milliseconds(5)}));
  EXPECT_EQ(name_of(*limit), "ttft_p99");
  EXPECT_EQ(name_of(*latency_limit("e2e_p99.9", Nanos(1))), "e2e_p99.9");
  for (const auto* wrong : {"ttft", "ttft_p", "ttft_p0", "ttft_p100", "foo_p99", "_p99", "tpot_p9x", ""}) {
    EXPECT_FALSE(latency_limit(wrong, Nanos(1)).ok()) << wrong;
  }
}

TEST(Limits, AFailedRequestCountsAsBeyond) {
  const LatencyLimit limit{LatencyMeasure::end_to_end, 0.9, Nanos(100)};
  const std::vector<std::int64_t> fast(90, 50);
  const auto good = check_limit(limit, fast, 9);
  EXPECT_TRUE(good.met);
  EXPECT_EQ(good.over, 9u);
  EXPECT_EQ(good.value_ns, 50);
  const auto bad = check_limit(limit, fast, 10);
  EXPECT_FALSE(bad.met);
  EXPECT_EQ(bad.value_ns, std::nullopt);
  EXPECT_FALSE(check_limit(limit, {}, 0).met);
}

TEST(Limits, MetIsNotYetShown) {
  const LatencyLimit limit{LatencyMeasure::end_to_end, 0.99, Nanos(100)};
  const std::vector<std::int64_t> few(458, 50);
  EXPECT_TRUE(check_limit(limit, few, 0).met);
  EXPECT_FALSE(check_limit(limit, few, 0).shown);
  const std::vector<std::int64_t> enough(459, 50);
  EXPECT_TRUE(check_limit(limit, enough, 0).shown);
}

TEST(Limits, TimePerTokenLeavesOutTheFirst) {
  QueryRecord record{.scheduled_ns = 10, .first_token_ns = 110, .done_ns = 510, .output_tokens = 5, .state = 2};
  EXPECT_EQ(measured(record, LatencyMeasure::first_token), 100);
  EXPECT_EQ(measured(record, LatencyMeasure::per_output_token), 100);
  EXPECT_EQ(measured(record, LatencyMeasure::end_to_end), 500);
  record.output_tokens = 1;
  EXPECT_EQ(measured(record, LatencyMeasure::per_output_token), std::nullopt);
  record.state = 3;
  EXPECT_EQ(measured(record, LatencyMeasure::end_to_end), std::nullopt);
}

/// A recorder with requests that were answered as told.
struct Recorded {
  struct Answer {
    std::int64_t first_token_ns;
    std::int64_t done_ns;
    RequestOutcome outcome = RequestOutcome::ok;
    std::vector<TokenArrival> arrivals;
  };
  explicit Recorded(const std::vector<Answer>& answers, std::uint32_t tokens = 10) {
    recorder.start_at(SteadyTime());
    for (std::uint64_t id = 0; id < answers.size(); ++id) {
      const Request request{.id = id, .scheduled = SteadyTime(Nanos(1000))};
      EXPECT_TRUE(recorder.take_down(std::span(&request, 1), SteadyTime(Nanos(1000))));
      recorder.complete(Completion{.id = id,
                                   .first_token = SteadyTime(Nanos(answers[id].first_token_ns)),
                                   .done = SteadyTime(Nanos(answers[id].done_ns)),
                                   .output_tokens = id == 0 ? tokens : 10,
                                   .outcome = answers[id].outcome,
                                   .token_times = answers[id].arrivals});
    }
    recorder.close();
  }
  QueryRecorder recorder{{.token_times = true}};
};

TEST(LoadResult, GoodputCountsRequestsWithinEveryLimit) {
  const Recorded recorded({{2000, 3000}, {9000, 9500}, {2000, 1'000'000'000}, {2000, 3000, RequestOutcome::error}});
  const LoadRules rules{.limits = {{LatencyMeasure::first_token, 0.99, Nanos(5000)},
                                   {LatencyMeasure::end_to_end, 0.99, Nanos(10'000'000)}}};
  const auto result = evaluate_load({.scenario = Scenario::offline, .min_queries = 4}, rules, recorded.recorder, {});
  EXPECT_NEAR(result.window_seconds, 1, 1e-9);
  EXPECT_NEAR(result.goodput_per_second, 1, 1e-9);
  EXPECT_NEAR(result.goodput_tokens_per_second, 10, 1e-9);
  EXPECT_NEAR(result.completed_per_second, 3, 1e-9);
  EXPECT_EQ(result.success_rate, 0.75);
}

TEST(LoadResult, ALimitOfWhatNoAnswerToldIsMissedAndSaysWhy) {
  const Recorded whole({{0, 3000}, {0, 3000}});
  const LoadRules rules{.limits = {{LatencyMeasure::first_token, 0.9, seconds(1)}}};
  const auto result = evaluate_load({.scenario = Scenario::offline, .min_queries = 2}, rules, whole.recorder, {});
  EXPECT_FALSE(result.valid);
  ASSERT_EQ(result.flags.size(), 1u);
  EXPECT_EQ(result.flags[0].kind, "limit_missed");
  EXPECT_THAT(result.flags[0].message, testing::HasSubstr("ttft_p90 is not known: answers that come whole"));
}

TEST(LoadResult, AnswersOfOneTokenAreNamedWhereTheTimePerTokenIsLimited) {
  const LoadRules rules{.limits = {{LatencyMeasure::per_output_token, 0.5, seconds(1)}}};
  const auto flags_of = [&](std::uint32_t tokens_of_first) {
    const Recorded recorded({{2000, 3000},
                             {2000, 3000},
                             {2000, 3000},
                             {2000, 3000},
                             {2000, 3000},
                             {2000, 3000},
                             {2000, 3000},
                             {2000, 3000}},
                            tokens_of_first);
    return evaluate_load({.scenario = Scenario::offline, .min_queries = 8}, rules, recorded.recorder, {}).flags;
  };
  EXPECT_THAT(flags_of(2), testing::IsEmpty());
  const auto flags = flags_of(1);
  ASSERT_EQ(flags.size(), 1u);
  EXPECT_EQ(flags[0].kind, "answers_of_one_token");
  EXPECT_THAT(flags[0].message, testing::HasSubstr("1 answers had fewer than two tokens"));
}

TEST(LoadResult, TokensThatCameTogetherShareTheirGap) {
  const auto at = [](std::int64_t ns) { return SteadyTime(Nanos(ns)); };
  const Recorded recorded({{2000, 2500, RequestOutcome::ok, {{at(2000), 1}, {at(2200), 2}, {at(2500), 1}}}});
  const auto result = evaluate_load({.scenario = Scenario::offline}, {}, recorded.recorder, {});
  EXPECT_EQ(result.inter_token.count, 3u);
  EXPECT_EQ(result.inter_token.min, 100);
  EXPECT_EQ(result.inter_token.max, 300);
}

TEST(LoadResult, LatenessIsToldOfEveryLoadAndJudgedByTheClock) {
  QueryRecorder recorder({});
  recorder.start_at(SteadyTime());
  const Request request{.id = 0, .scheduled = SteadyTime(Nanos(1000))};
  ASSERT_TRUE(recorder.take_down(std::span(&request, 1), SteadyTime(Nanos(1000))));
  recorder.complete(Completion{.id = 0, .sent = SteadyTime(seconds(1)), .done = SteadyTime(seconds(2))});
  recorder.close();
  for (const Scenario scenario : {Scenario::closed, Scenario::multi_stream, Scenario::offline}) {
    const auto result = evaluate_load({.scenario = scenario}, {}, recorder, {});
    EXPECT_EQ(result.lateness.p99, 999'999'000);
    EXPECT_FALSE(limited_by_client(result)) << name_of(scenario);
  }
  const auto result = evaluate_load({.scenario = Scenario::constant}, {}, recorder, {});
  EXPECT_EQ(result.lateness.p99, 999'999'000);
  EXPECT_TRUE(limited_by_client(result));
}

TEST(LoadResult, ASaturatedClientIsInvalidAndLimitsASearch) {
  const Recorded recorded({{2000, 3000}});
  LoadEnding ending;
  ending.client.busy_share = 0.89;
  const auto room = evaluate_load({.scenario = Scenario::closed}, {}, recorded.recorder, ending);
  EXPECT_TRUE(room.valid);
  EXPECT_FALSE(limited_by_client(room));
  ending.client.busy_share = 0.91;
  const auto full = evaluate_load({.scenario = Scenario::closed}, {}, recorded.recorder, ending);
  EXPECT_FALSE(full.valid);
  ASSERT_EQ(full.flags.size(), 1u);
  EXPECT_EQ(full.flags[0].kind, "client_saturated");
  EXPECT_TRUE(limited_by_client(full));
  ending.client = {.waited_share = 0.5};
  EXPECT_TRUE(limited_by_client(evaluate_load({.scenario = Scenario::closed}, {}, recorded.recorder, ending)));
}

TEST(LoadResult, AStarvedClientIsInvalid) {
  const Recorded recorded({{2000, 3000}});
  LoadEnding ending;
  EXPECT_TRUE(evaluate_load({.scenario = Scenario::offline}, {}, recorded.recorder, ending).valid);
  ending.client.waited_share = 0.009;
  EXPECT_TRUE(evaluate_load({.scenario = Scenario::offline}, {}, recorded.recorder, ending).valid);
  ending.client.waited_share = 0.011;
  const auto waited = evaluate_load({.scenario = Scenario::offline}, {}, recorded.recorder, ending);
  EXPECT_FALSE(waited.valid);
  EXPECT_EQ(waited.flags.at(0).kind, "client_starved");
  ending.client = {.stolen_share = 0.011};
  EXPECT_FALSE(evaluate_load({.scenario = Scenario::offline}, {}, recorded.recorder, ending).valid);
}

}  // namespace
}  // namespace assay
