#include "analysis/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/distributions.h"
#include "analysis/intervals.h"
#include "analysis/nan.h"
#include "analysis/statistics.h"
#include "base/portable_math.h"

namespace assay {
namespace {

/// Up to here the number of arrangements (1.3e14) is an exact double.
constexpr std::size_t kMostForExact = 25;

/// Ranks of a and b together: the sum of b's, and how ties spoil the variance.
struct Ranking {
  double rank_sum_b = 0;
  double tie_term = 0;  ///< Σ (t³ − t) over groups of t equal values
};

Ranking rank_together(std::span<const double> a, std::span<const double> b) {
  struct Item {
    double value;
    bool from_b;
  };
  std::vector<Item> items;
  items.reserve(a.size() + b.size());
  for (const double value : a) items.push_back({value, false});
  for (const double value : b) items.push_back({value, true});
  std::sort(items.begin(), items.end(), [](const Item& x, const Item& y) { return x.value < y.value; });
  Ranking ranking;
  for (std::size_t start = 0; start < items.size();) {
    std::size_t end = start;
    while (end < items.size() && items[end].value == items[start].value) ++end;
    const double shared_rank = static_cast<double>(start + 1 + end) / 2;
    for (std::size_t i = start; i < end; ++i) ranking.rank_sum_b += items[i].from_b ? shared_rank : 0;
    const auto ties = static_cast<double>(end - start);
    ranking.tie_term += ties * ties * ties - ties;
    start = end;
  }
  return ranking;
}

/// P(U ≤ u) without ties: the coefficients of the Gaussian binomial, Π (1 − q^(m+i)) / (1 − q^i), are the numbers of
/// arrangements with each U.
double exact_lower_tail(std::size_t m, std::size_t n, std::size_t u) {
  const std::size_t most = m * n;
  std::vector<double> ways(most + 1, 0.0);
  ways[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t k = most; k >= m + i && k <= most; --k) ways[k] -= ways[k - (m + i)];
    for (std::size_t k = i; k <= most; ++k) ways[k] += ways[k - i];
  }
  const auto end = ways.begin() + static_cast<std::ptrdiff_t>(std::min(u, most)) + 1;
  return std::accumulate(ways.begin(), end, 0.0) / std::accumulate(ways.begin(), ways.end(), 0.0);
}

double exact_p(std::size_t n_a, std::size_t n_b, double u) {
  const auto whole = static_cast<std::size_t>(u);
  const std::size_t smaller = std::min(whole, n_a * n_b - whole);
  return std::min(1.0, 2 * exact_lower_tail(n_a, n_b, smaller));
}

double approximate_p(double n_a, double n_b, double u, double tie_term) {
  const double n = n_a + n_b;
  const double variance = n_a * n_b / 12 * (n + 1 - tie_term / (n * (n - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::fabs(u - n_a * n_b / 2) - 0.5);
  return std::min(1.0, 2 * normal_cdf(-distance / std::sqrt(variance)));
}

bool has_no_spread(const Summary& summary) { return summary.min == summary.max; }

ArmVerdict untested_verdict(const ArmComparison& comparison, const CompareSettings& settings) {
  if (std::min(comparison.a.count, comparison.b.count) < std::max<std::size_t>(2, settings.fewest_repeats)) {
    return ArmVerdict::too_few_repeats;
  }
  return has_no_spread(comparison.a) && has_no_spread(comparison.b) ? ArmVerdict::no_spread
                                                                    : ArmVerdict::no_significant_difference;
}

ArmVerdict tested_verdict(const ArmComparison& comparison, const CompareSettings& settings) {
  if (comparison.adjusted_p.value_or(1) > 1 - settings.confidence) return ArmVerdict::no_significant_difference;
  if (comparison.better == Direction::unknown) return ArmVerdict::different;
  const bool b_is_larger = comparison.b.mean > comparison.a.mean;
  return b_is_larger == (comparison.better == Direction::higher_is_better) ? ArmVerdict::better : ArmVerdict::worse;
}

}  // namespace

std::string_view name_of(ArmVerdict verdict) {
  switch (verdict) {
    case ArmVerdict::too_few_repeats: return "too few repeats to say";
    case ArmVerdict::no_significant_difference: return "no significant difference";
    case ArmVerdict::no_spread: return "one distinct value: nothing to test";
    case ArmVerdict::one_seed: return "repeats share one seed: nothing to test";
    case ArmVerdict::different: return "different";
    case ArmVerdict::better: return "better";
    case ArmVerdict::worse: return "worse";
  }
  return "";
}

bool was_tested(ArmVerdict verdict) {
  return verdict != ArmVerdict::too_few_repeats && verdict != ArmVerdict::no_spread && verdict != ArmVerdict::one_seed;
}

std::optional<WelchTest> welch_test(std::span<const double> a, std::span<const double> b, double confidence) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double part_a = sample_variance(a) / n_a;
  const double part_b = sample_variance(b) / n_b;
  const double difference = mean(b) - mean(a);
  const double whole = part_a + part_b;
  WelchTest test;
  if (whole == 0) {
    test.degrees = n_a + n_b - 2;
    test.t = difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
    test.p = difference == 0 ? 1 : 0;
    test.difference = {difference, difference, confidence};
    return test;
  }
  test.degrees = whole * whole / (part_a * part_a / (n_a - 1) + part_b * part_b / (n_b - 1));
  test.t = difference / std::sqrt(whole);
  test.p = t_two_sided(test.t, test.degrees);
  const double half = t_quantile(0.5 + confidence / 2, test.degrees) * std::sqrt(whole);
  test.difference = {difference - half, difference + half, confidence};
  return test;
}

std::optional<RankTest> mann_whitney_test(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const Ranking ranking = rank_together(a, b);
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  RankTest test;
  test.u = ranking.rank_sum_b - n_b * (n_b + 1) / 2;
  test.exact = ranking.tie_term == 0 && std::max(a.size(), b.size()) <= kMostForExact;
  test.p = test.exact ? exact_p(a.size(), b.size(), test.u) : approximate_p(n_a, n_b, test.u, ranking.tie_term);
  return test;
}

double hedges_g(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return kNan;
  const auto free_a = static_cast<double>(a.size() - 1);
  const auto free_b = static_cast<double>(b.size() - 1);
  const double degrees = free_a + free_b;
  const double pooled = std::sqrt((free_a * sample_variance(a) + free_b * sample_variance(b)) / degrees);
  if (pooled == 0) return kNan;
  const double correction =
      portable_exp(log_gamma(degrees / 2) - log_gamma((degrees - 1) / 2)) / std::sqrt(degrees / 2);
  return (mean(b) - mean(a)) / pooled * correction;
}

double cliffs_delta(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return kNan;
  const auto n_a = static_cast<double>(a.size());
  const auto n_b = static_cast<double>(b.size());
  const double u = rank_together(a, b).rank_sum_b - n_b * (n_b + 1) / 2;
  return 2 * u / (n_a * n_b) - 1;
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p_values[x] < p_values[y]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = p_values[order[rank]] * static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

ArmComparison compare_arms(std::span<const double> a, std::span<const double> b, const CompareSettings& settings) {
  const auto kept_a = finite_values(a);
  const auto kept_b = finite_values(b);
  ArmComparison comparison{.better = settings.better, .a = summarise(a), .b = summarise(b)};
  comparison.ratio = mean(kept_b) / mean(kept_a);
  comparison.ratio_interval = ratio_interval(kept_a, kept_b, settings.confidence);
  comparison.welch = welch_test(kept_a, kept_b, settings.confidence);
  comparison.rank = mann_whitney_test(kept_a, kept_b);
  comparison.hedges_g = hedges_g(kept_a, kept_b);
  comparison.cliffs_delta = cliffs_delta(kept_a, kept_b);
  comparison.verdict = untested_verdict(comparison, settings);
  ArmComparison* const alone[] = {&comparison};
  correct_together(alone, settings);
  return comparison;
}

void correct_together(std::span<ArmComparison* const> family, const CompareSettings& settings) {
  std::vector<ArmComparison*> tested;
  std::vector<double> p_values;
  for (ArmComparison* comparison : family) {
    if (!was_tested(comparison->verdict)) continue;
    tested.push_back(comparison);
    p_values.push_back(comparison->welch->p);
  }
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    tested[i]->adjusted_p = std::min(1.0, adjusted[i] * static_cast<double>(settings.families));
    tested[i]->verdict = tested_verdict(*tested[i], settings);
  }
}

std::vector<ArmComparison> compare_many(std::span<const double> baseline, std::span<const std::vector<double>> arms,
                                        const CompareSettings& settings) {
  std::vector<ArmComparison> comparisons;
  comparisons.reserve(arms.size());
  for (const auto& arm : arms) comparisons.push_back(compare_arms(baseline, arm, settings));
  std::vector<ArmComparison*> family;
  family.reserve(comparisons.size());
  for (auto& comparison : comparisons) family.push_back(&comparison);
  correct_together(family, settings);
  return comparisons;
}

std::vector<std::vector<ArmComparison>> compare_metrics(std::span<const MetricArms> metrics, std::size_t baseline,
                                                        const CompareSettings& settings, std::size_t other_families) {
  std::vector<std::vector<ArmComparison>> answers(metrics.size());
  std::vector<ArmComparison*> headlines;
  std::vector<ArmComparison*> others;
  CompareSettings shared = settings;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const MetricArms& metric = metrics[m];
    shared.better = metric.better;
    answers[m].resize(metric.arms.size());
    for (std::size_t i = 0; i < metric.arms.size(); ++i) {
      if (i == baseline) continue;
      ArmComparison& answer = answers[m][i];
      answer = compare_arms(metric.arms[baseline], metric.arms[i], shared);
      if (metric.one_seed && answer.verdict != ArmVerdict::too_few_repeats) {
        answer.verdict = ArmVerdict::one_seed;
        answer.adjusted_p.reset();
      }
      if (was_tested(answer.verdict)) (metric.headline ? headlines : others).push_back(&answer);
    }
  }
  shared.families = (headlines.empty() ? 0 : 1) + (others.empty() ? 0 : 1) + other_families;
  correct_together(headlines, shared);
  correct_together(others, shared);
  return answers;
}

}  // namespace assay
