#include "base/age.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(Age, MinutesAsEverybodyWritesThem) {
  EXPECT_EQ(*parse_age("5m"), 5min);
  EXPECT_EQ(*parse_age("1h 30m"), 90min);
  EXPECT_EQ(*parse_age("1h30m"), 90min);
  EXPECT_EQ(*parse_age("90min"), 90min);
  EXPECT_EQ(*parse_age("20ms"), 20ms);
  EXPECT_EQ(*parse_age("2d"), 48h);
  EXPECT_FALSE(parse_age("m").ok());
  EXPECT_FALSE(parse_duration("5m").ok()) << "elsewhere it may mean milliseconds";
}

}  // namespace
}  // namespace assay
