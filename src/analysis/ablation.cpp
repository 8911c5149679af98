#include "analysis/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/intervals.h"
#include "analysis/recommendation.h"
#include "analysis/statistics.h"
#include "base/assert.h"

namespace assay {
namespace {

constexpr double kSameWork = 0.01;

std::vector<double> per_token(const AblationArm& arm) {
  std::vector<double> rates = arm.samples_per_second;
  for (double& rate : rates) rate *= *arm.tokens_per_sample;
  return rates;
}

WorkPerSample compare_work(const AblationArm& baseline, const AblationArm& arm) {
  const auto& ours = baseline.tokens_per_sample;
  const auto& theirs = arm.tokens_per_sample;
  if (ours && theirs) {
    return std::fabs(*theirs / *ours - 1) > kSameWork ? WorkPerSample::unequal : WorkPerSample::equal;
  }
  if (ours || theirs || arm.changes.contains("seq_length")) return WorkPerSample::unknown;
  return WorkPerSample::equal;
}

bool ran(const AblationArm& arm) { return !finite_values(arm.samples_per_second).empty(); }

std::optional<double> ratio_of(const std::optional<double>& ours, const std::optional<double>& theirs) {
  if (!ours || !theirs || !(*ours > 0)) return std::nullopt;
  return *theirs / *ours;
}

ArmEffect plain_effect(std::span<const AblationArm> arms, std::size_t baseline, std::size_t index,
                       const CompareSettings& settings) {
  const AblationArm& base = arms[baseline];
  const AblationArm& arm = arms[index];
  ArmEffect effect{.arm = index, .failed = !ran(arm), .work = compare_work(base, arm)};
  const auto base_rates = finite_values(base.samples_per_second);
  const auto rates = finite_values(arm.samples_per_second);
  effect.gain_per_sample = mean(rates) / mean(base_rates);
  effect.gain_per_sample_interval = ratio_interval(base_rates, rates, settings.confidence);
  if (base.tokens_per_sample && arm.tokens_per_sample && !effect.failed) {
    const double longer = *arm.tokens_per_sample / *base.tokens_per_sample;
    effect.gain_per_token = effect.gain_per_sample * longer;
    if (const auto& interval = effect.gain_per_sample_interval) {
      effect.gain_per_token_interval = Interval{interval->low * longer, interval->high * longer, interval->confidence};
    }
  }
  effect.memory_ratio = ratio_of(base.peak_memory_bytes, arm.peak_memory_bytes);
  if (const auto price = ratio_of(base.price_per_hour, arm.price_per_hour); price && !effect.failed) {
    const bool by_tokens = effect.work == WorkPerSample::unequal;
    effect.cost_ratio = *price / (by_tokens ? *effect.gain_per_token : effect.gain_per_sample);
  }
  return effect;
}

/// One family of tests over the whole matrix, each on the scale on which its work is equal.
void add_comparisons(std::vector<ArmEffect>& effects, std::span<const AblationArm> arms, std::size_t baseline,
                     const CompareSettings& settings) {
  std::vector<ArmComparison*> family;
  for (ArmEffect& effect : effects) {
    const bool by_tokens = effect.work == WorkPerSample::unequal;
    const auto& arm = arms[effect.arm];
    effect.comparison = by_tokens ? compare_arms(per_token(arms[baseline]), per_token(arm), settings)
                                  : compare_arms(arms[baseline].samples_per_second, arm.samples_per_second, settings);
    family.push_back(&effect.comparison);
  }
  correct_together(family, settings);
}

void add_products(std::vector<ArmEffect>& effects, std::span<const AblationArm> arms) {
  std::map<std::pair<std::string, std::string>, double> alone;
  for (const ArmEffect& effect : effects) {
    const auto& changes = arms[effect.arm].changes;
    if (changes.size() == 1 && !effect.failed) alone[*changes.begin()] = effect.comparison.ratio;
  }
  for (ArmEffect& effect : effects) {
    const auto& changes = arms[effect.arm].changes;
    if (changes.size() < 2 || effect.failed) continue;
    double product = 1;
    const bool all_known = std::all_of(changes.begin(), changes.end(), [&](const auto& change) {
      const auto found = alone.find(change);
      if (found != alone.end()) product *= found->second;
      return found != alone.end();
    });
    if (all_known) effect.product_of_parts = product;
  }
}

void sort_into_lists(Ablation& result, std::span<const AblationArm> arms) {
  std::vector<const ArmEffect*> winners;
  for (const ArmEffect& effect : result.effects) {
    if (effect.failed || arms[effect.arm].failed_repeats > 0) result.failed.push_back(effect.arm);
    if (effect.failed) continue;
    if (effect.work == WorkPerSample::unknown || !was_tested(effect.comparison.verdict)) {
      result.undecided.push_back(effect.arm);
    } else if (effect.comparison.verdict == ArmVerdict::better) {
      winners.push_back(&effect);
    } else {
      auto& list = effect.comparison.verdict == ArmVerdict::worse ? result.slower : result.no_difference;
      list.push_back(effect.arm);
    }
  }
  std::stable_sort(winners.begin(), winners.end(),
                   [](const ArmEffect* a, const ArmEffect* b) { return a->comparison.ratio > b->comparison.ratio; });
  for (const ArmEffect* winner : winners) {
    result.worked.push_back(winner->arm);
    auto& best = arms[winner->arm].changes.size() > 1 ? result.best_combination : result.best_single;
    if (!best) best = winner->arm;
  }
}

/// Speed, memory and cost of every arm that ran, on the axes that all of them have.
void mark_front(Ablation& result, std::span<const AblationArm> arms, std::size_t baseline) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (ran(arms[i])) members.push_back(i);
  }
  if (members.empty()) return;
  const auto all_have = [&](auto AblationArm::* field) {
    return std::all_of(members.begin(), members.end(), [&](std::size_t i) { return (arms[i].*field).has_value(); });
  };
  const bool tokens = all_have(&AblationArm::tokens_per_sample);
  const bool memory = all_have(&AblationArm::peak_memory_bytes);
  const bool cost = all_have(&AblationArm::price_per_hour);
  const bool quality = all_have(&AblationArm::quality);
  result.pareto_axes = {"speed"};
  if (memory) result.pareto_axes.emplace_back("memory");
  if (cost) result.pareto_axes.emplace_back("cost");
  if (quality) result.pareto_axes.emplace_back("quality");
  std::vector<std::vector<double>> points;
  for (const std::size_t i : members) {
    const double rate = mean(finite_values(arms[i].samples_per_second)) * (tokens ? *arms[i].tokens_per_sample : 1);
    points.push_back({-rate});
    if (memory) points.back().push_back(*arms[i].peak_memory_bytes);
    if (cost) points.back().push_back(*arms[i].price_per_hour / rate);
    if (quality) {
      const bool higher = arms[i].quality->better == Direction::higher_is_better;
      points.back().push_back(higher ? -arms[i].quality->b.mean : arms[i].quality->b.mean);
    }
  }
  const auto front = pareto_front(points);
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k] == baseline) result.baseline_on_pareto_front = front[k];
    for (ArmEffect& effect : result.effects) {
      if (effect.arm == members[k]) effect.on_pareto_front = front[k];
    }
  }
}

