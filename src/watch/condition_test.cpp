#include "watch/condition.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Change = RuleCondition::Change;
using namespace std::chrono_literals;

TEST(RuleCondition, AClockThatIsSetBackDoesNotKeepItQuiet) {
  const Rule rule{.level = 80, .clear = 70, .hold = 0s, .clear_for = 60s};
  RuleCondition condition;
  WallTime now{std::chrono::hours(24 * 365 * 56)};
  const auto look = [&](double value) { return condition.look(value, rule, RuleInfo::Direction::above, now); };
  ASSERT_EQ(look(90), Change::raised);
  ASSERT_EQ(look(60), Change::none);
  now += 60s;
  ASSERT_EQ(look(60), Change::resolved);
  EXPECT_EQ(look(90), Change::none) << "it keeps quiet for a while";
  now -= 6h;
  EXPECT_EQ(look(90), Change::raised);
}

}  // namespace
}  // namespace assay
