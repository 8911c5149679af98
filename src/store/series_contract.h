#pragma once

// What every SeriesStore must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Embedded, SeriesContract, testing::Values(SeriesStoreFactory{"embedded", …}));

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/series_asker_fixture.h"
#include "store/series_expected_fixture.h"
#include "store/series_store.h"

namespace assay {

struct SeriesStoreFactory {
  std::string name;
  /// An empty store, each time another one.
  std::function<std::unique_ptr<SeriesStore>(const Clock&, const SeriesLimits&)> make;
};
inline std::ostream& operator<<(std::ostream& out, const SeriesStoreFactory& factory) { return out << factory.name; }

class SeriesContract : public testing::TestWithParam<SeriesStoreFactory>, protected SeriesAsker {
 protected:
  SeriesContract() { open(); }
  /// Another store, with the limits of now.
  void open() { store_ = GetParam().make(clock_, limits_); }

  SeriesLimits limits_;
};

TEST_P(SeriesContract, GivesBackWhatWasAppended) {
  const auto power = intern("gpu.power_w", {{"gpu", "GPU-1"}});
  append({{power, kStart, 345.5}, {power, kStart + kSecondNs, 346.25}});
  const auto read = points(power);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].time_ns, kStart);
  EXPECT_EQ(read[1].value, 346.25);
}

TEST_P(SeriesContract, ABatchByNameNeedsNoIds) {
  const std::vector<SeriesBatch> batch = {{{"a", {}}, "W", {{kStart, 1}, {kStart + 1, 2}}},
                                          {{"b", {}}, "%", {{kStart, 3}}}};
  ASSERT_TRUE(store_->append(batch).ok());
  const auto all = store_->latest({});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].newest.value, 2);
  EXPECT_EQ((*all)[1].series.unit, "%");
}

TEST_P(SeriesContract, TheSameKeyIsTheSameSeriesAndItsUnitStays) {
  const auto id = intern("power", {{"gpu", "1"}});
  EXPECT_EQ(intern("power", {{"gpu", "1"}}), id);
  EXPECT_NE(intern("power", {{"gpu", "2"}}), id);
  const auto other = store_->intern({"power", {{"gpu", "1"}}}, "mW");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::usage);
  EXPECT_THAT(other.error().message, testing::HasSubstr("has the unit 'W', not 'mW'"));
}

TEST_P(SeriesContract, RefusesKeysWithoutBounds) {
  EXPECT_FALSE(store_->intern({"", {}}, "W").ok());
  EXPECT_FALSE(store_->intern({std::string(2000, 'x'), {}}, "W").ok());
  SeriesKey many{"power", {}};
  for (int i = 0; i < 40; ++i) many.labels[std::to_string(i)] = "x";
  EXPECT_FALSE(store_->intern(many, "W").ok());
}

TEST_P(SeriesContract, TheNumberOfSeriesIsBounded) {
  limits_.max_series = 2;
  open();
  intern("a");
  intern("b");
  const auto third = store_->intern({"c", {}}, "W");
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message, testing::HasSubstr("which is the limit"));
  EXPECT_TRUE(store_->intern({"a", {}}, "W").ok());
}

TEST_P(SeriesContract, OneOwnerDoesNotTakeThePlaceOfAll) {
  limits_.max_per_owner.series = 2;
  open();
  intern("a", {{"node", "greedy"}});
  intern("b", {{"node", "greedy"}});
  const auto third = store_->intern({"c", {{"node", "greedy"}}}, "W");
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().kind, ErrorKind::usage);
  EXPECT_THAT(third.error().message, testing::HasSubstr("node 'greedy' has 2 series, which is the limit"));
  intern("a", {{"node", "greedy"}});
  intern("c", {{"node", "honest"}});
  // What is deleted makes room.
  EXPECT_EQ(store_->erase({"a", {{.label = "node", .value = "greedy"}}}).value_or(0), 1U);
  intern("c", {{"node", "greedy"}});
  EXPECT_EQ(store_->holding("greedy").series, 2U);
  EXPECT_EQ(store_->holding("honest").series, 1U);
  EXPECT_EQ(store_->holding("nobody"), SeriesHolding{});
}

