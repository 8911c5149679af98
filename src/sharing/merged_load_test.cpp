#include "sharing/merged_load.h"

#include <gmock/gmock.h>

#include "loadgen/load_result.h"
#include "sharing/live_moment.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

QueryRecord record_at(std::int64_t scheduled_ns, std::int64_t takes_ns) {
  QueryRecord record;
  record.scheduled_ns = record.sent_ns = scheduled_ns;
  record.first_token_ns = scheduled_ns + takes_ns / 2;
  record.done_ns = scheduled_ns + takes_ns;
  record.output_tokens = 3;
  record.state = kEndedState;
  return record;
}

/// Client k of 3 with every third request of a hundred, a millisecond apart.
ClientPart part_with_requests(std::uint32_t index) {
  ClientPart part{.index = index, .host = "host" + std::to_string(index)};
  for (std::int64_t i = index; i < 100; i += 3) part.records.push_back(record_at(i * 1'000'000, 1'000'000 + i * 7919));
  part.tokens = {{1, {{10, 1}, {20, 2}}}};
  part.texts = {{0, "answer of " + std::to_string(index)}};
  part.ending.client = {.waited_share = 0.001 * index, .known = true};
  part.facts = {
      {"api", "chat"}, {"resent", 2}, {"problems", {{"busy", 1}}}, {"endpoints", {{{"address", "a"}, {"ok", 5}}}}};
  return part;
}

LoadPlan three_clients() { return {.scenario = Scenario::constant, .min_queries = 100, .share = {0, 3}}; }

std::vector<QueryRecord> nothing_lost(const LoadShare&) {
  ADD_FAILURE() << "nobody was lost";
  return {};
}

TEST(MergedLoad, IsTheScheduleAsOneClientWouldHaveSentIt) {
  MergedLoad merged =
      merge_parts(three_clients(), {part_with_requests(0), part_with_requests(1), part_with_requests(2)}, nothing_lost);
  ASSERT_EQ(merged.recorder->issued(), 100u);
  QueryRecorder alone({});
  for (std::int64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(alone.adopt(record_at(i * 1'000'000, 1'000'000 + i * 7919)));
    EXPECT_EQ(merged.recorder->record(static_cast<std::uint64_t>(i)).scheduled_ns, i * 1'000'000);
  }
  const LoadRules rules{.limits = {{LatencyMeasure::end_to_end, 0.9, milliseconds(10)}}};
  const LoadResult together = evaluate_load(three_clients(), rules, *merged.recorder, merged.ending);
  const LoadResult one = evaluate_load(three_clients(), rules, alone, {});
  EXPECT_EQ(together.sorted_latencies, one.sorted_latencies);
  EXPECT_EQ(together.first_token.p99, one.first_token.p99);
  EXPECT_EQ(together.per_output_token.p99, one.per_output_token.p99);
  EXPECT_EQ(together.limits[0].shown, one.limits[0].shown);
  EXPECT_EQ(together.completed_per_second, one.completed_per_second);
  EXPECT_THAT(together.flags, testing::IsEmpty());
}

TEST(MergedLoad, KeepsTokensTextsAndFacts) {
  const MergedLoad merged =
      merge_parts(three_clients(), {part_with_requests(0), part_with_requests(1), part_with_requests(2)}, nothing_lost);
  EXPECT_THAT(merged.recorder->texts(),
              testing::ElementsAre(testing::Pair(0, "answer of 0"), testing::Pair(1, "answer of 1"),
                                   testing::Pair(2, "answer of 2")));
  std::vector<std::uint64_t> ids;
  merged.recorder->tokens().for_each([&](std::uint64_t id, std::span<const TokenLog::Gap> gaps) {
    ids.push_back(id);
    EXPECT_THAT(gaps, testing::ElementsAre(TokenLog::Gap{10, 1}, TokenLog::Gap{20, 2}));
  });
  EXPECT_THAT(ids, testing::ElementsAre(3, 4, 5)) << "the second request of each client";
  EXPECT_EQ(merged.facts, json::parse(R"({"api": "chat", "resent": 6, "problems": {"busy": 3},
                                          "endpoints": [{"address": "a", "ok": 15}]})"));
}

TEST(MergedLoad, AccountsForEachClientByItsName) {
  const MergedLoad merged =
      merge_parts(three_clients(), {part_with_requests(0), part_with_requests(1), part_with_requests(2)}, nothing_lost);
  ASSERT_EQ(merged.ending.clients.size(), 3u);
  EXPECT_EQ(merged.ending.clients[0].requests, 34u);
  EXPECT_EQ(merged.ending.clients[2].requests, 33u);
  EXPECT_EQ(merged.ending.clients[1].name, "client 1 on host1");
  EXPECT_DOUBLE_EQ(merged.ending.client.waited_share, 0.002) << "the worst";
}

TEST(MergedLoad, ALostClientsRequestsAreLostAndMakeItInvalid) {
  ClientPart lost{.index = 2, .host = "host2", .lost = "the connection was closed"};
  const MergedLoad merged =
      merge_parts(three_clients(), {part_with_requests(0), part_with_requests(1), lost}, [](const LoadShare& share) {
        EXPECT_EQ(share.index, 2u);
        EXPECT_EQ(share.count, 3u);
        LoadPlan plan = three_clients();
        plan.share = share;
        ConstantArrivals arrivals(1000);
        SamplesInOrder order(1000);
        return lost_share(plan, &arrivals, order, Nanos::max());
      });
  const LoadResult result = evaluate_load(three_clients(), {}, *merged.recorder, merged.ending);
  EXPECT_EQ(result.measured, 100u);
  EXPECT_EQ(result.outcomes[static_cast<std::size_t>(RequestOutcome::lost)], 33u);
  EXPECT_EQ(merged.recorder->record(2).scheduled_ns, 2'000'000);
  EXPECT_EQ(merged.recorder->record(2).sample, 2u) << "what it would have asked for";
  EXPECT_FALSE(result.valid);
  ASSERT_FALSE(result.flags.empty());
  EXPECT_EQ(result.flags[0].kind, "client_lost");
  EXPECT_EQ(result.flags[0].about, "client 2 on host2");
}

