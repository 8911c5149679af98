#include "http/series_answer.h"

#include <cmath>
#include <limits>

#include "leader/leader_fixture.h"
#include "store/bucket_answer.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

SeriesAnswer full_answer() {
  SeriesAnswer answer{.range = {.from_ns = 1'000'000'000, .to_ns = 61'000'000'000},
                      .width_ns = 30'000'000'000,
                      .tier = SeriesTier::minute,
                      .problems = {"a chunk is damaged"}};
  answer.rows.push_back(
      {.series = {.key = {.name = "gpu.util", .labels = {{"gpu", "GPU-\"1\""}, {"node", "gpu01"}}}, .unit = "ratio"},
       .buckets = {{.start_ns = 1'000'000'000, .min = 0.25, .max = 1, .sum = 2.5, .count = 4}}});
  answer.rows.push_back({.series = {.key = {.name = "empty"}, .unit = "°C"}});
  return answer;
}

TEST(SeriesAnswerJson, ComesBackAsItWas) {
  const auto read = parse_answer_json(answer_json(full_answer()));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->range.from_ns, 1'000'000'000);
  EXPECT_EQ(read->range.to_ns, 61'000'000'000);
  EXPECT_EQ(read->width_ns, 30'000'000'000);
  EXPECT_EQ(read->tier, SeriesTier::minute);
  EXPECT_THAT(read->problems, ElementsAre("a chunk is damaged"));
  ASSERT_THAT(read->rows, SizeIs(2));
  EXPECT_EQ(read->rows[0].series.key, full_answer().rows[0].series.key);
  EXPECT_EQ(read->rows[0].series.unit, "ratio");
  EXPECT_EQ(read->rows[1].series.unit, "°C");
  ASSERT_THAT(read->rows[0].buckets, SizeIs(1));
  const auto& bucket = read->rows[0].buckets[0];
  EXPECT_EQ(bucket.start_ns, 1'000'000'000);
  EXPECT_EQ(bucket.min, 0.25);
  EXPECT_EQ(bucket.max, 1);
  EXPECT_EQ(bucket.mean(), 0.625);
  EXPECT_EQ(bucket.count, 4u);
}

TEST(SeriesAnswerJson, WhatIsNoNumberIsNullAndComesBackAsNone) {
  auto answer = full_answer();
  answer.rows[0].buckets[0].max = std::numeric_limits<double>::infinity();
  answer.rows[0].buckets[0].sum = std::numeric_limits<double>::quiet_NaN();
  const std::string text = answer_json(answer);
  EXPECT_THAT(text, testing::HasSubstr("[1000,0.25,null,null,4]"));
  const auto read = parse_answer_json(text);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::isnan(read->rows[0].buckets[0].max));
  EXPECT_TRUE(std::isnan(read->rows[0].buckets[0].mean()));
}

TEST(SeriesAnswerJson, AllElseIsRefused) {
  const std::string good = answer_json(full_answer());
  ASSERT_TRUE(parse_answer_json(good).ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), with("minute", "second"), with("[1000,", "["),
        with("\"gpu01\"", "5"), with("\"from_ms\":1000", "\"from_ms\":9223372036854775807"),
        with("\"to_ms\":61000", "\"to_ms\":-9223372036854775808"), with("\"width_ms\":30000", "\"width_ms\":1e300"),
        with("[1000,", "[1e300,"), with("[1000,", "[null,"), with(",4]", ",1e300]"), with(",4]", ",-1]"),
        with(",4]", ",null]")}) {
    const auto read = parse_answer_json(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().kind, ErrorKind::bad_file) << text;
  }
}

}  // namespace
}  // namespace assay
