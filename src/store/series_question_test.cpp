#include "store/series_question.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

const WallTime kAsked = WallTime(std::chrono::seconds(1'760'000'000));
constexpr std::int64_t kSecond = 1'000'000'000;

SeriesQuery good(std::string_view text) {
  auto query = parse_series_question(text, kAsked);
  EXPECT_TRUE(query) << text << ": " << (query ? "" : query.error().text());
  return query ? *query : SeriesQuery{};
}

std::string question_mistake(std::string_view text) {
  const auto query = parse_series_question(text, kAsked);
  if (query) return "no mistake";
  EXPECT_EQ(query.error().kind, ErrorKind::usage);
  return query.error().message;
}

TEST(SeriesQuestion, ReadsNameLabelsAndTime) {
  const auto query = good("gpu.util node=gpu03 last=2h points=100");
  EXPECT_EQ(query.selector.name, "gpu.util");
  ASSERT_EQ(query.selector.labels.size(), 1U);
  EXPECT_EQ(query.selector.labels[0].label, "node");
  EXPECT_EQ(query.selector.labels[0].value, "gpu03");
  EXPECT_EQ(query.selector.labels[0].test, LabelMatch::Test::equals);
  EXPECT_EQ(query.range.to_ns, kAsked.time_since_epoch().count());
  EXPECT_EQ(query.range.to_ns - query.range.from_ns, 7200 * kSecond);
  EXPECT_EQ(query.max_points, 100U);
}

TEST(SeriesQuestion, HasDefaults) {
  const auto query = good("");
  EXPECT_TRUE(query.selector.name.empty());
  EXPECT_EQ(query.range.to_ns - query.range.from_ns, 3600 * kSecond);
  EXPECT_EQ(query.max_points, 500U);
}

TEST(SeriesQuestion, LabelsHaveFourTests) {
  const auto query = good("a=1 b!=2 c=x* d=* e=\"two words\"");
  ASSERT_EQ(query.selector.labels.size(), 5U);
  EXPECT_EQ(query.selector.labels[1].test, LabelMatch::Test::differs);
  EXPECT_EQ(query.selector.labels[1].label, "b");
  EXPECT_EQ(query.selector.labels[2].test, LabelMatch::Test::starts_with);
  EXPECT_EQ(query.selector.labels[2].value, "x");
  EXPECT_EQ(query.selector.labels[3].test, LabelMatch::Test::present);
  EXPECT_EQ(query.selector.labels[4].value, "two words");
}

TEST(SeriesQuestion, TimesCanBeGiven) {
  const auto query = good("x from=2025-10-09T08:00:00Z to=2025-10-09T08:53:20Z width=1min");
  EXPECT_EQ(query.range.to_ns - query.range.from_ns, 3200 * kSecond);
  EXPECT_EQ(query.width_ns, 60 * kSecond);
  EXPECT_EQ(query.max_points, 0U);
}

TEST(SeriesQuestion, MistakesAreNamed) {
  EXPECT_EQ(question_mistake("gpu.util gpu.power_w"), "'gpu.power_w' is a second metric after 'gpu.util'");
  EXPECT_EQ(question_mistake("x last=5"), "'last=5' has no unit. Write '5s' or '5ms'.");
  EXPECT_EQ(question_mistake("x last=0s"), "'last=0s' must be above 0");
  EXPECT_EQ(question_mistake("x last=1h from=2025-10-09T08:00:00Z"), "'last' does not go with 'from' and 'to'");
  EXPECT_EQ(question_mistake("x to=2025-10-09T08:00:00Z"), "'to' needs 'from'");
  EXPECT_EQ(question_mistake("x from=yesterday"), "'from=yesterday' is no time");
  EXPECT_EQ(question_mistake("x from=2025-10-09T08:00:00Z to=2025-10-09T07:00:00Z"), "the time begins after it ends");
  EXPECT_EQ(question_mistake("x last=1h last=2h"), "'last' is given twice");
  EXPECT_EQ(question_mistake("x node=a node=b"), "'node' is given twice");
  EXPECT_EQ(question_mistake("x width=1min points=5"), "'width' does not go with 'points'");
  EXPECT_EQ(good("x device!=sda device!=sdb").selector.labels.size(), 2U);
  EXPECT_EQ(question_mistake("x points=0"), "'points=0' must be a number from 1 to 100000");
  EXPECT_EQ(question_mistake("=x"), "'=x' has no label before '='");
  EXPECT_EQ(question_mistake("a!=x*"), "'a!=x*': '*' goes with '=' only");
  EXPECT_EQ(question_mistake("a=\"x"), "a double quote is opened and not closed");
}

}  // namespace
}  // namespace assay
