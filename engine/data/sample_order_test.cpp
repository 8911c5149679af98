#include "data/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace assay::engine {
namespace {

std::vector<std::int64_t> rows(const SampleOrder& order, std::int64_t step, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  order.indices(step, first, out);
  return out;
}

std::vector<std::int64_t> epoch(const SampleOrder& order, std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t k = 0; k < order.steps_per_epoch(); ++k) {
    const auto batch = rows(order, number * order.steps_per_epoch() + k, 0, order.global_batch());
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(SampleOrder, Pinned) {
  const SampleOrder order(1, 9000, 32);
  EXPECT_EQ(rows(order, 0, 0, 6), (std::vector<std::int64_t>{4297, 4886, 2696, 6596, 5344, 2031}));
  EXPECT_EQ(rows(order, 1000, 26, 6), (std::vector<std::int64_t>{5867, 1776, 1014, 2162, 6290, 3267}));
}

TEST(SampleOrder, AnEpochIsAPermutation) {
  for (const std::int64_t samples : {1, 2, 3, 10, 255, 256, 257, 1000, 4096, 10'007}) {
    const SampleOrder order(3, samples, 1);
    ASSERT_EQ(order.steps_per_epoch(), samples);
    for (const std::int64_t number : {0, 1, 7}) {
      auto all = epoch(order, number);
      std::sort(all.begin(), all.end());
      std::vector<std::int64_t> expected(static_cast<std::size_t>(samples));
      std::iota(expected.begin(), expected.end(), 0);
      ASSERT_EQ(all, expected) << samples << " samples, epoch " << number;
    }
  }
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
  const SampleOrder order(1, 100, 10);
  std::set<std::vector<std::int64_t>> seen;
  for (std::int64_t number = 0; number < 50; ++number) seen.insert(epoch(order, number));
  seen.insert(epoch(SampleOrder(2, 100, 10), 0));
  EXPECT_EQ(seen.size(), 51u);
}

TEST(SampleOrder, RanksShareOutTheSameGlobalBatch) {
  // 1 rank · batch 24, 2 · 12 and 3 · 8 see the same samples in every step.
  const SampleOrder order(5, 1000, 24);
  for (std::int64_t step = 0; step < 100; ++step) {
    const auto whole = rows(order, step, 0, 24);
    for (const std::int64_t ranks : {2, 3}) {
      std::vector<std::int64_t> joined;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const auto part = rows(order, step, rank * 24 / ranks, 24 / ranks);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      ASSERT_EQ(joined, whole);
    }
  }
}

TEST(SampleOrder, TheTailIsDroppedAndDiffersBetweenEpochs) {
  const SampleOrder order(1, 10, 4);
  EXPECT_EQ(order.steps_per_epoch(), 2);
  EXPECT_FALSE(order.repeats_within_batch());
  std::set<std::int64_t> used;
  for (std::int64_t number = 0; number < 20; ++number) {
    const auto all = epoch(order, number);
    EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), 8u);
    used.insert(all.begin(), all.end());
  }
  EXPECT_EQ(used.size(), 10u) << "nobody is always left out";
}

TEST(SampleOrder, WrapsWhereThereAreFewerSamplesThanRows) {
  const SampleOrder order(1, 3, 8);
  EXPECT_TRUE(order.repeats_within_batch());
  EXPECT_EQ(order.steps_per_epoch(), 1);
  const auto batch = rows(order, 5, 0, 8);
  std::map<std::int64_t, int> counts;
  for (const std::int64_t index : batch) ++counts[index];
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [index, count] : counts) EXPECT_GE(count, 2) << index;
  EXPECT_FALSE(SampleOrder(1, 8, 8).repeats_within_batch());
}

/// Sum of (observed − expected)² / expected.
double chi_square(const std::vector<double>& counts) {
  const double expected = std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(SampleOrder, EveryPermutationOfAFewSamplesIsEquallyLikely) {
  const SampleOrder order(1, 5, 5);
  std::map<std::vector<std::int64_t>, double> counts;
  for (std::int64_t step = 0; step < 60'000; ++step) ++counts[rows(order, step, 0, 5)];
  ASSERT_EQ(counts.size(), 120u);
  std::vector<double> observed;
  for (const auto& [permutation, count] : counts) observed.push_back(count);
  EXPECT_LT(chi_square(observed), 119 + 5 * 15.4) << "119 degrees of freedom, five standard deviations";
}

TEST(SampleOrder, PlacesAndNeighboursAreEvenlySpread) {
  const SampleOrder order(9, 40, 40);
  std::vector<double> first(40, 0.0);
  std::vector<double> distance(40, 0.0);
  for (std::int64_t step = 0; step < 8000; ++step) {
    const auto batch = rows(order, step, 0, 40);
    ++first[static_cast<std::size_t>(batch[0])];
    for (std::size_t i = 0; i + 1 < 40; ++i) ++distance[static_cast<std::size_t>((batch[i + 1] - batch[i] + 40) % 40)];
  }
  EXPECT_LT(chi_square(first), 39 + 5 * 8.8);
  EXPECT_EQ(distance[0], 0);
  distance.erase(distance.begin());
  EXPECT_LT(chi_square(distance), 38 + 5 * 8.7);
}

TEST(SampleOrder, HugeDataSetsCostNothing) {
  const SampleOrder order(1, 100'000'000'000, 64);
  const auto batch = rows(order, 1'000'000'000, 0, 64);
  EXPECT_EQ(std::set<std::int64_t>(batch.begin(), batch.end()).size(), 64u);
  EXPECT_GT(*std::max_element(batch.begin(), batch.end()), 90'000'000'000);
  EXPECT_LT(*std::max_element(batch.begin(), batch.end()), 100'000'000'000);
}

}  // namespace
}  // namespace assay::engine
