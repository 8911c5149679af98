#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/statistics.h"

namespace assay {

// Is b different from a? Each value is one independent repeat. Pure; finite values unless said otherwise.

struct WelchTest {
  double t = 0;  ///< positive: b is larger
  double degrees = 0;
  double p = 1;         ///< two-sided
  Interval difference;  ///< of mean(b) − mean(a)
};
/// Two means without the assumption of equal variances. None with fewer than two values in an arm. Arms without any
/// spread give p = 1 where their means are equal and p = 0 where they are not.
std::optional<WelchTest> welch_test(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

struct RankTest {
  double u = 0;  ///< pairs in which b is larger, ties count half
  double p = 1;  ///< two-sided
  bool exact = false;
};
/// Mann–Whitney. Exact up to 25 values an arm without ties; otherwise the normal approximation with correction for ties
/// and continuity. None where an arm is empty.
std::optional<RankTest> mann_whitney_test(std::span<const double> a, std::span<const double> b);

/// (mean(b) − mean(a)) in pooled standard deviations, corrected for few values. NaN with fewer than two values in an
/// arm or no spread at all.
double hedges_g(std::span<const double> a, std::span<const double> b);
/// P(b > a) − P(b < a) over all pairs, −1 … 1. NaN where an arm is empty.
double cliffs_delta(std::span<const double> a, std::span<const double> b);

/// Holm's correction: p-values to be compared with one common level although there are many of them. In the order
/// given.
std::vector<double> holm_adjusted(std::span<const double> p_values);

/// Which way is better: more samples a second, or less time.
enum class Direction { higher_is_better, lower_is_better };

enum class ArmVerdict {
  too_few_repeats,            ///< fewer than `fewest_repeats` in an arm: no answer, whatever the numbers look like
  no_significant_difference,  ///< at this level and with these repeats; not a proof that they are equal
  faster,                     ///< b is better
  slower,                     ///< b is worse
};
std::string_view name_of(ArmVerdict verdict);  ///< "too few repeats to say", …

struct CompareSettings {
  Direction better = Direction::higher_is_better;
  double confidence = 0.95;
  std::size_t fewest_repeats = 5;
};

/// Two configurations beside each other. Figures are given wherever they are defined, also with too few repeats: the
/// verdict alone says what may be concluded.
struct ArmComparison {
  ArmVerdict verdict = ArmVerdict::too_few_repeats;
  Summary a;
  Summary b;
  double gain = 0;  ///< how many times better b is: mean(b)/mean(a), or mean(a)/mean(b) where lower is better
  std::optional<Interval> gain_interval;
  std::optional<WelchTest> welch;    ///< decides the verdict
  std::optional<RankTest> rank;      ///< beside it, for data far from normal
  std::optional<double> adjusted_p;  ///< Welch's p, after Holm's correction where there were several comparisons
  double hedges_g = 0;
  double cliffs_delta = 0;
};

/// Non-finite repeats are counted in the summaries and left out of the rest.
ArmComparison compare_arms(std::span<const double> a, std::span<const double> b, const CompareSettings& settings = {});

/// Every arm against one baseline, with Holm's correction over the arms that have enough repeats. In the order given.
std::vector<ArmComparison> compare_many(std::span<const double> baseline, std::span<const std::vector<double>> arms,
                                        const CompareSettings& settings = {});

}  // namespace assay
