#pragma once

namespace assay {

// Functions that give the same bits on every platform, compiler and optimisation level (libm's differ between CPUs).
// They use nothing but the operations that IEEE 754 rounds correctly: + − × ÷ √. Pure; any thread.

/// Natural logarithm, within 1 ulp. 0 gives −inf, a negative number NaN.
double portable_log(double x);

/// e to the x, within 1 ulp. Overflows to infinity and underflows through the subnormals to 0.
double portable_exp(double x);

/// The inverse of the standard normal distribution function, relative error about 1e-16 (Wichura, AS 241).
/// 0 gives −inf and 1 inf; outside [0, 1] NaN.
double normal_quantile(double probability);

}  // namespace assay
