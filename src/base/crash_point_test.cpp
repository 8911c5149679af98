#include "base/crash_point.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace assay {
namespace {

TEST(CrashPoint, IsNothingUnlessItIsWanted) { crash_point("asked"); }

TEST(CrashPointDeathTest, EndsTheProcessAtTheTimeThatIsWanted) {
  // A new process reads its environment itself.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto pass = [] {
    ::setenv("ASSAY_CRASH_AT", "job-stored:3", 1);
    crash_point("job-stored");
    crash_point("asked");
    crash_point("job-stored");
    std::fputs("still there\n", stderr);
    crash_point("job-stored");
    std::fputs("survived\n", stderr);
  };
  EXPECT_EXIT(pass(), testing::KilledBySignal(SIGKILL), "still there\n$");
}

}  // namespace
}  // namespace assay