void add_notes(Ablation& result, std::span<const AblationArm> arms) {
  for (const ArmEffect& effect : result.effects) {
    const AblationArm& arm = arms[effect.arm];
    if (effect.work == WorkPerSample::unequal && !effect.failed) {
      result.notes.push_back(fmt::format("'{}': a sample is not the same work: {:.2f}× per sample, {:.2f}× per token.",
                                         arm.name, effect.gain_per_sample, *effect.gain_per_token));
    } else if (effect.work == WorkPerSample::unknown && !effect.failed) {
      result.notes.push_back(
          fmt::format("'{}': a sample may not be the same work, and tokens were not recorded.", arm.name));
    }
    if (arm.failed_repeats > 0 && !effect.failed) {
      result.notes.push_back(fmt::format("'{}': {} of {} repeats failed; the figures are those of the others.",
                                         arm.name, arm.failed_repeats,
                                         arm.failed_repeats + arm.samples_per_second.size()));
    }
  }
}

}  // namespace

std::vector<bool> pareto_front(std::span<const std::vector<double>> points) {
  const auto beats = [](const std::vector<double>& a, const std::vector<double>& b) {
    bool better = false;
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
      if (a[axis] > b[axis]) return false;
      better = better || a[axis] < b[axis];
    }
    return better;
  };
  std::vector<bool> front;
  for (const auto& point : points) {
    front.push_back(std::none_of(points.begin(), points.end(), [&](const auto& other) { return beats(other, point); }));
  }
  return front;
}

Ablation analyse_ablation(std::span<const AblationArm> arms, std::size_t baseline, const CompareSettings& settings,
                          const QualityMeasure& measure) {
  ASSAY_ASSERT(baseline < arms.size());
  Ablation result;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (i != baseline) result.effects.push_back(plain_effect(arms, baseline, i, settings));
  }
  add_comparisons(result.effects, arms, baseline, settings);
  add_products(result.effects, arms);
  sort_into_lists(result, arms);
  mark_front(result, arms, baseline);
  add_objections(result, arms, measure, settings.confidence);
  result.recommendation = recommend(result, arms, baseline, measure);
  add_notes(result, arms);
  return result;
}

std::vector<ExpectationMiss> expectation_misses(const std::map<std::string, double>& expected,
                                                const std::map<std::string, double>& measured,
                                                const std::function<Direction(std::string_view)>& direction_of,
                                                double tolerance) {
  std::vector<ExpectationMiss> misses;
  for (const auto& [name, target] : expected) {
    const auto found = measured.find(name);
    ExpectationMiss miss{.metric = name, .expected = target};
    if (found != measured.end()) {
      const Direction better = direction_of(name);
      const double difference = found->second - target;
      const double change = difference == 0 ? 0 : difference / std::fabs(target);
      const double worse = better == Direction::higher_is_better  ? -change
                           : better == Direction::lower_is_better ? change
                                                                  : std::fabs(change);
      if (worse <= tolerance) continue;
      miss.measured = found->second;
      miss.change = change;
    }
    misses.push_back(std::move(miss));
  }
  return misses;
}

}  // namespace assay
