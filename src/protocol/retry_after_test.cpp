#include "protocol/retry_after.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(RetryAfter, IsANumberOfSeconds) {
  const auto told = [](const char* text) { return retry_after(Headers{{"Retry-After", text}}); };
  EXPECT_EQ(told("5"), std::chrono::seconds(5));
  EXPECT_EQ(told(" 0 "), std::chrono::seconds(0));
  EXPECT_EQ(retry_after(Headers{}), std::nullopt);
  for (const char* text : {"", "-1", "5s", "soon", "99999999999999999999", "Mon, 16 Nov 2026 11:00:00 GMT"}) {
    EXPECT_EQ(told(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
