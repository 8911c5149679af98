#include "store/run_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;
using Op = Condition::Op;

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

Condition one(std::string_view text) {
  const auto conditions = parse_conditions(text, kNow);
  EXPECT_TRUE(conditions.ok()) << conditions.error().text();
  EXPECT_EQ(conditions->size(), 1U);
  return conditions->at(0);
}

std::string mistake(std::string_view text) {
  const auto conditions = parse_conditions(text, kNow);
  EXPECT_FALSE(conditions.ok());
  EXPECT_EQ(conditions.error().kind, ErrorKind::usage);
  return conditions.error().message;
}

TEST(Conditions, EveryOperator) {
  EXPECT_EQ(one("name=x").op, Op::equal);
  EXPECT_EQ(one("name!=x").op, Op::not_equal);
  EXPECT_EQ(one("name~x").op, Op::contains);
  EXPECT_EQ(one("name^=x").op, Op::starts_with);
  EXPECT_EQ(one("ranks<4").op, Op::less);
  EXPECT_EQ(one("ranks<=4").op, Op::less_equal);
  EXPECT_EQ(one("ranks>4").op, Op::greater);
  EXPECT_EQ(one("ranks>=4").op, Op::greater_equal);
  EXPECT_EQ(one("name!=x").field, "name");
  EXPECT_EQ(one("name!=x").text, "x");
  EXPECT_EQ(one("ranks>=4").number, 4);
}

TEST(Conditions, SeveralAndQuoted) {
  const auto conditions =
      parse_conditions("  verdict=valid\ttag='owner=ada lovelace' name=\"a>b\" metrics.loss<0.5 ", kNow);
  ASSERT_TRUE(conditions.ok()) << conditions.error().text();
  ASSERT_EQ(conditions->size(), 4U);
  EXPECT_EQ((*conditions)[1].field, "tag");
  EXPECT_EQ((*conditions)[1].text, "owner=ada lovelace");
  EXPECT_EQ((*conditions)[2].op, Op::equal);
  EXPECT_EQ((*conditions)[2].text, "a>b");
  EXPECT_EQ((*conditions)[3].field, "metrics.loss");
  EXPECT_EQ((*conditions)[3].number, 0.5);
  EXPECT_TRUE(parse_conditions("", kNow)->empty());
  EXPECT_EQ(one("name=").text, "");
}

TEST(Conditions, NamesHaveBlanks) {
  const auto conditions = parse_conditions("name=my first run verdict=valid variant=shorter + bigger batch", kNow);
  ASSERT_TRUE(conditions.ok()) << conditions.error().text();
  ASSERT_EQ(conditions->size(), 3U);
  EXPECT_EQ((*conditions)[0].text, "my first run");
  EXPECT_EQ((*conditions)[1].text, "valid");
  EXPECT_EQ((*conditions)[2].text, "shorter + bigger batch");
  EXPECT_THAT(mistake("name='quoted' more"), HasSubstr("'more' is no condition"));
}

TEST(Conditions, AgesAsEverybodyWritesThem) {
  EXPECT_EQ(one("last=5m").field, "created");
  EXPECT_EQ(one("last=5m").op, Op::greater_equal);
  EXPECT_EQ(one("last=5m").number, 1'800'000'000 - 300);
  EXPECT_EQ(one("created>5m").number, 1'800'000'000 - 300);
}

TEST(Conditions, TimesAndDurations) {
  EXPECT_EQ(one("created>2d").number, 1'800'000'000 - 2 * 86400);
  EXPECT_EQ(one("created>2d").op, Op::greater);
  EXPECT_EQ(one("created<2027-01-15T08:00:00Z").number, 1'800'000'000);
  EXPECT_EQ(one("created<2027-01-15").number, 1'800'000'000 - 8 * 3600);
  EXPECT_EQ(one("duration>=10s").number, 10);
  EXPECT_EQ(one("duration<1500ms").number, 1.5);
  EXPECT_THAT(mistake("duration>10"), HasSubstr("unit"));
  EXPECT_THAT(mistake("duration>long"), HasSubstr("'long' is not a duration"));
  EXPECT_THAT(mistake("created>yesterday"), HasSubstr("neither a time nor an age"));
  EXPECT_THAT(mistake("created=2d"), HasSubstr("use <"));
}

TEST(Conditions, MistakesSayWhatToWrite) {
  EXPECT_THAT(mistake("verdcit=valid"), HasSubstr("Did you mean 'verdict'?"));
  EXPECT_THAT(mistake("xyzzy=1"), HasSubstr("metrics.NAME"));
  EXPECT_THAT(mistake("metrics.=1"), HasSubstr("no field 'metrics.'"));
  EXPECT_THAT(mistake("verdict=vaild"), HasSubstr("Did you mean 'valid'?"));
  EXPECT_THAT(mistake("state=zzz"), HasSubstr("queued, running, ended"));
  EXPECT_THAT(mistake("name<x"), HasSubstr("is text"));
  EXPECT_THAT(mistake("ranks~4"), HasSubstr("is a number"));
  EXPECT_THAT(mistake("ranks=four"), HasSubstr("'four' is not a number"));
  EXPECT_THAT(mistake("metrics.loss<nan"), HasSubstr("not a number"));
  EXPECT_THAT(mistake("fast"), HasSubstr("'fast' is no condition"));
  EXPECT_THAT(mistake("name='open"), HasSubstr("not closed"));
  EXPECT_THAT(mistake("=x"), HasSubstr("no field ''"));
}

TEST(Conditions, AllMistakesAtOnce) {
  const auto message = mistake("verdcit=valid name=fine ranks=x duration>10");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << message;
}

TEST(Sort, ReadsDirectionAndField) {
  RunQuery query;
  ASSERT_TRUE(set_sort(query, "-duration").ok());
  EXPECT_EQ(query.sort, "duration");
  EXPECT_TRUE(query.descending);
  ASSERT_TRUE(set_sort(query, "metrics.loss").ok());
  EXPECT_EQ(query.sort, "metrics.loss");
  EXPECT_FALSE(query.descending);
}

TEST(Sort, RefusesWhatCannotBeSortedBy) {
  RunQuery query;
  EXPECT_THAT(set_sort(query, "-duraton").error().message, HasSubstr("Did you mean 'duration'?"));
  EXPECT_FALSE(set_sort(query, "tag").ok());
  EXPECT_FALSE(set_sort(query, "").ok());
  EXPECT_EQ(query.sort, "created");
}

}  // namespace
}  // namespace assay
