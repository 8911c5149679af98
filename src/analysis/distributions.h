#pragma once

#include <cstdint>

namespace assay {

// Probability distributions for tests and intervals. Pure; built on base/portable_math.h and the operations that IEEE
// 754 rounds correctly, so that a p-value in a report is the same on every machine. Relative error below
// 1e-12 (1e-10 where a parameter is in the hundred thousands), far tails included. An argument outside the stated range
// gives NaN.

/// ln Γ(x); x > 0.
double log_gamma(double x);

/// The regularised incomplete beta function I_x(a, b); a, b > 0, x in [0, 1]. Called by tests: what is below rests on
/// it.
double incomplete_beta(double a, double b, double x);

/// Standard normal distribution function Φ(z). Small results keep their relative precision.
double normal_cdf(double z);

/// P(|T| ≥ |t|) of Student's t, with full relative precision in the far tail; `degrees` > 0 and not necessarily whole,
/// infinity gives the normal distribution.
double t_two_sided(double t, double degrees);
/// The t with P(T ≤ t) = probability; 0 gives −inf and 1 inf.
double t_quantile(double probability, double degrees);

/// Upper confidence bound (one-sided, Clopper–Pearson) of a probability of which `events` were seen in `trials`.
/// 0 in 100,000 gives about 3e-5 at 95 %. 1 where trials ≤ events. Called by bench/detector.
double proportion_upper_bound(std::int64_t events, std::int64_t trials, double confidence);
/// The lower bound; 0 where there were no events. Called by bench/detector.
double proportion_lower_bound(std::int64_t events, std::int64_t trials, double confidence);

}  // namespace assay
