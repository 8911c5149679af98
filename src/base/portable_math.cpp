#include "base/portable_math.h"

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

// This file and random.cpp are compiled with -ffp-contract=off: a fused multiply-add rounds once where we round twice.
#ifdef __FAST_MATH__
#error "-ffast-math breaks the promise of identical numbers"
#endif
static_assert(std::numeric_limits<double>::is_iec559 && FLT_EVAL_METHOD == 0, "needs plain IEEE 754 doubles");

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts. The high part ends in 21 zero bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

constexpr int kExponentBias = 1023;
constexpr int kMantissaBits = 52;
constexpr std::uint64_t kMantissaMask = (std::uint64_t{1} << kMantissaBits) - 1;

/// 2 to the n, for the exponents of normal numbers.
double power_of_two(int n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(n + kExponentBias) << kMantissaBits);
}

/// coefficients[0] + x·(coefficients[1] + x·(…)).
template <std::size_t N>
double polynomial(double x, const std::array<double, N>& coefficients) {
  double sum = 0;
  for (std::size_t i = N; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

double portable_log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;

  // x = 2^exponent · (1 + f) with 1 + f between √½ and √2, which keeps f and the series short.
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> kMantissaBits) - kExponentBias;
  double mantissa = std::bit_cast<double>((bits & kMantissaMask) | (std::uint64_t{kExponentBias} << kMantissaBits));
  if (mantissa > 0x1.6a09e667f3bcdp+0) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double f = mantissa - 1;

  // ln(1+f) = 2·artanh(s) with s = f/(2+f). Written as f − f²/2 + s·(f²/2 + series), so that the leading term is exact.
  static constexpr std::array kSeries = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                         2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double half_square = 0.5 * f * f;
  const double correction = s * (half_square + s2 * polynomial(s2, kSeries));
  const double k = exponent;
  return k * kLn2High - ((half_square - (correction + k * kLn2Low)) - f);
}

double portable_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 0x1.62e42fefa39efp+9) return kInfinity;  // ln of the largest double
  if (x < -0x1.74910d52d3051p+9) return 0;         // ln of half the smallest subnormal

  // x = k·ln 2 + r with |r| ≤ ½·ln 2; `lost` is what rounding r took away.
  const int k = static_cast<int>(x * 0x1.71547652b82fep+0 + (x < 0 ? -0.5 : 0.5));
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  const double lost = (high - r) - low;

  // Taylor's series from r² on; the next term is below 2^-57.
  static constexpr std::array kSeries = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                         1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  const double result = 1 + (r + (r * r * polynomial(r, kSeries) + lost));

  // Two steps where one power of two would not be a normal number: the product then rounds once, at the end.
  if (k > 1000) return result * 0x1p1000 * power_of_two(k - 1000);
  if (k < -1000) return result * power_of_two(k + 1000) * 0x1p-1000;
  return result * power_of_two(k);
}

double normal_quantile(double probability) {
  // Names and coefficients as in M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution",
  // Applied Statistics 37 (1988), routine PPND16.
  static constexpr std::array kA = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                    1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                    3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr std::array kB = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
  static constexpr std::array kC = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                    3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                    2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr std::array kD = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636164571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
  static constexpr std::array kE = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                    2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr std::array kF = {1.0,
                                    5.99832206555887937690e-1,
                                    1.36929880922735805310e-1,
                                    1.48753612908506148525e-2,
                                    7.86869131145613259100e-4,
                                    1.84631831751005468180e-5,
                                    1.42151175831644588870e-7,
                                    2.04426310338993978564e-15};
  if (!(probability >= 0 && probability <= 1)) return kNan;
  const double q = probability - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(r, kA) / polynomial(r, kB);
  }
  const double tail = q < 0 ? probability : 1 - probability;
  if (tail == 0) return q < 0 ? -kInfinity : kInfinity;
  const double r = std::sqrt(-portable_log(tail));
  const double magnitude =
      r <= 5 ? polynomial(r - 1.6, kC) / polynomial(r - 1.6, kD) : polynomial(r - 5, kE) / polynomial(r - 5, kF);
  return q < 0 ? -magnitude : magnitude;
}

}  // namespace assay
