#include "data/synthetic_tokens.h"

#include <algorithm>
#include <cmath>

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

TEST(AliasTable, DrawsWithTheGivenProbabilities) {
  const std::vector<double> weights = {3, 0, 1, 0.5, 5.5};
  const AliasTable table(weights);
  Random random(1, "test");
  std::vector<int> counts(5, 0);
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) ++counts[table.draw(random)];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double expected = weights[i] / 10;
    const double deviation = std::sqrt(expected * (1 - expected) / kDraws);
    EXPECT_NEAR(static_cast<double>(counts[i]) / kDraws, expected, 5 * deviation + 1e-12) << i;
  }
}

TEST(AliasTable, OneNumberIsAlwaysDrawn) {
  const AliasTable table(std::vector<double>{0.3});
  Random random(1, "test");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(table.draw(random), 0u);
}

TEST(Entropy, OfKnownDistributions) {
  EXPECT_DOUBLE_EQ(entropy(std::vector<double>{1, 1, 1, 1}), std::log(4));
  EXPECT_DOUBLE_EQ(entropy(std::vector<double>{7}), 0);
  EXPECT_DOUBLE_EQ(entropy(std::vector<double>{1, 0, 3}), -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)));
}

TEST(SyntheticTokens, Pinned) {
  const SyntheticTokens tokens({});
  const Batch batch = samples_of(tokens, {0, 1, 9999});
  const auto inputs = integers(batch.inputs);
  EXPECT_EQ(std::vector<std::int64_t>(inputs.begin(), inputs.begin() + 8),
            (std::vector<std::int64_t>{8480, 429, 191, 232, 4, 48722, 5510, 64}));
  EXPECT_EQ(digest(batch), 10194330969619975917u);
  EXPECT_NEAR(tokens.loss_floor().value(), 7.565874, 1e-6);
}

TEST(SyntheticTokens, TargetsAreTheInputsOneLater) {
  for (const std::int64_t length : {1, 2, 7, 8}) {
    const Batch batch = load_all(SyntheticTokens({.samples = 5, .vocabulary = 1000, .seq_length = length}));
    for (std::int64_t row = 0; row < 5; ++row) {
      const auto inputs = integers(batch.inputs[row]);
      const auto targets = integers(batch.targets[row]);
      EXPECT_TRUE(std::equal(inputs.begin() + 1, inputs.end(), targets.begin()));
    }
  }
}

TEST(SyntheticTokens, SamplesShareNoRandomNumbers) {
  // Were the samples' pieces of the random stream too short, one's end would be the next one's beginning.
  for (const std::int64_t length : {15, 16}) {
    const Batch batch = load_all(SyntheticTokens({.samples = 2, .vocabulary = 1'000'000, .seq_length = length}));
    const auto end = integers(batch.targets[0]);
    const auto begin = integers(batch.inputs[1]);
    for (std::size_t shared = 1; shared <= 4; ++shared) {
      EXPECT_FALSE(std::equal(end.end() - static_cast<std::ptrdiff_t>(shared), end.end(), begin.begin())) << shared;
    }
  }
}

TEST(SyntheticTokens, FrequenciesAndLossFloorAreThoseOfZipf) {
  const SyntheticTokens tokens({.samples = 1000, .vocabulary = 50, .seq_length = 400});
  const auto all = integers(load_all(tokens).targets);
  std::vector<double> counts(50, 0.0);
  for (const std::int64_t token : all) ++counts.at(static_cast<std::size_t>(token));
  EXPECT_NEAR(counts[0] / counts[1], 2, 0.03);
  EXPECT_NEAR(counts[0] / counts[9], 10, 0.3);
  EXPECT_NEAR(entropy(counts), tokens.loss_floor().value(), 0.004);
}

TEST(SyntheticTokens, SaysWhatItIs) {
  EXPECT_EQ(SyntheticTokens({}).description(), "synthetic-tokens, 10,000 samples of 512 tokens, vocabulary 50,257");
}

}  // namespace
}  // namespace assay::engine
