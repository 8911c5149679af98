#include "analysis/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace assay {
namespace {

using testing::IsEmpty;

std::vector<double> with_step(std::size_t before, std::size_t after, double size, double spread, std::uint64_t seed) {
  Random random(seed, "hunter");
  std::vector<double> values;
  for (std::size_t i = 0; i < before + after; ++i)
    values.push_back(random.normal(i < before ? 100 : 100 + size, spread));
  return values;
}

TEST(Hunter, FindsALargeStepWhereItIs) {
  const auto points = hunter_change_points(with_step(60, 60, -10, 1, 1));
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].index, 60u);
  EXPECT_NEAR(points[0].before, 100, 0.5);
  EXPECT_NEAR(points[0].after, 90, 0.5);
  EXPECT_LT(points[0].p, 1e-6);
}

TEST(Hunter, FindsTwoSteps) {
  auto values = with_step(40, 40, 8, 1, 2);
  const auto back = with_step(40, 0, 0, 1, 3);
  values.insert(values.end(), back.begin(), back.end());
  const auto points = hunter_change_points(values);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].index, 40u);
  EXPECT_EQ(points[1].index, 80u);
}

TEST(Hunter, FindsNothingInAConstantOrShortSeries) {
  EXPECT_THAT(hunter_change_points(std::vector<double>(100, 5.0)), IsEmpty());
  EXPECT_THAT(hunter_change_points(std::vector{1.0, 2.0, 3.0}), IsEmpty());
  EXPECT_THAT(hunter_change_points({}), IsEmpty());
}

TEST(Hunter, LeavesOutWhatIsTooSmallToMatter) {
  const auto values = with_step(60, 60, -10, 1, 1);
  EXPECT_THAT(hunter_change_points(values, {.smallest_change = 0.2}), IsEmpty());
}

TEST(FixedRule, KnowsOneNumber) {
  EXPECT_TRUE(fixed_rule_alarm(94.9));
  EXPECT_FALSE(fixed_rule_alarm(95));
  EXPECT_FALSE(fixed_rule_alarm(99));
}

}  // namespace
}  // namespace assay
