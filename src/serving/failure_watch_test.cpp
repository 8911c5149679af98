#include "serving/failure_watch.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using std::chrono::seconds;

TEST(FailureWatch, EndsALoadOfWhichEverythingFails) {
  FailureWatch watch(1);
  for (int i = 0; i < 4; ++i) watch.take(0, 1000, seconds(1));
  EXPECT_FALSE(watch.verdict()) << "a server may be started anew";
  watch.take(0, 1000, seconds(1));
  ASSERT_TRUE(watch.verdict());
  EXPECT_EQ(*watch.verdict(), "5000 of the 5000 requests that ended in the last 5 s did not end well");
  watch.take(1000, 0, seconds(1));
  EXPECT_TRUE(watch.verdict()) << "it stays so";
}

TEST(FailureWatch, NoticesAServerThatDiesInTheMiddle) {
  FailureWatch watch(1);
  for (int i = 0; i < 60; ++i) watch.take(1000, 0, seconds(1));
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(watch.verdict());
    watch.take(0, 1000, seconds(1));
  }
  EXPECT_TRUE(watch.verdict());
}

TEST(FailureWatch, TakesTheShareThatWasAskedFor) {
  FailureWatch strict(0.1);
  FailureWatch patient(1);
  for (int i = 0; i < 20; ++i) {
    strict.take(89, 11, seconds(1));
    patient.take(1, 9999, seconds(1));
  }
  EXPECT_TRUE(strict.verdict());
  EXPECT_FALSE(patient.verdict()) << "one of ten thousand still ends well";
}

TEST(FailureWatch, WaitsForAFewRequestsToEnd) {
  FailureWatch watch(1);
  for (int i = 0; i < 19; ++i) watch.take(0, 1, seconds(10));
  EXPECT_FALSE(watch.verdict());
  watch.take(0, 1, seconds(10));
  EXPECT_TRUE(watch.verdict());
}

}  // namespace
}  // namespace assay
