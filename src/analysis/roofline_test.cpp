#include "analysis/roofline.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// 100 TFLOP/s and 2 TB/s meet at 50 FLOP per byte.
const RooflineCeiling kCompute{"bf16", 100e12};
const RooflineCeiling kMemory{"memory", 2e12};

TEST(Roofline, PlacesWorkUnderItsRoof) {
  EXPECT_EQ(ridge_intensity(kCompute, kMemory), 50);
  const auto decode = place_on_roofline({"decode", 2e12, 1e12, 1}, kCompute, kMemory);
  ASSERT_TRUE(decode);
  EXPECT_EQ(decode->intensity, 2);
  EXPECT_EQ(decode->attainable, 4e12);
  EXPECT_EQ(decode->share, 0.5);
  EXPECT_EQ(decode->bound, BoundBy::memory);
  const auto prefill = place_on_roofline({"prefill", 160e12, 1e12, 2}, kCompute, kMemory);
  EXPECT_EQ(prefill->attainable, 100e12);
  EXPECT_EQ(prefill->share, 0.8);
  EXPECT_EQ(prefill->bound, BoundBy::compute);
}

TEST(Roofline, NeedsFigures) {
  EXPECT_FALSE(place_on_roofline({"x", 0, 1, 1}, kCompute, kMemory));
  EXPECT_FALSE(place_on_roofline({"x", 1, 1, 0}, kCompute, kMemory));
  EXPECT_FALSE(place_on_roofline({"x", 1, 1, 1}, kCompute, {"memory", 0}));
}

}  // namespace
}  // namespace assay
