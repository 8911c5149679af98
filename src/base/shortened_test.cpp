#include "base/shortened.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 5), "abc");
  EXPECT_EQ(shortened("abc", 2), "ab");
  EXPECT_EQ(shortened("aé", 2), "a");
  EXPECT_EQ(shortened("aé", 3), "aé");
  EXPECT_EQ(shortened("€uro", 2), "");
  EXPECT_EQ(shortened("a\xF0\x9F\x98\x80", 4), "a");
  EXPECT_EQ(shortened("", 0), "");
}

}  // namespace
}  // namespace assay
