#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(RateLimit, LetsSomeThroughAtOnceAndThenSoManyASecond) {
  RateLimit limit(3, 2);
  const SteadyTime start{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.pass(start)) << i;
  EXPECT_FALSE(limit.pass(start));
  EXPECT_FALSE(limit.pass(start + 499ms));
  EXPECT_TRUE(limit.pass(start + 500ms));
  EXPECT_FALSE(limit.pass(start + 501ms));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.pass(start + 1h)) << "no more than at once, however long it waited";
  EXPECT_FALSE(limit.pass(start + 1h));
}

}  // namespace
}  // namespace assay