TEST_P(SeriesContract, WhatAnOwnerHasOfNamesAndLabelsIsBounded) {
  limits_.max_per_owner.key_bytes = 3000;
  open();
  // Name and unit are a byte each, labels 1005 and 6.
  const std::string text(1000, 'x');
  for (int i = 0; i < 2; ++i) intern("a", {{"label", text}, {"node", std::to_string(i)}});
  intern("b", {{"label", text}, {"node", "0"}});
  EXPECT_EQ(store_->holding("0").key_bytes, 2U * (1 + 1 + 5 + 1000 + 4 + 1));
  const auto third = store_->intern({"c", {{"label", text}, {"node", "0"}}}, "W");
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().message, testing::HasSubstr("bytes of names and labels, which is the limit"));
  EXPECT_EQ(store_->erase({"", {{.label = "node", .value = "0"}}}).value_or(0), 2U);
  EXPECT_EQ(store_->holding("0"), SeriesHolding{});
  intern("c", {{"label", text}, {"node", "0"}});
}

TEST_P(SeriesContract, WhatAnOwnerHasOfPointsIsBounded) {
  limits_.max_per_owner.bytes = 20'000;
  open();
  const auto greedy = intern("a", {{"node", "greedy"}});
  const auto honest = intern("a", {{"node", "honest"}});
  const auto now = clock_.wall().time_since_epoch().count();
  AppendOutcome last;
  std::size_t taken = 0;
  for (int round = 0; round < 200 && last.too_much == 0; ++round) {
    std::vector<SeriesSample> samples;
    for (int i = 0; i < 100; ++i) {
      // Values that no code makes small.
      const auto n = round * 100 + i;
      samples.push_back({greedy, now - (20'000 - n) * kSecondNs, std::sin(n) * 1e9});
    }
    last = *store_->append(samples);
    taken += last.accepted;
    EXPECT_EQ(last.accepted + last.too_much, 100U);
    ASSERT_TRUE(store_->flush().ok());
  }
  ASSERT_GT(last.too_much, 0U);
  EXPECT_GT(taken, 500U);
  EXPECT_GE(store_->holding("greedy").bytes, 20'000U);
  EXPECT_LT(store_->holding("greedy").bytes, 60'000U);
  EXPECT_EQ(append({{greedy, now - 30'000 * kSecondNs, 1}}).too_much, 1U) << "late ones, too";
  EXPECT_EQ(append({{honest, now, 1}}).accepted, 1U) << "others have room";
  // What is deleted makes room.
  ASSERT_TRUE(store_->erase({"a", {{.label = "node", .value = "greedy"}}}, {0, now - kSecondNs}).ok());
  EXPECT_LT(store_->holding("greedy").bytes, 1000U);
  EXPECT_EQ(append({{greedy, now, 1}}).accepted, 1U);
  ASSERT_TRUE(store_->erase({"", {{.label = "node", .value = "greedy"}}}).ok());
  EXPECT_EQ(store_->holding("greedy"), SeriesHolding{});
}

/// More series than are looked at in one go.
TEST_P(SeriesContract, WhatIsSelectedWithoutANameIsFoundAmongMany) {
  limits_.max_per_owner = {.series = 100'000, .key_bytes = std::size_t{64} << 20, .bytes = std::uint64_t{1} << 30};
  open();
  for (int i = 0; i < 60'000; ++i) intern("m" + std::to_string(i % 7), {{"node", "many"}, {"i", std::to_string(i)}});
  const auto first = intern("a", {{"node", "few"}, {"rack", "x"}});
  const auto last = intern("b", {{"node", "others"}, {"rack", "x"}});
  const auto now = clock_.wall().time_since_epoch().count();
  ASSERT_EQ(append({{first, now, 1}, {last, now, 2}}).accepted, 2U);
  EXPECT_EQ(store_->latest({.labels = {{.label = "rack", .value = "x"}}})->size(), 2U);
  EXPECT_EQ(store_->list({.labels = {{.label = "node", .value = "few"}}})->size(), 1U);
  EXPECT_EQ(store_->list({.name = "b", .labels = {{.label = "node", .value = "few"}}})->size(), 0U);
  EXPECT_EQ(store_
                ->query({.selector = {.labels = {{.label = "rack", .value = "x"}}},
                         .range = {now - kMinuteNs, now + kMinuteNs}})
                ->rows.size(),
            2U);
  EXPECT_FALSE(store_->list({.labels = {{.label = "node", .value = "many"}}}).ok()) << "too large an answer";
  EXPECT_EQ(store_->erase({.labels = {{.label = "rack", .value = "x"}}}).value_or(0), 2U);
}

TEST_P(SeriesContract, PointsFromBeforeRetentionAreRefusedBeforeRetentionWasThere) {
  const auto id = intern("a");
  const auto now = clock_.wall().time_since_epoch().count();
  const auto keep = limits_.keep[0].count();
  EXPECT_EQ(append({{id, now, 1}}).accepted, 1U);
  const auto outcome = append({{id, now - keep - 1, 1}, {id, now - keep + kHourNs, 1}, {id, 0, 1}});
  EXPECT_EQ(outcome.too_old, 2U);
  EXPECT_EQ(outcome.accepted, 1U);
}

TEST_P(SeriesContract, AnUnknownIdRefusesTheWholeBatch) {
  const auto id = intern("a");
  const std::vector<SeriesSample> samples = {{id, kStart, 1}, {id + 7, kStart, 1}};
  const auto outcome = store_->append(samples);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().kind, ErrorKind::not_found);
  EXPECT_THAT(points(id), testing::IsEmpty());
}

TEST_P(SeriesContract, OfEqualTimesTheLastOneWinsWhereverTheFirstIs) {
  const auto id = intern("a");
  append({{id, kStart, 1}, {id, kStart + 5, 2}, {id, kStart, 3}});
  EXPECT_EQ(points(id).front().value, 3);
  ASSERT_TRUE(store_->flush().ok());
  append({{id, kStart, 4}});
  ASSERT_EQ(points(id).size(), 2U);
  EXPECT_EQ(points(id).front().value, 4);
  append({{id, kStart + 5, 9}});
  EXPECT_EQ(store_->latest({})->front().newest.value, 9);
}

TEST_P(SeriesContract, ClocksThatAreFarAheadAreRefusedAndCounted) {
  const auto id = intern("a");
  const auto now = clock_.wall().time_since_epoch().count();
  const auto outcome = append({{id, now, 1}, {id, now + 2 * kHourNs, 2}, {id, kEndOfTime, 3}, {id, -1, 4}});
  EXPECT_EQ(outcome.accepted, 1U);
  EXPECT_EQ(outcome.too_far_ahead, 2U);
  EXPECT_EQ(outcome.too_old, 1U);
}

TEST_P(SeriesContract, SelectsByNameAndLabels) {
  using Is = LabelMatch::Test;
  intern("power", {{"node", "gpu01"}, {"gpu", "a"}});
  intern("power", {{"node", "gpu02"}, {"gpu", "b"}});
  intern("power", {{"node", "cpu01"}});
  intern("temperature", {{"node", "gpu01"}, {"gpu", "a"}});
  const auto count = [&](const SeriesSelector& selector) { return store_->list(selector)->size(); };
  EXPECT_EQ(count({}), 4U);
  EXPECT_EQ(count({"power", {}}), 3U);
  EXPECT_EQ(count({"nothing", {}}), 0U);
  EXPECT_EQ(count({"", {{"node", Is::equals, "gpu01"}}}), 2U);
  EXPECT_EQ(count({"power", {{"node", Is::differs, "gpu01"}}}), 2U);
  EXPECT_EQ(count({"", {{"node", Is::starts_with, "gpu"}}}), 3U);
  EXPECT_EQ(count({"power", {{"gpu", Is::present, ""}}}), 2U);
  EXPECT_EQ(count({"power", {{"gpu", Is::equals, ""}}}), 1U);
  EXPECT_EQ(count({"power", {{"rack", Is::differs, "r1"}}}), 3U);
  EXPECT_EQ(count({"", {{"node", Is::starts_with, "gpu"}, {"gpu", Is::equals, "a"}}}), 2U);
}

TEST_P(SeriesContract, AnAnswerSaysItsRealBoundsWidthAndTier) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart, 7200, &expected);
  const auto day = query({.range = {kStart + 90 * kSecondNs, kStart + 86490 * kSecondNs}, .max_points = 500});
  EXPECT_EQ(day.tier, SeriesTier::minute);
  EXPECT_EQ(day.width_ns, 180 * kSecondNs);
  EXPECT_EQ(day.range.from_ns % day.width_ns, 0);
  EXPECT_EQ(day.range.to_ns % day.width_ns, 0);
  EXPECT_LE(day.range.from_ns, kStart + 90 * kSecondNs);
  EXPECT_GE(day.range.to_ns, kStart + 86490 * kSecondNs);
  ASSERT_EQ(day.rows.size(), 1U);
  expect_same(expected.buckets(day.range, day.width_ns), day.rows[0].buckets);

  const auto hours = query({.range = {kStart, kStart + 86400 * kSecondNs}, .width_ns = kHourNs + 1, .max_points = 0});
  EXPECT_EQ(hours.tier, SeriesTier::hour);
  EXPECT_EQ(hours.width_ns, 2 * kHourNs);
  const auto fine = query({.range = {kStart, kStart + 60 * kSecondNs}, .width_ns = 10 * kSecondNs, .max_points = 0});
  EXPECT_EQ(fine.tier, SeriesTier::raw);
  EXPECT_EQ(fine.width_ns, 10 * kSecondNs);
  expect_same(expected.buckets(fine.range, fine.width_ns), fine.rows[0].buckets);
}

TEST_P(SeriesContract, NeverMoreBucketsThanAskedFor) {
  const auto id = intern("a");
  append_seconds(id, kStart, 1000);
  for (int round = 0; round < 2000; ++round) {
    const auto from = kStart + static_cast<std::int64_t>(random_() % (2000 * kSecondNs));
    const auto length = 1 + static_cast<std::int64_t>(random_() % (std::uint64_t{1} << (random_() % 55)));
    const auto most = 2 + random_() % 600;
    const auto answer = query({.range = {from, from + length}, .max_points = most});
    ASSERT_LE((answer.range.to_ns - answer.range.from_ns) / answer.width_ns, static_cast<std::int64_t>(most));
    ASSERT_LE(answer.range.from_ns, from);
    ASSERT_GE(answer.range.to_ns, from + length);
  }
}

TEST_P(SeriesContract, NanIsCountedApartAndInfinityCounts) {
  const auto id = intern("a");
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  append({{id, kStart, nan},
          {id, kStart + 1, 4},
          {id, kStart + 2, 8},
          {id, kStart + kMinuteNs, nan},
          {id, kStart + 2 * kMinuteNs, infinity},
          {id, kStart + 2 * kMinuteNs + 1, 1}});
  for (int round = 0; round < 2; ++round) {
    const auto answer = query({.range = {kStart, kStart + kHourNs}, .width_ns = kMinuteNs});
    ASSERT_EQ(answer.rows.size(), 1U);
    const auto& buckets = answer.rows[0].buckets;
    ASSERT_EQ(buckets.size(), 3U);
    EXPECT_EQ(buckets[0].count, 2U);
    EXPECT_EQ(buckets[0].nan_count, 1U);
    EXPECT_EQ(buckets[0].mean(), 6);
    EXPECT_EQ(buckets[1].count, 0U);
    EXPECT_EQ(buckets[1].nan_count, 1U);
    EXPECT_TRUE(std::isnan(buckets[1].mean()) && std::isnan(buckets[1].min));
    EXPECT_EQ(buckets[2].max, infinity);
    EXPECT_EQ(buckets[2].min, 1);
    EXPECT_EQ(buckets[2].mean(), infinity);
    ASSERT_TRUE(store_->flush().ok());
  }
}

TEST_P(SeriesContract, RawReadsStopAtTheirLimit) {
  const auto id = intern("a");
  append_seconds(id, kStart, 1500);
  maintain();
  const auto first = store_->points(id, {}, 1000);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->points.size(), 1000U);
  EXPECT_TRUE(first->more);
  const auto rest = store_->points(id, {first->points.back().time_ns + 1, kEndOfTime}, 1000);
  EXPECT_EQ(rest->points.size(), 500U);
  EXPECT_FALSE(rest->more);
  EXPECT_EQ(store_->points(id + 1, {}, 1).error().kind, ErrorKind::not_found);
}

TEST_P(SeriesContract, AnAnswerThatWouldBeTooLargeIsRefusedWithAHint) {
  limits_.max_answer_series = 3;
  limits_.max_answer_points = 100;
  open();
  const auto id = intern("a");
  append_seconds(id, kStart, 200);
  const auto fine = store_->query({.range = {kStart, kStart + kHourNs}, .width_ns = kSecondNs, .max_points = 0});
  ASSERT_FALSE(fine.ok());
  EXPECT_EQ(fine.error().kind, ErrorKind::usage);
  EXPECT_THAT(fine.error().text(), testing::HasSubstr("more than 100 buckets"));
  for (const auto* name : {"b", "c", "d"}) intern(name);
  const auto all = store_->query({.range = {kStart, kStart + kHourNs}});
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().text(), testing::HasSubstr("more than 3 series"));
  EXPECT_FALSE(store_->list({}).ok());
  EXPECT_FALSE(store_->latest({}).ok());
}

TEST_P(SeriesContract, SeriesAreListedInPages) {
  limits_.max_answer_series = 3;
  open();
  for (const auto* name : {"a", "b", "c", "d", "e", "f", "g"}) intern(name);
  EXPECT_FALSE(store_->list({}).ok()) << "too many for one answer";
  const auto walk = [&](const SeriesSelector& selector, std::size_t limit) {
    std::string names;
    std::optional<SeriesId> after;
    for (int pages = 0; pages < 100; ++pages) {
      const auto page = store_->page(selector, after, limit);
      EXPECT_LE(page.series.size(), limit);
      for (const auto& series : page.series) names += series.key.name;
      if (!page.next) return names;
      after = page.next;
    }
    return names + " without end";
  };
  EXPECT_EQ(walk({}, 2), "abcdefg");
  EXPECT_EQ(walk({}, 7), "abcdefg");
  EXPECT_EQ(walk({.name = "c"}, 1), "c");
  EXPECT_EQ(walk({.name = "nosuch"}, 2), "");
  EXPECT_EQ(walk({.labels = {{.label = "nosuch", .value = "x"}}}, 2), "");
  ASSERT_TRUE(store_->erase({.name = "b"}).ok());
  EXPECT_EQ(walk({}, 1), "acdefg");
}

TEST_P(SeriesContract, RefusesQueriesThatMeanNothing) {
  EXPECT_FALSE(store_->query({.range = {10, 10}}).ok());
  EXPECT_FALSE(store_->query({.range = {10, 20}, .width_ns = -5}).ok());
  EXPECT_FALSE(store_->query({.range = {10, 20}, .width_ns = 0, .max_points = 0}).ok());
  EXPECT_TRUE(store_->query({.width_ns = kEndOfTime / 2}).ok());
}

TEST_P(SeriesContract, LatePointsHaveTheirPlaceInEveryTier) {
  const auto id = intern("a");
  ExpectedSeries expected;
  append_seconds(id, kStart + kHourNs, 900, &expected);
  ASSERT_TRUE(store_->flush().ok());
  append_seconds(id, kStart, 900, &expected);
  append_seconds(id, kStart + kHourNs + 300 * kSecondNs, 60, &expected);
  expect_same(expected, points(id));
  for (const std::int64_t width : {10 * kSecondNs, kMinuteNs, kHourNs}) {
    const auto answer = query({.range = {kStart, kStart + 2 * kHourNs}, .width_ns = width, .max_points = 0});
    ASSERT_EQ(answer.rows.size(), 1U);
    expect_same(expected.buckets(answer.range, answer.width_ns), answer.rows[0].buckets);
  }
}

TEST_P(SeriesContract, ErasesASpanOrTheWholeSeries) {
  const auto a = intern("a", {{"node", "gpu01"}});
  const auto b = intern("b", {{"node", "gpu02"}});
  ExpectedSeries expected;
  append_seconds(a, kStart, 300, &expected);
  append_seconds(b, kStart, 10);
  const TimeRange span{kStart + 60 * kSecondNs, kStart + 120 * kSecondNs};
  EXPECT_EQ(*store_->erase({.name = "a"}, span), 1U);
  expected.erase(span);
  expect_same(expected, points(a));
  const auto minutes = query({.selector = {.name = "a"}, .range = {kStart, kStart + kHourNs}, .width_ns = kMinuteNs});
  expect_same(expected.buckets(minutes.range, minutes.width_ns), minutes.rows.at(0).buckets);

  EXPECT_EQ(*store_->erase({.labels = {{.label = "node", .value = "gpu01"}}}), 1U);
  EXPECT_EQ(store_->points(a, {}, 1).error().kind, ErrorKind::not_found);
  const std::vector<SeriesSample> samples = {{a, kStart, 1}};
  EXPECT_EQ(store_->append(samples).error().kind, ErrorKind::not_found) << "ask for its id again";
  EXPECT_EQ(store_->list({})->size(), 1U);
  EXPECT_THAT(points(intern("a", {{"node", "gpu01"}})), testing::IsEmpty());
}

TEST_P(SeriesContract, ForgetsWhatIsOld) {
  limits_.keep = {std::chrono::hours(2), std::chrono::hours(4), std::chrono::hours(24)};
  open();
  const auto id = intern("a");
  for (int i = 0; i < 60; ++i) {
    clock_.advance(std::chrono::minutes(10));
    append({{id, clock_.wall().time_since_epoch().count(), 1}});
    maintain();
  }
  const auto now = clock_.wall().time_since_epoch().count();
  const auto kept = points(id);
  ASSERT_FALSE(kept.empty());
  EXPECT_LE(kept.front().time_ns, now - 2 * kHourNs);
  EXPECT_GT(kept.front().time_ns, now - 4 * kHourNs) << "whole hours go";
  EXPECT_EQ(append({{id, now - 5 * kHourNs, 1}}).too_old, 1U);
  const auto day = query({.range = {now - 10 * kHourNs, now}, .width_ns = kMinuteNs, .max_points = 0});
  EXPECT_EQ(day.tier, SeriesTier::hour) << "that far back there are hours only";
  EXPECT_GE(day.rows.at(0).buckets.size(), 9U);
}

TEST_P(SeriesContract, SaysHowMuchThereIs) {
  EXPECT_EQ(store_->stats().series, 0U);
  intern("a");
  EXPECT_EQ(store_->stats().series, 1U);
  EXPECT_LT(store_->stats().fullness, 0.5);
  EXPECT_EQ(store_->limits().max_ahead, limits_.max_ahead);
  EXPECT_THAT(store_->problems(), testing::IsEmpty());
}

}  // namespace assay
