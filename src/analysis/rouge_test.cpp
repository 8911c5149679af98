#include "analysis/rouge.h"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

TEST(Rouge, IsAsCountedByHand) {
  // Common words: the, cat, on, the, mat: 5 of 6 and 5 of 7. Common pairs: "the cat", "on the", "the mat": 3 of 5 and 3
  // of 6. In order: the cat … on the mat: 5.
  const auto scores = rouge("The cat sat on the mat.", "the cat was lying on the mat");
  EXPECT_DOUBLE_EQ(scores.one.precision, 5.0 / 6);
  EXPECT_DOUBLE_EQ(scores.one.recall, 5.0 / 7);
  EXPECT_DOUBLE_EQ(scores.one.f1, 10.0 / 13);
  EXPECT_DOUBLE_EQ(scores.two.precision, 3.0 / 5);
  EXPECT_DOUBLE_EQ(scores.two.recall, 3.0 / 6);
  EXPECT_DOUBLE_EQ(scores.two.f1, 6.0 / 11);
  EXPECT_DOUBLE_EQ(scores.longest.f1, 10.0 / 13);
}

TEST(Rouge, OrderCountsForTheLongestSequence) {
  // Lin 2004: "police killed the gunman" against two candidates with the same pairs and another order.
  EXPECT_DOUBLE_EQ(rouge("police kill the gunman", "police killed the gunman").longest.f1, 3.0 / 4);
  EXPECT_DOUBLE_EQ(rouge("the gunman kill police", "police killed the gunman").longest.f1, 2.0 / 4);
  EXPECT_DOUBLE_EQ(rouge("the gunman kill police", "police killed the gunman").one.f1, 3.0 / 4);
}

TEST(Rouge, ARepeatedWordCountsAsOftenAsTheReferenceHasIt) {
  const auto scores = rouge("the the the the", "the cat");
  EXPECT_DOUBLE_EQ(scores.one.precision, 1.0 / 4);
  EXPECT_DOUBLE_EQ(scores.one.recall, 1.0 / 2);
  EXPECT_EQ(scores.two.f1, 0);
}

TEST(Rouge, TextsOfNothingHaveNothingInCommon) {
  for (const auto& [answer, reference] :
       {std::pair("", "a b"), std::pair("a b", ""), std::pair("", ""), std::pair(" .,! ", "a"), std::pair("a", "b")}) {
    const auto scores = rouge(answer, reference);
    EXPECT_EQ(scores.one.f1, 0) << answer;
    EXPECT_EQ(scores.two.f1, 0) << answer;
    EXPECT_EQ(scores.longest.f1, 0) << answer;
  }
  EXPECT_EQ(rouge("Zürich, 12 Grad", "zürich 12 grad").two.f1, 1) << "words beyond ASCII are words";
  std::string endless;
  for (int i = 0; i < 10'000; ++i) endless += "w" + std::to_string(i) + " ";
  EXPECT_EQ(rouge(endless, endless).longest.f1, 1);
}

}  // namespace
}  // namespace assay
