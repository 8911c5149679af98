#include "data/masked_tokens.h"

#include "data/dataset_fixture.h"
#include "data/markov_text.h"
#include "data/synthetic_tokens.h"

namespace assay::engine {
namespace {

std::unique_ptr<Dataset> zipf(std::int64_t vocabulary, std::int64_t samples = 100, std::int64_t length = 512) {
  return std::make_unique<SyntheticTokens>(
      SyntheticTokens::Options{.samples = samples, .vocabulary = vocabulary, .seq_length = length});
}

TEST(MaskedTokens, Pinned) {
  const MaskedTokens masked(zipf(30'522), 1, 30'522);
  EXPECT_EQ(digest(samples_of(masked, {0, 1, 99})), 12827449190638295706u);
  EXPECT_NE(digest(samples_of(MaskedTokens(zipf(30'522), 2, 30'522), {0, 1, 99})),
            digest(samples_of(masked, {0, 1, 99})));
}

TEST(MaskedTokens, TheRatiosAreThoseOfBert) {
  const MaskedTokens masked(zipf(30'522, 400), 1, 30'522);
  const auto originals = integers(load_all(*zipf(30'522, 400)).inputs);
  const Batch all = load_all(masked);
  const auto inputs = integers(all.inputs);
  const auto targets = integers(all.targets);
  double asked = 0;
  double replaced_by_mask = 0;
  double kept = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (targets[i] == kIgnoredTarget) {
      ASSERT_EQ(inputs[i], originals[i]) << "what is not asked for is not touched";
      continue;
    }
    ASSERT_EQ(targets[i], originals[i]);
    ++asked;
    replaced_by_mask += inputs[i] == masked.mask_token() ? 1 : 0;
    kept += inputs[i] == originals[i] ? 1 : 0;
  }
  EXPECT_NEAR(asked / static_cast<double>(inputs.size()), 0.15, 0.004);
  EXPECT_NEAR(replaced_by_mask / asked, 0.8, 0.012);
  EXPECT_NEAR(kept / asked, 0.1, 0.01);
}

TEST(MaskedTokens, EverySampleHasATarget) {
  const MaskedTokens masked(zipf(30'522, 500, 3), 1, 30'522);
  const Batch all = load_all(masked);
  for (std::int64_t row = 0; row < 500; ++row) {
    int asked = 0;
    for (const std::int64_t target : integers(all.targets[row])) asked += target != kIgnoredTarget ? 1 : 0;
    EXPECT_GE(asked, 1) << row;
  }
}

TEST(MaskedTokens, TheMaskTokenFitsTheVocabulary) {
  EXPECT_EQ(MaskedTokens(zipf(30'522), 1, 30'522).mask_token(), 103);
  EXPECT_EQ(MaskedTokens(zipf(1000), 1, 0).mask_token(), 103);

  const MaskedTokens grown(zipf(64), 1, 0);
  EXPECT_EQ(grown.mask_token(), 64);
  EXPECT_EQ(grown.shape().vocabulary, 65) << "the model needs a row for the mask";

  const MaskedTokens spare(zipf(64), 1, 30'522);
  EXPECT_EQ(spare.mask_token(), 64);
  EXPECT_EQ(spare.shape().vocabulary, 65);

  const MaskedTokens full(zipf(64), 1, 64);
  EXPECT_EQ(full.mask_token(), 63);
  EXPECT_EQ(full.shape().vocabulary, 64);
}

TEST(MaskedTokens, TokensStayBelowTheVocabulary) {
  const MaskedTokens masked(zipf(5), 1, 0);
  for (const std::int64_t token : integers(load_all(masked).inputs)) {
    ASSERT_GE(token, 0);
    ASSERT_LE(token, 5);
  }
}

TEST(MaskedTokens, DoesNotPromiseTheFloorOfTheTokens) {
  // A tenth of what is asked for can be read off the input.
  EXPECT_FALSE(MaskedTokens(std::make_unique<MarkovText>(MarkovText::Options{}), 1, 0).loss_floor());
}

TEST(MaskedTokens, SaysWhatItIs) {
  EXPECT_EQ(MaskedTokens(zipf(1000), 1, 0).description(),
            "synthetic-tokens, 100 samples of 512 tokens, vocabulary 1,000, 15 % masked with token 103");
}

}  // namespace
}  // namespace assay::engine
