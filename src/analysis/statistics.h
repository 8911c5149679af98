#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay {

struct Summary;

// Figures that describe one set of numbers. Pure functions of finite numbers, in any order; the same numbers in the
// same order give the same bits. What is not defined (the mean of nothing, the variance of one number) is NaN, and so
// is the result wherever an input is NaN.

/// Turns the median absolute deviation of normal numbers into their standard deviation.
constexpr double kMadToSigma = 1.4826;

double mean(std::span<const double> values);
/// Divided by n−1; needs two values.
double sample_variance(std::span<const double> values);
double standard_deviation(std::span<const double> values);
/// Standard deviation (n−1) over the size of the mean: 0.0089 is 0.89 %.
double coefficient_of_variation(std::span<const double> values);
/// The middle one, or the mean of the two middle ones.
double median(std::span<const double> values);
/// The median of |value − median|, as it is; times kMadToSigma it estimates the standard deviation.
double median_absolute_deviation(std::span<const double> values);

/// The exact percentiles of MLPerf's LoadGen, sorted[⌊n·p⌋], at most the last one; each `p` in [0, 1]. Always values
/// that were measured: the ones for latencies. About one copy and one pass for all of them; the answers are in the
/// order of `ps`. A million values take some 20 ms.
std::vector<double> percentiles_nearest(std::vector<double> values, std::span<const double> ps);
/// Linear between neighbours (type 7 of Hyndman and Fan; the default of NumPy and R). For few values.
double percentile_interpolated(std::span<const double> values, double p);

/// The values that are neither NaN nor infinite, in their order.
std::vector<double> finite_values(std::span<const double> values);

/// Non-finite values are counted and left out.
Summary summarise(std::span<const double> values);

}  // namespace assay
