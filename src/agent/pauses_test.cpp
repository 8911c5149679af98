#include "agent/pauses.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(Pauses, GrowUpToTheLongestAndBeginAgain) {
  Pauses pauses(500ms, 10s, 1);
  for (const Nanos whole : {Nanos(500ms), Nanos(1s), Nanos(2s), Nanos(4s), Nanos(8s), Nanos(10s), Nanos(10s)}) {
    const Nanos pause = pauses.next();
    EXPECT_GE(pause, whole / 2);
    EXPECT_LE(pause, whole);
  }
  pauses.reset();
  EXPECT_LE(pauses.next(), 500ms);
}

TEST(Pauses, NeighboursDoNotComeBackTogether) {
  Pauses one(10s, 10s, 1);
  Pauses other(10s, 10s, 2);
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace assay
