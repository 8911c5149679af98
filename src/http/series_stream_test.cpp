#include "http/series_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/byte_stream.h"
#include "http/series_answer.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/http_message.h"
#include "net/peak_memory_fixture.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "net/url.h"
#include "store/bucket_answer.h"
#include "store/series/embedded_series_store.h"
#include "store/series_expected_fixture.h"
#include "store/series_store.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSeconds = kSecondNs;
constexpr Nanos kDay = std::chrono::hours(24);

/// What a client would read of a response, and in how many pieces.
struct Read {
  std::string text;
  std::size_t pieces = 0;
  std::size_t longest = 0;
};

Read read(const HttpResponse& response) {
  Read got{.text = response.body};
  if (!response.body_source) return got;
  EXPECT_TRUE(pour(*response.body_source, [&](std::string_view piece) {
                got.text += piece;
                ++got.pieces;
                got.longest = std::max(got.longest, piece.size());
                return Result<void>();
              }).ok());
  return got;
}

/// Rows as texts that can be compared, whatever their order.
std::vector<std::string> rows_of(const SeriesAnswer& answer) {
  std::vector<std::string> rows;
  for (const auto& row : answer.rows) {
    SeriesAnswer alone{.range = answer.range, .width_ns = answer.width_ns, .tier = answer.tier, .rows = {row}};
    rows.push_back(answer_json(alone));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

class SeriesStream : public testing::Test {
 protected:
  SeriesStream() {
    options_.keep = {kDay, 90 * kDay, 730 * kDay};
    options_.clock = &clock_;
    open();
  }
  void open() {
    store_.reset();
    store_ = open_series_store(folder_.path() / "series", options_).value();
  }

  /// Upkeep as a leader does it, with news coming in.
  void live_for(int hours) {
    for (int hour = 0; hour < hours; ++hour) {
      clock_.advance(std::chrono::hours(1));
      put("now", {}, 1, 1, clock_.wall().time_since_epoch().count());
      for (bool more = true; more;) more = store_->maintain(clock_.wall()).value().more;
    }
  }

  void put(const std::string& name, std::map<std::string, std::string> labels, std::int64_t count,
           std::int64_t step_ns = kSeconds, std::int64_t from_ns = kStart) {
    SeriesBatch batch{.key = {.name = name, .labels = {labels.begin(), labels.end()}}, .unit = "ratio"};
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = i % 97 == 5 ? std::nan("") : static_cast<double>((i * 31 + std::ssize(name)) % 1000) / 8;
      batch.points.push_back({from_ns + i * step_ns, value});
    }
    ASSERT_TRUE(store_->append(std::vector<SeriesBatch>{batch}).ok());
  }
  void put_some() {
    for (const char* node : {"gpu01", "gpu02", "gpu03"}) {
      for (const char* gpu : {"a", "b"}) put("gpu.util", {{"node", node}, {"gpu", gpu}}, 5000);
      put("host.load", {{"node", node}}, 3000, 2 * kSeconds);
    }
    put("gpu.util", {{"node", "gpu04"}}, 700);
    put("gpu.util", {}, 10);
    put("rare", {{"node", "gpu01"}}, 3, 3000 * kSeconds);
    put("later", {{"node", "gpu01"}}, 100, kSeconds, kStart + 5 * kHourNs);
  }
  /// Streamed in small pieces, it is the same as whole.
  void expect_same(const SeriesQuery& query) {
    const auto whole = store_->query(query);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    for (const std::size_t piece : {7, 100, 100'000}) {
      const auto response = answer_query(*store_, query, {.whole_buckets = 0, .piece_buckets = piece});
      ASSERT_TRUE(response.ok()) << response.error().text();
      ASSERT_TRUE(response->body_source != nullptr);
      const auto streamed = parse_answer_json(read(*response).text);
      ASSERT_TRUE(streamed.ok()) << streamed.error().text();
      EXPECT_EQ(streamed->range.from_ns, whole->range.from_ns);
      EXPECT_EQ(streamed->range.to_ns, whole->range.to_ns);
      EXPECT_EQ(streamed->width_ns, whole->width_ns);
      EXPECT_EQ(streamed->tier, whole->tier);
      // By way of JSON as well: what it rounds is rounded in both.
      EXPECT_EQ(rows_of(*streamed), rows_of(*parse_answer_json(answer_json(*whole)))) << piece;
    }
  }

  TemporaryFolder folder_;
  ManualClock clock_{WallTime(Nanos(kStart + 24 * kHourNs))};
  SeriesStoreOptions options_;
  std::unique_ptr<SeriesStore> store_;
};

TEST_F(SeriesStream, PieceByPieceItIsTheSame) {
  put_some();
  const TimeRange hours{kStart, kStart + 6 * kHourNs};
  for (const bool flushed : {false, true}) {
    ASSERT_TRUE(!flushed || store_->flush().ok());
    expect_same({.selector = {}, .range = hours, .width_ns = 10 * kSeconds, .max_points = 0});
    expect_same({.selector = {.name = "gpu.util"}, .range = hours, .width_ns = kSeconds, .max_points = 0});
    expect_same({.selector = {}, .range = hours});
    expect_same({.selector = {}, .range = {kStart + 100, kStart + kHourNs + 7}, .max_points = 50});
    expect_same({.selector = {}, .range = hours, .width_ns = kHourNs, .max_points = 0});
    expect_same({.selector = {.name = "gpu.util", .labels = {{"gpu", LabelMatch::Test::differs, "b"}}},
                 .range = {kStart, kStart + kHourNs / 4},
                 .width_ns = 100'000'000,
                 .max_points = 0});
  }
}

TEST_F(SeriesStream, ASmallOneIsMadeAtOnce) {
  put_some();
  const auto response = answer_query(*store_, {.selector = {.name = "host.load"}, .range = {kStart, kStart + kHourNs}});
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->body_source, nullptr);
  EXPECT_EQ(parse_answer_json(response->body)->rows.size(), 3U);
  const auto nothing = answer_query(*store_, {.selector = {.name = "unheard.of"}, .range = {kStart, kStart + kHourNs}});
  EXPECT_EQ(parse_answer_json(nothing->body)->rows.size(), 0U);
}

TEST_F(SeriesStream, ALargeOneComesInPiecesOfModerateSize) {
  for (int i = 0; i < 20; ++i) put("gpu.util", {{"gpu", std::to_string(i)}}, 7200);
  put("one", {}, 60'000);
  for (const char* name : {"gpu.util", "one"}) {
    const auto response = answer_query(
        *store_,
        {.selector = {.name = name}, .range = {kStart, kStart + 20 * kHourNs}, .width_ns = kSeconds, .max_points = 0});
    ASSERT_TRUE(response.ok());
    const Read got = read(*response);
    EXPECT_GT(got.text.size(), 2'000'000U);
    EXPECT_GT(got.pieces, 5U);
    EXPECT_LT(got.longest, 600'000U);
  }
}

TEST_F(SeriesStream, TooLargeAQuestionIsRefusedBeforeItIsRead) {
  options_.max_answer_points = 30'000;
  open();
  put_some();
  SeriesQuery query{.range = {kStart, kStart + 6 * kHourNs}, .width_ns = kSeconds, .max_points = 0};
  const auto refused = answer_query(*store_, query, {.whole_buckets = 100});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 30000 buckets"));
  query.selector.name = "rare";
  query.width_ns = kSeconds / 2;
  EXPECT_TRUE(answer_query(*store_, query, {.whole_buckets = 100}).ok()) << "43,200 buckets, but only three points";
  query.width_ns = 1;
  query.range = {};
  EXPECT_TRUE(answer_query(*store_, query).ok());
}

TEST_F(SeriesStream, NarrowBucketsWithoutPointsCostNothing) {
  put_some();
  expect_same({.selector = {}, .range = {kStart, kStart + 20 * kHourNs}, .width_ns = 1'000'000, .max_points = 0});
}

TEST_F(SeriesStream, SeriesThatComeMeanwhileAreLeftOut) {
  put_some();
  const auto response = answer_query(*store_, {.range = {kStart, kStart + kHourNs}}, {.whole_buckets = 0});
  ASSERT_TRUE(response.ok());
  put("host.load", {{"node", "gpu99"}}, 10);
  const auto answer = parse_answer_json(read(*response).text);
  ASSERT_TRUE(answer.ok());
  for (const auto& row : answer->rows)
    EXPECT_FALSE(row.series.key.labels.contains("node") && row.series.key.labels.at("node") == "gpu99");
}

TEST_F(SeriesStream, WhatExpiresMeanwhileDoesNotBreakIt) {
  put("gpu.util", {}, 5000);
  const SeriesQuery query{
      .selector = {.name = "gpu.util"}, .range = {kStart, kStart + 2 * kHourNs}, .width_ns = kSeconds, .max_points = 0};
  const auto response = answer_query(*store_, query, {.whole_buckets = 0, .piece_buckets = 1000});
  ASSERT_TRUE(response.ok());
  ASSERT_TRUE(store_->erase(query.selector, {kStart, kStart + 1000 * kSeconds}).ok());
  const auto answer = parse_answer_json(read(*response).text);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->rows.size(), 1U);
  EXPECT_EQ(answer->rows[0].buckets.size(), 4000U);
}

TEST_F(SeriesStream, RetentionMeanwhileLeavesTheBucketsAsTheyWere) {
  put("gpu.util", {}, 8640, 10 * kSeconds);
  live_for(3);
  for (const std::size_t piece : {500, 100'000}) {
    const std::int64_t oldest = clock_.wall().time_since_epoch().count() - 23 * kHourNs;
    const auto response = answer_query(*store_,
                                       {.selector = {.name = "gpu.util"},
                                        .range = {oldest, kStart + kDayNs},
                                        .width_ns = 10 * kSeconds,
                                        .max_points = 0},
                                       {.whole_buckets = 0, .piece_buckets = piece});
    ASSERT_TRUE(response.ok());
    live_for(3);
    const auto answer = parse_answer_json(read(*response).text);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->tier, SeriesTier::raw);
    ASSERT_EQ(answer->rows.size(), 1U);
    const auto& buckets = answer->rows[0].buckets;
    EXPECT_GT(buckets.front().start_ns, oldest) << "some have expired";
    EXPECT_EQ(buckets.back().start_ns, kStart + kDayNs - 10 * kSeconds);
    for (std::size_t i = 1; i < buckets.size(); ++i) {
      ASSERT_EQ(buckets[i].start_ns - buckets[i - 1].start_ns, 10 * kSeconds);
    }
  }
}

/// Answers over HTTP, and what the process takes for them meanwhile.
class ServedSeriesStream : public SeriesStream {
 protected:
  /// A node's two hours at 1 s: some 260 kB of JSON for each series.
  void serve_two_hours_of(int series) {
    for (int i = 0; i < series; ++i) put("metric" + std::to_string(i), {{"node", "gpu01"}}, 7200);
    Router router;
    router.get("/query", [this](const HttpRequest&) {
      auto response =
          answer_query(*store_, {.range = {kStart, kStart + 2 * kHourNs}, .width_ns = kSeconds, .max_points = 0});
      return response ? std::move(*response) : HttpResponse::text(500, response.error().text());
    });
    server_ = start_server(std::move(router));
  }
  /// How many bytes it has, none of them kept.
  std::size_t receive() {
    auto client = HttpClient::create({.host = "127.0.0.1", .port = port_of(*server_), .target = "/"}, {});
    std::size_t bytes = 0;
    const auto got =
        (*client)->receive({.target = "/query", .time = std::chrono::minutes(4)}, [&](std::string_view piece) {
          bytes += piece.size();
          return Result<void>();
        });
    EXPECT_TRUE(got.ok() && got->status == 200);
    return bytes;
  }

  std::unique_ptr<HttpServer> server_;
};

// Asked for by many at once: 10 MB for each.
TEST_F(ServedSeriesStream, ManyLargeAnswersAtOnceTakeLittleMemory) {
  const int clients = kInstrumented ? 2 : 16;
  serve_two_hours_of(40);
  const PeakMemory peak;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([&] { EXPECT_GT(receive(), 10'000'000U); });
    }
  }
  RecordProperty("peak_kib", static_cast<int>(peak.kib()));
  EXPECT_TRUE(kInstrumented || peak.kib() < (64 << 10)) << peak.kib() << " KiB more";
}

TEST_F(ServedSeriesStream, OneVeryLargeAnswerTakesLittleMemory) {
  serve_two_hours_of(kInstrumented ? 25 : 240);
  const PeakMemory peak;
  EXPECT_GT(receive(), kInstrumented ? 5'000'000U : 60'000'000U);
  RecordProperty("peak_kib", static_cast<int>(peak.kib()));
  EXPECT_TRUE(kInstrumented || peak.kib() < (16 << 10)) << peak.kib() << " KiB more";
}

}  // namespace
}  // namespace assay
