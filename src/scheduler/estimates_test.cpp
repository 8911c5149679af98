#include "scheduler/estimates.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace assay {
namespace {

using Keys = std::array<std::string, 3>;

Nanos of_seconds(double seconds) { return Nanos(static_cast<std::int64_t>(seconds * 1e9)); }

TEST(DurationHistory, TheNarrowestKeyWithAHistoryAnswers) {
  DurationHistory history;
  const Keys known = {"spec1/H200", "resnet/H200", "train"};
  const Keys similar = {"spec2/H200", "resnet/H200", "train"};
  const Keys other = {"spec3/V100", "gpt2/V100", "infer"};
  history.add(known, of_seconds(100));
  history.add(similar, of_seconds(400));
  EXPECT_EQ(history.estimate(known)->key, "spec1/H200");
  EXPECT_NEAR(seconds_of(history.estimate(known)->estimate.expected), 100, 1e-6);
  const Keys new_spec = {"spec4/H200", "resnet/H200", "train"};
  EXPECT_EQ(history.estimate(new_spec)->key, "resnet/H200");
  EXPECT_EQ(history.estimate(new_spec)->runs, 2U);
  EXPECT_NEAR(seconds_of(history.estimate(new_spec)->estimate.expected), 200, 1e-6);
  EXPECT_FALSE(history.estimate(other));
}

TEST(DurationHistory, TheErrorIsThatOfTheNextRun) {
  DurationHistory history;
  Random random(3, "history");
  const std::array<std::string, 1> key = {"k"};
  history.add(key, of_seconds(100));
  const double after_one = history.estimate(key)->estimate.log_error;
  EXPECT_GT(after_one, 0.5);
  int inside = 0;
  for (int i = 0; i < 2000; ++i) {
    const double seconds = random.lognormal(4.6, 0.1);
    const DurationEstimate guess = history.estimate(key)->estimate;
    if (seconds < seconds_of(guess.at_most())) ++inside;
    history.add(key, of_seconds(seconds));
  }
  EXPECT_NEAR(history.estimate(key)->estimate.log_error, 0.1, 0.01);
  EXPECT_NEAR(inside / 2000.0, 0.84, 0.04);
}

TEST(DurationHistory, OldKeysAreForgotten) {
  DurationHistory history(2);
  const auto add = [&](const std::string& key) { history.add(std::array{key}, of_seconds(1)); };
  add("a");
  add("b");
  add("a");
  add("c");
  EXPECT_EQ(history.size(), 2U);
  EXPECT_TRUE(history.estimate(std::array<std::string, 1>{"a"}));
  EXPECT_FALSE(history.estimate(std::array<std::string, 1>{"b"}));
  history.add(std::array<std::string, 1>{"d"}, Nanos(0));
  EXPECT_FALSE(history.estimate(std::array<std::string, 1>{"d"}));
}

TEST(EstimateDuration, FallsBackToWhatTheSpecificationSays) {
  const DurationHistory none;
  EXPECT_EQ(estimate_duration(none, {}, of_seconds(60), {}).expected, of_seconds(60));
  EXPECT_EQ(estimate_duration(none, {}, {}, of_seconds(300)).expected, of_seconds(100));
  EXPECT_EQ(estimate_duration(none, {}, of_seconds(600), of_seconds(300)).expected, of_seconds(300));
  EXPECT_GT(estimate_duration(none, {}, {}, {}).log_error, estimate_duration(none, {}, of_seconds(60), {}).log_error);
}

}  // namespace
}  // namespace assay
