#include "data/evaluation_reader.h"

#include <algorithm>
#include <numeric>

#include "data/dataset_fixture.h"
#include "data/spiral.h"
#include "data/synthetic_tokens.h"

namespace assay::engine {
namespace {

/// Class of sample i = i.
Spiral numbered(std::int64_t samples) { return Spiral({.samples = samples, .arms = samples}); }

TEST(EvaluationReader, EveryValidationSampleIsOnExactlyOneRank) {
  const Spiral dataset = numbered(230);
  for (const std::int64_t ranks : {1, 2, 3, 7, 40}) {
    std::vector<std::int64_t> seen;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      EvaluationReader reader(dataset, {.rank = rank, .ranks = ranks, .rows = 4});
      std::int64_t mine = 0;
      while (const auto batch = reader.next()) {
        const auto classes = integers(batch->targets);
        EXPECT_LE(classes.size(), 4u);
        mine += std::ssize(classes);
        seen.insert(seen.end(), classes.begin(), classes.end());
      }
      EXPECT_EQ(reader.samples(), 23);
      EXPECT_NEAR(static_cast<double>(mine), 23.0 / static_cast<double>(ranks), 1);
    }
    std::vector<std::int64_t> expected(23);
    std::iota(expected.begin(), expected.end(), 207);
    EXPECT_EQ(seen, expected) << ranks;
  }
}

TEST(EvaluationReader, OnlyTheLastBatchIsSmallerAndItCanBeReadAgain) {
  const SyntheticTokens dataset({.samples = 100, .vocabulary = 1000, .seq_length = 6});
  EvaluationReader reader(dataset, {.validation_share = 0.1, .rows = 4});
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> tokens;
    while (const auto batch = reader.next()) {
      sizes.push_back(batch->inputs.size(0));
      const auto inputs = integers(batch->inputs);
      tokens.insert(tokens.end(), inputs.begin(), inputs.end());
    }
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 2}));
    EXPECT_EQ(tokens, integers(load_all(dataset).inputs.narrow(0, 90, 10)));
    EXPECT_FALSE(reader.next());
    reader.rewind(reader.samples());
  }
}

TEST(EvaluationReader, ALimitTakesTheSameSamplesHoweverManyRanksShareThem) {
  const Spiral dataset = numbered(230);
  for (const std::int64_t ranks : {1, 2, 3, 20}) {
    std::vector<std::int64_t> seen;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      EvaluationReader reader(dataset, {.rank = rank, .ranks = ranks, .rows = 4});
      reader.rewind(15);
      while (const auto batch = reader.next()) {
        const auto classes = integers(batch->targets);
        seen.insert(seen.end(), classes.begin(), classes.end());
      }
    }
    std::vector<std::int64_t> expected(15);
    std::iota(expected.begin(), expected.end(), 207);
    EXPECT_EQ(seen, expected) << ranks;
  }
}

TEST(EvaluationReader, NothingToReadIsNothing) {
  const Spiral dataset = numbered(10);
  EXPECT_FALSE(EvaluationReader(dataset, {.validation_share = 0}).next());
}

}  // namespace
}  // namespace assay::engine
