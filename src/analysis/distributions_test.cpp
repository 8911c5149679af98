#include "analysis/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

// Reference values: mpmath 1.3 (an independent arbitrary-precision library) with 40 digits, from betainc, ncdf,
// loggamma and root finding on them.

constexpr double kRelative = 2e-13;
#define EXPECT_CLOSE(value, reference) EXPECT_NEAR(value, reference, std::fabs(reference) * kRelative)

TEST(Distributions, LogGammaMatchesTheReference) {
  EXPECT_CLOSE(log_gamma(0.1), 2.25271265173420596);
  EXPECT_CLOSE(log_gamma(0.5), 0.572364942924700087);
  EXPECT_NEAR(log_gamma(1), 0, 1e-15);
  EXPECT_NEAR(log_gamma(2), 0, 1e-15);
  EXPECT_CLOSE(log_gamma(3.7), 1.42807232666538792);
  EXPECT_CLOSE(log_gamma(100), 359.134205369575399);
  EXPECT_CLOSE(log_gamma(1e6), 12815504.5691476117);
  EXPECT_TRUE(std::isnan(log_gamma(0)));
}

TEST(Distributions, IncompleteBetaMatchesTheReference) {
  EXPECT_CLOSE(incomplete_beta(2, 3, 0.4), 0.5248);
  EXPECT_CLOSE(incomplete_beta(0.5, 0.5, 0.3), 0.369010119565545383);
  EXPECT_CLOSE(incomplete_beta(10, 0.5, 0.9), 0.151640909634709921);
  EXPECT_CLOSE(incomplete_beta(500, 600, 0.45), 0.381693733664839915);
  EXPECT_CLOSE(incomplete_beta(1, 662, 0.01), 0.998710269935741816);
  EXPECT_CLOSE(incomplete_beta(0.01, 5, 0.001), 0.952795880007077236);
  // 1 − 0.9999 as a double is off by 1e-13 of itself, and 50,000 times that shows.
  EXPECT_NEAR(incomplete_beta(50000, 0.5, 0.9999), 0.00156501976217255887, 1e-14);
  EXPECT_EQ(incomplete_beta(2, 3, 0), 0);
  EXPECT_EQ(incomplete_beta(2, 3, 1), 1);
  EXPECT_TRUE(std::isnan(incomplete_beta(2, 3, 1.5)));
  EXPECT_TRUE(std::isnan(incomplete_beta(0, 3, 0.5)));
}

TEST(Distributions, NormalMatchesTheReference) {
  EXPECT_CLOSE(normal_cdf(-10), 7.61985302416052607e-24);
  EXPECT_CLOSE(normal_cdf(-3), 0.00134989803163009453);
  EXPECT_CLOSE(normal_cdf(-2.9999999), 0.00134989847481500220);  // where the two methods meet
  EXPECT_CLOSE(normal_cdf(-1.5), 0.066807201268858066);
  EXPECT_CLOSE(normal_cdf(0.1), 0.539827837277028981);
  EXPECT_CLOSE(normal_cdf(1.96), 0.975002104851779566);
  EXPECT_CLOSE(normal_cdf(5), 0.999999713348428121);
  EXPECT_EQ(normal_cdf(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(normal_cdf(std::numeric_limits<double>::infinity()), 1);
}

TEST(Distributions, StudentMatchesTheReference) {
  EXPECT_CLOSE(t_two_sided(1, 1), 0.5);
  EXPECT_CLOSE(t_two_sided(2, 4.5), 0.108257907181125027);
  EXPECT_CLOSE(t_two_sided(12.5, 9), 5.43431318178065181e-7);
  EXPECT_CLOSE(t_two_sided(-40, 20), 1.45746965543107639e-20);
  EXPECT_CLOSE(t_two_sided(0.001, 7), 0.999230017244998844);
  EXPECT_NEAR(t_two_sided(3, 1e6), 0.00269986254142179706, 1e-13);
  EXPECT_CLOSE(t_two_sided(2.5, 0.7), 0.319704362681273787);
  EXPECT_CLOSE(t_two_sided(1.96, std::numeric_limits<double>::infinity()), 2 * (1 - 0.975002104851779566));
}

TEST(Distributions, StudentQuantilesMatchTheReference) {
  EXPECT_CLOSE(t_quantile(0.975, 1), 12.7062047361747046);
  EXPECT_CLOSE(t_quantile(0.975, 4), 2.77644510519779436);
  EXPECT_CLOSE(t_quantile(0.975, 9), 2.26215716279820554);
  EXPECT_CLOSE(t_quantile(0.995, 7.3), 3.45103165562218524);
  EXPECT_CLOSE(t_quantile(0.9, 30), 1.31041502539139558);
  EXPECT_NEAR(t_quantile(0.975, 1e5), 1.95998770753460964, 2e-12);
  EXPECT_CLOSE(t_quantile(0.0005, 3), -12.9239786366874831);
  EXPECT_EQ(t_quantile(0.5, 3), 0);
  EXPECT_EQ(t_quantile(1, 3), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(t_quantile(1.1, 3)));
}

TEST(Distributions, BoundsOfAProportionMatchTheReference) {
  EXPECT_NEAR(proportion_upper_bound(0, 100'000, 0.95), 2.9956874019428e-5, 1e-15);
  EXPECT_NEAR(proportion_upper_bound(4, 100'000, 0.95), 9.15328316446347e-5, 1e-15);
  EXPECT_NEAR(proportion_upper_bound(10, 100'000, 0.95), 0.000169616287626314, 1e-15);
  EXPECT_CLOSE(proportion_upper_bound(95, 100, 0.95), 0.980094436337828);
  EXPECT_CLOSE(proportion_lower_bound(95, 100, 0.95), 0.897746622356725);
  EXPECT_NEAR(proportion_lower_bound(4, 100'000, 0.95), 1.36632955757462e-5, 1e-15);
  EXPECT_EQ(proportion_upper_bound(100, 100, 0.95), 1);
  EXPECT_EQ(proportion_lower_bound(0, 100, 0.95), 0);
}

}  // namespace
}  // namespace assay
