#include "fleet/backlog.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Batch batch(std::uint64_t sequence, std::size_t samples) {
  Batch batch;
  batch.stream = "s";
  batch.sequence = sequence;
  for (std::size_t i = 0; i < samples; ++i) {
    batch.samples.push_back({.series = static_cast<std::uint32_t>(i), .time_ns = 5, .value = 1});
  }
  return batch;
}

std::vector<Batch> batches_in(std::string_view body) {
  std::vector<Batch> batches;
  while (const auto framed = take_framed(body)) batches.push_back(*decode_batch(*framed));
  EXPECT_TRUE(body.empty());
  return batches;
}

TEST(Backlog, KeepsWhatIsNotAcknowledgedInOrder) {
  Backlog backlog(1 << 20);
  EXPECT_TRUE(backlog.empty());
  for (std::uint64_t i = 1; i <= 5; ++i) backlog.add(batch(i, 10), Nanos(i));
  EXPECT_EQ(backlog.samples(), 50U);
  const auto body = backlog.body(3, 1 << 20);
  EXPECT_EQ(body.last_sequence, 3U);
  EXPECT_EQ(body.samples, 30U);
  const auto batches = batches_in(body.bytes);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[2].sequence, 3U);
  EXPECT_EQ(backlog.forget_up_to(2), 20U);
  EXPECT_EQ(backlog.oldest(), Nanos(3));
  EXPECT_EQ(backlog.forget_up_to(2), 0U);
  EXPECT_EQ(backlog.forget_up_to(99), 30U);
  EXPECT_TRUE(backlog.empty());
}

TEST(Backlog, ABodyHasALimitButAtLeastOneBatch) {
  Backlog backlog(1 << 20);
  for (std::uint64_t i = 1; i <= 5; ++i) backlog.add(batch(i, 100), Nanos(i));
  EXPECT_EQ(backlog.body(99, 1).batches, 1U);
  const std::size_t one = backlog.body(1, 1 << 20).bytes.size();
  EXPECT_EQ(backlog.body(99, 3 * one).batches, 3U);
}

TEST(Backlog, TheOldestGoesWhenItIsFull) {
  Backlog backlog(2000);
  for (std::uint64_t i = 1; i <= 50; ++i) backlog.add(batch(i, 100), Nanos(i));
  EXPECT_GT(backlog.overflowed(), 0U);
  EXPECT_EQ(backlog.overflowed() + backlog.samples(), 5000U);
  EXPECT_LE(backlog.body(99, 1 << 20).bytes.size(), 2100U);
  EXPECT_EQ(backlog.body(99, 1 << 20).last_sequence, 50U) << "the newest stay";
  backlog.add(batch(51, 20'000), Nanos(51));
  EXPECT_EQ(backlog.batches(), 1U) << "larger than the limit";
}

TEST(Backlog, TheOldestCanNameEverything) {
  Backlog backlog(1 << 20);
  backlog.name_all({}, {});
  for (std::uint64_t i = 7; i <= 8; ++i) backlog.add(batch(i, 2), Nanos(i));
  const std::vector<SeriesName> names = {{{"a", {}}, "W"}, {{"b", {{"gpu", "x"}}}, ""}};
  backlog.name_all(names, {{"x", {{"name", "H200"}}}});
  const auto batches = batches_in(backlog.body(99, 1 << 20).bytes);
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].series, names);
  EXPECT_EQ(batches[0].devices->size(), 1U);
  EXPECT_EQ(batches[0].sequence, 7U);
  EXPECT_EQ(batches[0].samples.size(), 2U);
  EXPECT_TRUE(batches[1].series.empty());
}

}  // namespace
}  // namespace assay
