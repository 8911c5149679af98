#include "analysis/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/nan.h"
#include "base/portable_math.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLnTwoPi = 0.91893853320467274178;
constexpr double kTwoPi = 6.2831853071795864769;
constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;

/// ln(1 + x) without losing a small x: the error of 1 + x cancels in the quotient.
double log_of_one_plus(double x) {
  const double u = 1 + x;
  if (u == 1) return x;
  return portable_log(u) * x / (u - 1);
}

/// ln Γ(x+1) less Stirling's approximation (x+½)·ln x − x + ½·ln 2π; x > 0.
double stirling_error(double x) {
  double shifted = 0;
  // 15: the asymptotic series below is exact to the last bit from there on.
  while (x < 15) {
    shifted += (x + 0.5) * log_of_one_plus(1 / x) - 1;
    x += 1;
  }
  const double y = 1 / (x * x);
  return shifted +
         (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) / x;
}

/// x·ln(x/m) + m − x, without the cancellation near x = m (C. Loader, "Fast and Accurate Computation of Binomial
/// Probabilities", 2000).
double deviance(double x, double m) {
  if (std::fabs(x - m) >= 0.1 * (x + m)) return x * portable_log(x / m) + m - x;
  const double v = (x - m) / (x + m);
  double sum = (x - m) * v;
  double term = 2 * x * v;
  for (int j = 3;; j += 2) {
    term *= v * v;
    const double next = sum + term / j;
    if (next == sum) return sum;
    sum = next;
  }
}

/// x^a·y^b / B(a, b) · (a+b)/(a·b), that is the binomial probability of a among a+b; y = 1 − x.
double binomial_term(double a, double b, double x, double y) {
  const double n = a + b;
  const double exponent =
      stirling_error(n) - stirling_error(a) - stirling_error(b) - deviance(a, n * x) - deviance(b, n * y);
  return portable_exp(exponent) * std::sqrt(n / (kTwoPi * a * b));
}

/// The continued fraction of the incomplete beta function by Lentz's method; converges fast for x below its mean.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guard = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / guard(1 - (a + b) * x / (a + 1));
  double h = d;
  // About √max(a, b) rounds are needed; the limit is there for arguments beyond any use.
  for (int m = 1; m < 100'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) < 1e-16) break;
  }
  return h;
}

/// I_x(a, b) with y = 1 − x given apart, since it may be known better than by subtraction.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double term = binomial_term(a, b, x, y);
  if (x < (a + 1) / (a + b + 2)) return term * b / (a + b) * beta_fraction(a, b, x);
  return 1 - term * a / (a + b) * beta_fraction(b, a, y);
}

/// The point between `low` and `high` at which a falling function passes `level`, to the last bit.
template <typename Function>
double falls_to(double level, double low, double high, const Function& function) {
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    (function(middle) > level ? low : high) = middle;
  }
}

double normal_upper_tail(double z) {
  const double density = kInverseSqrtTwoPi * portable_exp(-0.5 * z * z);
  // Laplace's continued fraction, from the inside out; 120 levels are enough from z = 3 on.
  double fraction = z;
  for (int level = 120; level >= 1; --level) fraction = z + level / fraction;
  return density / fraction;
}

}  // namespace

double log_gamma(double x) {
  if (!(x > 0)) return kNan;
  return (x - 0.5) * portable_log(x) - x + kHalfLnTwoPi + stirling_error(x);
}

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return kNan;
  return incomplete_beta(a, b, x, 1 - x);
}

double normal_cdf(double z) {
  if (std::isnan(z)) return z;
  if (z <= -3) return std::isinf(z) ? 0 : normal_upper_tail(-z);
  if (z >= 3) return std::isinf(z) ? 1 : 1 - normal_upper_tail(z);
  // Φ(z) = ½ + φ(z)·(z + z³/3 + z⁵/(3·5) + …)
  double sum = z;
  double term = z;
  for (int k = 3;; k += 2) {
    term *= z * z / k;
    const double next = sum + term;
    if (next == sum) break;
    sum = next;
  }
  return 0.5 + kInverseSqrtTwoPi * portable_exp(-0.5 * z * z) * sum;
}

double t_two_sided(double t, double degrees) {
  if (std::isnan(t) || !(degrees > 0)) return kNan;
  if (std::isinf(t)) return 0;
  if (std::isinf(degrees)) return 2 * normal_cdf(-std::fabs(t));
  const double square = t * t;
  if (std::isinf(square)) return 0;
  const double whole = degrees + square;
  return incomplete_beta(degrees / 2, 0.5, degrees / whole, square / whole);
}

double t_quantile(double probability, double degrees) {
  if (!(probability >= 0 && probability <= 1) || !(degrees > 0)) return kNan;
  if (probability == 0.5) return 0;
  if (probability == 0 || probability == 1) return probability == 0 ? -kInfinity : kInfinity;
  if (std::isinf(degrees)) return normal_quantile(probability);
  const double both_tails = 2 * std::min(probability, 1 - probability);
  double high = 1;
  while (t_two_sided(high, degrees) > both_tails && high < 1e150) high *= 2;
  const double t = falls_to(both_tails, high > 1 ? high / 2 : 0, high,
                            [degrees](double candidate) { return t_two_sided(candidate, degrees); });
  return probability < 0.5 ? -t : t;
}

double proportion_upper_bound(std::int64_t events, std::int64_t trials, double confidence) {
  if (!(confidence > 0 && confidence < 1) || events < 0) return kNan;
  if (trials <= events) return 1;
  const auto k = static_cast<double>(events);
  const auto n = static_cast<double>(trials);
  // P(at most k events) falls as the probability rises; the bound is where it has become 1 − confidence.
  return falls_to(1 - confidence, 0, 1, [=](double p) { return incomplete_beta(n - k, k + 1, 1 - p, p); });
}

double proportion_lower_bound(std::int64_t events, std::int64_t trials, double confidence) {
  if (events <= 0) return confidence > 0 && confidence < 1 && events == 0 ? 0 : kNan;
  return 1 - proportion_upper_bound(trials - events, trials, confidence);
}

}  // namespace assay
