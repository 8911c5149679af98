#include "data/markov_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

TEST(MarkovChain, IsAProperChainWithItsStationaryDistribution) {
  for (const std::size_t symbols : {2, 3, 64}) {
    const MarkovChain chain(1, symbols);
    std::vector<double> after(symbols, 0.0);
    for (std::size_t from = 0; from < symbols; ++from) {
      double row = 0;
      for (std::size_t to = 0; to < symbols; ++to) {
        row += chain.probability(from, to);
        after[to] += chain.stationary()[from] * chain.probability(from, to);
        EXPECT_GT(chain.probability(from, to), 0);
      }
      EXPECT_NEAR(row, 1, 1e-12);
    }
    EXPECT_NEAR(std::accumulate(after.begin(), after.end(), 0.0), 1, 1e-12);
    for (std::size_t i = 0; i < symbols; ++i) EXPECT_NEAR(after[i], chain.stationary()[i], 1e-14);
  }
}

TEST(MarkovChain, ASymbolHasAFewLikelySuccessors) {
  const MarkovChain chain(1, 64);
  for (std::size_t from = 0; from < 64; ++from) {
    std::vector<double> row;
    for (std::size_t to = 0; to < 64; ++to) row.push_back(chain.probability(from, to));
    std::sort(row.rbegin(), row.rend());
    EXPECT_GT(std::accumulate(row.begin(), row.begin() + 5, 0.0), 0.95);
  }
}

TEST(MarkovChain, EntropyIsLargeEnoughToComeClose) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const double rate = MarkovChain(seed, 64).entropy_rate();
    EXPECT_GT(rate, 1.4) << seed;
    EXPECT_LT(rate, 1.75) << seed;
  }
}

TEST(MarkovText, Pinned) {
  const MarkovText text({});
  const Batch batch = samples_of(text, {0, 1, 9999});
  const auto inputs = integers(batch.inputs);
  EXPECT_EQ(std::vector<std::int64_t>(inputs.begin(), inputs.begin() + 8),
            (std::vector<std::int64_t>{29, 11, 37, 27, 44, 41, 39, 52}));
  EXPECT_EQ(digest(batch), 14806065747040962511u);
  EXPECT_NEAR(text.loss_floor().value(), 1.5860, 1e-4);
}

TEST(MarkovText, APerfectModelHasTheLossFloorAtEveryPosition) {
  const MarkovText text({.samples = 40'000, .seq_length = 8});
  const Batch all = load_all(text);
  const auto inputs = integers(all.inputs);
  const auto targets = integers(all.targets);
  for (std::size_t position = 0; position < 8; ++position) {
    double loss = 0;
    for (std::size_t at = position; at < inputs.size(); at += 8) {
      loss -= std::log(
          text.chain().probability(static_cast<std::size_t>(inputs[at]), static_cast<std::size_t>(targets[at])));
    }
    // The standard deviation of one token's loss is about 1.4.
    EXPECT_NEAR(loss / 40'000, text.loss_floor().value(), 5 * 1.4 / 200) << position;
  }
}

TEST(MarkovText, TransitionsAreAsFrequentAsTheChainSays) {
  const MarkovText text({.samples = 500, .vocabulary = 8, .seq_length = 1000});
  const Batch all = load_all(text);
  const auto inputs = integers(all.inputs);
  const auto targets = integers(all.targets);
  std::vector<double> pairs(64, 0.0);
  for (std::size_t i = 0; i < inputs.size(); ++i) ++pairs.at(static_cast<std::size_t>(inputs[i] * 8 + targets[i]));
  double conditional_entropy = 0;
  for (std::size_t from = 0; from < 8; ++from) {
    const std::span<const double> row(pairs.data() + from * 8, 8);
    const double count = std::accumulate(row.begin(), row.end(), 0.0);
    EXPECT_NEAR(count / 500'000, text.chain().stationary()[from], 0.005);
    conditional_entropy += count / 500'000 * entropy(row);
    for (std::size_t to = 0; to < 8; ++to) EXPECT_NEAR(row[to] / count, text.chain().probability(from, to), 0.01);
  }
  EXPECT_NEAR(conditional_entropy, text.loss_floor().value(), 0.005);
}

TEST(MarkovText, SaysWhatItIs) {
  EXPECT_EQ(MarkovText({.samples = 5}).description(), "markov-text, 5 samples of 512 tokens, vocabulary 64");
}

}  // namespace
}  // namespace assay::engine
