#include "loadgen/query_recorder.h"

#include <thread>

namespace assay {
namespace {

constexpr SteadyTime kStart{std::chrono::hours(2)};

std::vector<Request> some_requests(std::uint64_t first, std::size_t count) {
  std::vector<Request> requests(count);
  for (std::size_t i = 0; i < count; ++i) {
    requests[i] = {.id = first + i, .sample = static_cast<std::uint32_t>(i), .scheduled = kStart + Nanos(10 * i)};
  }
  return requests;
}

TEST(QueryRecorder, KeepsWhatWasReported) {
  QueryRecorder recorder({});
  recorder.start_at(kStart);
  ASSERT_TRUE(recorder.take_down(some_requests(0, 3), kStart + Nanos(100)));
  EXPECT_EQ(recorder.in_flight(), 3u);
  EXPECT_EQ(recorder.ended(1), nullptr);
  recorder.complete(Completion{.id = 1,
                               .first_token = kStart + Nanos(400),
                               .done = kStart + Nanos(1000),
                               .input_tokens = 5,
                               .output_tokens = 7,
                               .endpoint = 3});
  ASSERT_NE(recorder.ended(1), nullptr);
  const QueryRecord& record = *recorder.ended(1);
  EXPECT_TRUE(record.ok());
  EXPECT_EQ(record.scheduled_ns, 10);
  EXPECT_EQ(record.sent_ns, 100);
  EXPECT_EQ(record.first_token_ns, 400);
  EXPECT_EQ(record.latency_ns(), 990);
  EXPECT_EQ(record.endpoint, 3);
  EXPECT_EQ(recorder.in_flight(), 2u);
  EXPECT_EQ(recorder.close(), 2u);
  EXPECT_EQ(recorder.record(0).outcome(), RequestOutcome::lost);
}

TEST(QueryRecorder, CountsFaultsOfTheTarget) {
  QueryRecorder recorder({});
  recorder.start_at(kStart);
  ASSERT_TRUE(recorder.take_down(some_requests(0, 1), kStart));
  recorder.complete(Completion{.id = 0, .done = kStart + Nanos(1)});
  recorder.complete(Completion{.id = 0, .done = kStart + Nanos(2), .outcome = RequestOutcome::timeout});
  recorder.complete(Completion{.id = 9, .done = kStart + Nanos(2)});
  EXPECT_EQ(recorder.faults(), 2u);
  EXPECT_EQ(recorder.in_flight(), 0u);
  EXPECT_TRUE(recorder.record(0).ok());
}

TEST(QueryRecorder, GrowsAsLongAsRequestsComeAndTakesAnswersFromAllSides) {
  constexpr std::uint64_t kRequests = 100'000;
  QueryRecorder recorder({});
  recorder.start_at(kStart);
  std::vector<std::jthread> answering;
  for (std::uint64_t worker = 0; worker < 3; ++worker) {
    answering.emplace_back([&recorder, worker] {
      for (std::uint64_t id = worker; id < kRequests; id += 3) {
        while (recorder.issued() <= id) std::this_thread::yield();
        recorder.complete(Completion{.id = id, .done = kStart + Nanos(static_cast<std::int64_t>(id) + 5)});
      }
    });
  }
  for (std::uint64_t id = 0; id < kRequests; id += 1000) {
    ASSERT_TRUE(recorder.take_down(some_requests(id, 1000), kStart));
    recorder.get_ready();
  }
  answering.clear();
  EXPECT_EQ(recorder.close(), 0u);
  EXPECT_EQ(recorder.faults(), 0u);
  for (std::uint64_t id = 0; id < kRequests; id += 777) {
    EXPECT_EQ(recorder.record(id).done_ns, static_cast<std::int64_t>(id) + 5);
  }
  EXPECT_LE(recorder.bytes() / kRequests, 64u);
}

TEST(QueryRecorder, AnswersAreKeptWhereTheyAreWanted) {
  QueryRecorder recorder({.texts = true});
  recorder.start_at(kStart);
  ASSERT_TRUE(recorder.take_down(some_requests(0, 1), kStart));
  recorder.complete(Completion{.id = 0, .done = kStart, .text = "hello"});
  EXPECT_THAT(recorder.texts(), testing::ElementsAre(testing::Pair(0u, "hello")));
}

TEST(TokenLog, GivesBackEveryGap) {
  TokenLog log;
  std::vector<TokenArrival> arrivals(1000);
  for (std::size_t i = 0; i < arrivals.size(); ++i)
    arrivals[i] = {kStart + Nanos(i * i), 1 + static_cast<std::uint32_t>(i % 3)};
  for (std::uint64_t id = 0; id < 500; ++id) log.add(id, std::span(arrivals).first(id + 1));
  std::uint64_t next = 0;
  log.for_each([&](std::uint64_t id, std::span<const TokenLog::Gap> gaps) {
    EXPECT_EQ(id, next++);
    ASSERT_EQ(gaps.size(), id);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      EXPECT_EQ(gaps[i].ns, static_cast<std::int64_t>(2 * i + 1));
      EXPECT_EQ(gaps[i].tokens, 1 + (i + 1) % 3);
    }
  });
  EXPECT_EQ(next, 500u);
  EXPECT_EQ(log.left_out(), 0u);
}

TEST(TokenLog, TakesFromManyThreads) {
  TokenLog log;
  std::vector<std::jthread> adding;
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    adding.emplace_back([&log, worker] {
      const std::vector<TokenArrival> arrivals(worker + 40, TokenArrival{kStart, 2});
      for (std::uint64_t i = 0; i < 5'000; ++i) log.add(worker * 5'000 + i, arrivals);
    });
  }
  adding.clear();
  std::vector<bool> seen(20'000);
  log.for_each([&](std::uint64_t id, std::span<const TokenLog::Gap> gaps) {
    EXPECT_FALSE(seen.at(id));
    seen.at(id) = true;
    EXPECT_EQ(gaps.size(), id / 5'000 + 39);
  });
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 20'000);
}

}  // namespace
}  // namespace assay