TEST(MergedLoad, WhatMakesAClientUnfitIsSaidOfIt) {
  std::vector<ClientPart> parts = {part_with_requests(0), part_with_requests(1), part_with_requests(2)};
  for (auto& record : parts[0].records) record.sent_ns += 50'000'000;
  parts[1].ending.client.waited_share = 0.5;
  parts[2].clock.bound = milliseconds(40);
  parts[2].ending.began_late = std::chrono::seconds(1);
  const MergedLoad merged = merge_parts(three_clients(), std::move(parts), nothing_lost);
  const LoadRules rules{.limits = {{LatencyMeasure::end_to_end, 0.9, milliseconds(1000)}}};
  const LoadResult result = evaluate_load(three_clients(), rules, *merged.recorder, merged.ending);
  std::vector<std::string> found;
  for (const auto& flag : result.flags) found.push_back(flag.kind + ": " + flag.about);
  EXPECT_THAT(found, testing::IsSupersetOf({"client_late: client 0 on host0", "client_starved: client 1 on host1",
                                            "client_late: client 2 on host2", "clocks_apart: client 2 on host2"}));
  EXPECT_FALSE(result.valid);
}

TEST(ClientPart, TravelsInFramesOfBoundedSize) {
  ClientPart part = part_with_requests(1);
  for (int i = 0; i < 60'000; ++i) part.records.push_back(record_at(i, i));
  part.texts.emplace_back(7, std::string(3 << 20, 'x'));
  part.faults = 4;
  part.ending.began_late = Nanos(17);
  PartReader reader;
  bool last = false;
  const auto sent = send_part(part, [&](FrameType type, std::string_view payload) -> Result<void> {
    EXPECT_LE(payload.size(), kMostPayload);
    EXPECT_FALSE(last);
    ASSAY_TRY(last, reader.take({type, std::string(payload)}));
    return {};
  });
  ASSERT_TRUE(sent.ok()) << sent.error().text();
  EXPECT_TRUE(last);
  const ClientPart& got = reader.part();
  ASSERT_EQ(got.records.size(), part.records.size());
  EXPECT_EQ(std::memcmp(got.records.data(), part.records.data(), part.records.size() * sizeof(QueryRecord)), 0);
  EXPECT_EQ(got.tokens, part.tokens);
  EXPECT_EQ(got.texts, part.texts);
  EXPECT_EQ(got.facts, part.facts);
  EXPECT_EQ(got.faults, 4u);
  EXPECT_EQ(got.ending.began_late, Nanos(17));
}

TEST(ClientPart, ThatCannotBeIsRefused) {
  QueryRecord unfinished = record_at(1, 1);
  unfinished.state = 1;
  PartReader reader;
  const auto bytes = [](const QueryRecord& record) {
    return std::string(reinterpret_cast<const char*>(&record), sizeof record);
  };
  EXPECT_FALSE(reader.take({FrameType::records, bytes(unfinished)}).ok());
  EXPECT_FALSE(reader.take({FrameType::records, bytes(record_at(1, 1)).substr(1)}).ok());
  EXPECT_FALSE(reader.take({FrameType::tokens, std::string(12, '\x7f')}).ok());
  EXPECT_FALSE(reader.take({FrameType::welcome, ""}).ok());
}

TEST(LiveMoments, OfSeveralClientsAreOne) {
  std::vector<std::int64_t> many(1000, 5'000'000);
  std::vector<std::int64_t> few = {1'000'000};
  const std::vector<LiveMoment> moments = {
      {.sent = 10, .ok = 8, .failed = 1, .in_flight = 3, .latency = live_values(many)},
      {.sent = 20, .ok = 20, .in_flight = 4, .latency = live_values(few)}};
  EXPECT_EQ(live_moment_from_json(to_json(moments[0])).value(), moments[0]);
  const json::object metrics = live_metrics(moments, std::chrono::seconds(2));
  EXPECT_EQ(metrics.at("requests_sent_per_second").to_number<double>(), 15);
  EXPECT_EQ(metrics.at("requests_in_flight").to_number<int>(), 7);
  EXPECT_DOUBLE_EQ(metrics.at("latency_seconds").to_number<double>(), 0.005) << "a thousand values outweigh one";
  EXPECT_DOUBLE_EQ(metrics.at("latency_live_p99_seconds").to_number<double>(), 0.005);
}

TEST(LiveMoments, HaveATail) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= 200; ++i) values.push_back(i * 1'000'000);
  const LiveMoment moment{.ok = 200, .first_token = live_values(values)};
  const json::object metrics = live_metrics(std::span(&moment, 1), std::chrono::seconds(1));
  EXPECT_DOUBLE_EQ(metrics.at("ttft_seconds").to_number<double>(), 0.101);
  EXPECT_DOUBLE_EQ(metrics.at("ttft_live_p99_seconds").to_number<double>(), 0.199);
  EXPECT_FALSE(metrics.contains("tpot_live_p99_seconds")) << "nothing was measured";
}

}  // namespace
}  // namespace assay
