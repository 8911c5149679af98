#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/interval.h"
#include "analysis/summary.h"

namespace assay {

// Is b different from a? Each value is one independent repeat. Pure; finite values unless said otherwise.

struct WelchTest {
  double t = 0;  ///< positive: b is larger
  double degrees = 0;
  double p = 1;         ///< two-sided
  Interval difference;  ///< of mean(b) − mean(a)
};
/// Two means without the assumption of equal variances. None with fewer than two values in an arm. Arms without any
/// spread give p = 1 where their means are equal and p = 0 where they are not: there is no noise in them to hold a
/// difference against, and `compare_arms` takes no verdict from it.
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

/// Which way is better: more samples a second, or less time. Of a figure that only the user knows, it may be unknown.
enum class Direction { higher_is_better, lower_is_better, unknown };

enum class ArmVerdict {
  too_few_repeats,            ///< fewer than `fewest_repeats` in an arm: no answer, whatever the numbers look like
  no_spread,                  ///< each arm has one distinct value: there is no noise to hold a difference against
  one_seed,                   ///< the repeats of an arm share a seed, and the figure depends on it (callers know that)
  no_significant_difference,  ///< at this level and with these repeats; not a proof that they are equal
  different,                  ///< which way is better is not known
  better,                     ///< b is
  worse,                      ///< b is
};
std::string_view name_of(ArmVerdict verdict);  ///< "too few repeats to say", …
/// Whether a test was done: one of a family that is corrected together.
bool was_tested(ArmVerdict verdict);

struct CompareSettings {
  Direction better = Direction::higher_is_better;
  double confidence = 0.95;
  std::size_t fewest_repeats = 5;
  /// Families of tests among which the level 1 − confidence is shared in equal parts.
  std::size_t families = 1;
};

/// Two configurations beside each other. Figures are given wherever they are defined, also with too few repeats: the
/// verdict alone says what may be concluded.
struct ArmComparison {
  ArmVerdict verdict = ArmVerdict::too_few_repeats;
  Direction better = Direction::higher_is_better;  ///< by which the verdict was given
  Summary a;
  Summary b;
  double ratio = 0;  ///< mean(b)/mean(a), whichever way is better
  std::optional<Interval> ratio_interval;
  std::optional<WelchTest> welch;    ///< decides the verdict
  std::optional<RankTest> rank;      ///< beside it, for data far from normal
  std::optional<double> adjusted_p;  ///< Welch's p, after correction; none where nothing was tested
  double hedges_g = 0;
  double cliffs_delta = 0;
};

/// Non-finite repeats are counted in the summaries and left out of the rest.
ArmComparison compare_arms(std::span<const double> a, std::span<const double> b, const CompareSettings& settings = {});

/// Corrects what was tested as one family: Holm's correction, and the level shared with the other families. Verdicts
/// follow; those that were not tested stay.
void correct_together(std::span<ArmComparison* const> family, const CompareSettings& settings = {});

/// Every arm against one baseline, corrected as one family. In the order given.
std::vector<ArmComparison> compare_many(std::span<const double> baseline, std::span<const std::vector<double>> arms,
                                        const CompareSettings& settings = {});

/// One figure of every arm, one value per repeat.
struct MetricArms {
  std::vector<std::vector<double>> arms;
  Direction better = Direction::unknown;
  bool headline = false;  ///< what the comparison is about, chosen without a look at the values
  bool one_seed = false;  ///< the repeats of an arm share a seed that decides this figure: nothing to test
};

/// Every arm but the baseline in every figure, so that all of it together claims a difference where there is none with
/// probability 1 − confidence at most. Headlines are one family, all other figures a second, each corrected by Holm,
/// and each with half of the level: many side figures do not drown the one that was asked about. `other_families` more
/// share the level. By figure and arm; the baseline's own entry is empty.
std::vector<std::vector<ArmComparison>> compare_metrics(std::span<const MetricArms> metrics, std::size_t baseline,
                                                        const CompareSettings& settings = {},
                                                        std::size_t other_families = 0);

}  // namespace assay
