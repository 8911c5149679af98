#include "loadgen/sample_order.h"

#include <set>

namespace assay {
namespace {

TEST(SampleOrder, InOrderBeginsAgain) {
  SamplesInOrder order(3);
  std::vector<std::uint32_t> got;
  for (int i = 0; i < 7; ++i) got.push_back(order.next());
  EXPECT_THAT(got, testing::ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST(SampleOrder, EveryRoundHasEverySampleOnce) {
  constexpr std::uint32_t kSamples = 97;
  ShuffledSamples shuffled(kSamples, 1);
  RepeatedShuffle repeated(kSamples, 1);
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> first_repeated;
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint32_t> got;
    std::vector<std::uint32_t> got_repeated;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      got.push_back(shuffled.next());
      got_repeated.push_back(repeated.next());
    }
    EXPECT_EQ(std::set(got.begin(), got.end()).size(), kSamples);
    EXPECT_EQ(std::set(got_repeated.begin(), got_repeated.end()).size(), kSamples);
    if (round == 0) {
      first = got;
      first_repeated = got_repeated;
    } else {
      EXPECT_NE(got, first);
      EXPECT_EQ(got_repeated, first_repeated);
    }
  }
}

TEST(SampleOrder, OneSampleIsAlwaysTheSame) {
  ShuffledSamples order(1, 9);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(order.next(), 0u);
}

}  // namespace
}  // namespace assay
