#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();

/// How far `value` is from `exact`, in units of the last place that a double near `exact` has.
double ulps_between(double value, long double exact) {
  const double nearest = std::fabs(static_cast<double>(exact));
  const double ulp =
      nearest == kLargest ? nearest - std::nextafter(nearest, 0) : std::nextafter(nearest, kInfinity) - nearest;
  return static_cast<double>(std::fabs(static_cast<long double>(value) - exact) / static_cast<long double>(ulp));
}

/// The largest error over `count` arguments that `next_argument` gives.
template <typename Function, typename Exact, typename Argument>
double largest_error(Function function, Exact exact, Argument next_argument, int count = 200'000) {
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    const double x = next_argument();
    largest = std::max(largest, ulps_between(function(x), exact(static_cast<long double>(x))));
  }
  return largest;
}

long double exact_log(long double x) { return std::log(x); }
long double exact_exp(long double x) { return std::exp(x); }

class PortableMath : public testing::Test {
 protected:
  // The reference must be better than what it judges: x87 or quad long doubles.
  void SetUp() override {
    if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is no better than double here";
  }
  Random random_{1, "portable_math_test"};
};

TEST_F(PortableMath, LogIsWithinOneUlpNearOne) {
  EXPECT_LE(largest_error(portable_log, exact_log, [&] { return random_.uniform(0.5, 2); }), 1.0);
  EXPECT_LE(largest_error(portable_log, exact_log, [&] { return random_.uniform(0.999, 1.001); }), 1.0);
}

TEST_F(PortableMath, LogIsWithinOneUlpForEveryPositiveNumber) {
  const auto any_positive = [&] {
    for (;;) {
      const double x = std::bit_cast<double>(random_.bits64() >> 1);
      if (std::isfinite(x) && x > 0) return x;
    }
  };
  EXPECT_LE(largest_error(portable_log, exact_log, any_positive), 1.0);
  const auto subnormal = [&] { return std::bit_cast<double>(1 + random_.below((std::uint64_t{1} << 52) - 1)); };
  EXPECT_LE(largest_error(portable_log, exact_log, subnormal), 1.0);
}

TEST_F(PortableMath, ExpIsWithinOneUlp) {
  EXPECT_LE(largest_error(portable_exp, exact_exp, [&] { return random_.uniform(-1, 1); }), 1.0);
  EXPECT_LE(largest_error(portable_exp, exact_exp, [&] { return random_.uniform(-708, 709.78); }), 1.0);
  EXPECT_LE(largest_error(portable_exp, exact_exp, [&] { return random_.uniform(-745.1, -708); }), 1.0);  // subnormal
  EXPECT_LE(largest_error(portable_exp, exact_exp, [&] { return random_.normal(0, 1e-9); }), 1.0);
}

TEST(PortableLog, HandlesTheEdges) {
  EXPECT_EQ(portable_log(1), 0);
  EXPECT_FALSE(std::signbit(portable_log(1)));
  EXPECT_EQ(portable_log(0), -kInfinity);
  EXPECT_EQ(portable_log(-0.0), -kInfinity);
  EXPECT_EQ(portable_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(portable_log(-1)));
  EXPECT_TRUE(std::isnan(portable_log(-kSmallest)));
  EXPECT_TRUE(std::isnan(portable_log(-kInfinity)));
  EXPECT_TRUE(std::isnan(portable_log(kNan)));
  EXPECT_DOUBLE_EQ(portable_log(kSmallest), -744.4400719213812);
  EXPECT_DOUBLE_EQ(portable_log(kLargest), 709.782712893384);
}

TEST(PortableExp, HandlesTheEdges) {
  EXPECT_EQ(portable_exp(0), 1);
  EXPECT_EQ(portable_exp(-0.0), 1);
  EXPECT_EQ(portable_exp(kInfinity), kInfinity);
  EXPECT_EQ(portable_exp(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(portable_exp(kNan)));
  EXPECT_EQ(portable_exp(kSmallest), 1);
  EXPECT_TRUE(std::isfinite(portable_exp(709.782712893384)));
  EXPECT_EQ(portable_exp(709.7827128933841), kInfinity);
  EXPECT_EQ(portable_exp(1e300), kInfinity);
  EXPECT_EQ(portable_exp(-745.1332191019411), kSmallest);
  EXPECT_EQ(portable_exp(-745.1332191019413), 0);
  EXPECT_EQ(portable_exp(-1e300), 0);
}

// The bits themselves: a change here changes every seeded workload.
TEST(PortableMathBits, AreTheSameEverywhere) {
  EXPECT_EQ(portable_log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(portable_log(3), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(portable_log(1e300), 0x1.5963447f87fb5p+9);
  EXPECT_EQ(portable_exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_exp(-0.7), 0x1.fc80db9dd5542p-2);
  EXPECT_EQ(portable_exp(-740), 0x0.0000000000055p-1022);
  EXPECT_EQ(normal_quantile(0.025), -0x1.f5c0331eeff83p+0);
  EXPECT_EQ(normal_quantile(1e-20), -0x1.2865170b43a4bp+3);
}

TEST(NormalQuantile, MatchesThePublishedValues) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_DOUBLE_EQ(normal_quantile(0.25), -0.6744897501960817);
  EXPECT_DOUBLE_EQ(normal_quantile(0.001), -3.090232306167814);
  EXPECT_DOUBLE_EQ(normal_quantile(1e-20), -9.262340089798408);
  EXPECT_DOUBLE_EQ(normal_quantile(0.975), 1.959963984540054);
}

TEST(NormalQuantile, InvertsTheDistributionFunctionInAllThreeOfItsRanges) {
  Random random(2, "normal_quantile");
  for (int i = 0; i < 50'000; ++i) {
    // Spread over 300 orders of magnitude, since each tail has a formula of its own.
    const double p = i % 2 ? random.uniform(0, 0.5) : std::pow(10.0, random.uniform(-300, -1));
    const double back = 0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0));
    // An error of one ulp in z comes back multiplied by z².
    ASSERT_NEAR(back / p, 1, 1e-12) << "p = " << p;
    const double mirrored = 1 - p;
    if (mirrored < 1 && mirrored > 0.5) {
      ASSERT_EQ(normal_quantile(mirrored), -normal_quantile(1 - mirrored)) << "p = " << p;
    }
  }
}

TEST(NormalQuantile, HandlesTheEdges) {
  EXPECT_EQ(normal_quantile(0), -kInfinity);
  EXPECT_EQ(normal_quantile(1), kInfinity);
  EXPECT_TRUE(std::isnan(normal_quantile(-0.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(1.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(kNan)));
}

}  // namespace
}  // namespace assay
