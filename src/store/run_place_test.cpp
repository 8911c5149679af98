#include "store/run_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

RunRow a_row() {
  RunRow row{.id = "r1", .name = "a.b \"c\" ü"};
  row.created = WallTime(std::chrono::milliseconds(1'800'000'000'123));
  row.metrics = {{"loss", 0.1}, {"huge", std::numeric_limits<double>::infinity()}, {"broken", NAN}};
  return row;
}

/// The place behind a row, as the reader of the next page gets it.
RunPlace handed_on(RunQuery query) {
  const auto place = place_of(a_row(), query, "7");
  query.after = write_place(place);
  EXPECT_THAT(query.after, testing::MatchesRegex("[0-9a-f]+"));
  const auto read = read_place(query);
  EXPECT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->created, place.created);
  EXPECT_EQ(read->tie, "7");
  return read.ok() ? *read : RunPlace{};
}

TEST(RunPlace, HoldsWhatTheListIsOrderedBy) {
  EXPECT_EQ(handed_on({}).number, 1'800'000'000.123);
  EXPECT_EQ(handed_on({.sort = "name"}).text, "a.b \"c\" ü");
  EXPECT_EQ(handed_on({.sort = "metrics.loss"}).number, 0.1);
  EXPECT_EQ(handed_on({.sort = "metrics.huge"}).number, std::numeric_limits<double>::infinity());
  EXPECT_EQ(handed_on({.sort = "metrics.broken"}).number, std::nullopt);
  EXPECT_EQ(handed_on({.sort = "metrics.none"}).number, std::nullopt);
}

TEST(RunPlace, IsOneOfAListInItsOwnOrder) {
  RunQuery query{.sort = "name", .descending = false};
  query.after = write_place(place_of(a_row(), query, "7"));
  EXPECT_TRUE(read_place(query).ok());
  query.descending = true;
  EXPECT_FALSE(read_place(query).ok());
  query.sort = "created";
  const auto read = read_place(query);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().kind, ErrorKind::usage);
  EXPECT_THAT(read.error().message, testing::HasSubstr("'next'"));
}

TEST(RunPlace, WhatIsNoneIsRefused) {
  for (const char* text : {"7", "zz", "7b7d", "{}", "0", "-1", "22"}) {
    EXPECT_FALSE(read_place({.after = text}).ok()) << text;
  }
}

}  // namespace
}  // namespace assay
