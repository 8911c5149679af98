#include "analysis/recommendation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "base/text.h"

namespace assay {
namespace {

/// By how much a mean may be worse where nothing could be tested.
constexpr double kLossTolerance = 0.05;
constexpr double kShareTolerance = 0.01;

bool larger_is_worse(const ArmComparison& comparison) { return comparison.better == Direction::lower_is_better; }

/// How much worse the mean of b is, relative to that of a; negative: better.
double relative_loss(const ArmComparison& comparison) {
  const double change = (comparison.b.mean - comparison.a.mean) / std::fabs(comparison.a.mean);
  return larger_is_worse(comparison) ? change : -change;
}

/// Whether it is worse at the uncorrected level.
bool worse_before_correction(const ArmComparison& comparison, double confidence) {
  return was_tested(comparison.verdict) && comparison.welch->p <= 1 - confidence && relative_loss(comparison) > 0;
}

std::string percent_worse(const ArmComparison& comparison) {
  return fmt::format("{:.1f} %", std::fabs(relative_loss(comparison)) * 100);
}

/// Slower to the level beyond noise; untested, by more than 5 %.
bool later_at_level(const ArmComparison& to_level, double confidence) {
  if (was_tested(to_level.verdict)) return worse_before_correction(to_level, confidence);
  return relative_loss(to_level) > kLossTolerance;
}

bool slower(const ArmEffect& effect, double confidence) {
  return effect.comparison.verdict == ArmVerdict::worse || worse_before_correction(effect.comparison, confidence);
}

/// The time to the level where it is known, else the speed: what a configuration is chosen by.
double merit_of(const ArmEffect& effect, const AblationArm& arm, bool by_level) {
  return by_level ? 1 / arm.seconds_to_level->ratio : effect.comparison.ratio;
}

std::string at_quality(const ArmEffect& effect, std::string_view quality) {
  switch (effect.quality) {
    case QualityStanding::better: return fmt::format(", and better in {}", quality);
    case QualityStanding::kept: return fmt::format(", with no loss of {} beyond noise", quality);
    case QualityStanding::worse:
    case QualityStanding::not_measured: break;
  }
  return "; how well it learns was not measured";
}

const ArmEffect* best_of(const std::vector<const ArmEffect*>& candidates, std::span<const AblationArm> arms) {
  const bool by_level = std::all_of(candidates.begin(), candidates.end(), [&](const ArmEffect* effect) {
    return arms[effect->arm].seconds_to_level.has_value();
  });
  const auto best = std::max_element(candidates.begin(), candidates.end(), [&](const auto* a, const auto* b) {
    return merit_of(*a, arms[a->arm], by_level) < merit_of(*b, arms[b->arm], by_level);
  });
  return best == candidates.end() ? nullptr : *best;
}

AblationRecommendation stay_with(const AblationArm& baseline, std::size_t index, const Ablation& result) {
  if (!baseline.missed.empty()) {
    return {.reason = fmt::format("No configuration meets what was expected; the baseline misses {}.",
                                  join(baseline.missed, ", "))};
  }
  const bool held_back = std::any_of(result.effects.begin(), result.effects.end(), [](const ArmEffect& effect) {
    return effect.comparison.verdict == ArmVerdict::better && !effect.objections.empty();
  });
  return {.arm = index,
          .reason = held_back ? "What is faster than the baseline pays for it: see the trade."
                              : "No change was significantly faster than the baseline."};
}

}  // namespace

QualityStanding standing_of(const ArmComparison& quality, double negligible, double confidence) {
  if (quality.a.count == 0 || quality.b.count == 0) return QualityStanding::not_measured;
  if (std::fabs(quality.b.mean - quality.a.mean) <= negligible) return QualityStanding::kept;
  if (was_tested(quality.verdict)) {
    if (quality.verdict == ArmVerdict::better) return QualityStanding::better;
    return worse_before_correction(quality, confidence) ? QualityStanding::worse : QualityStanding::kept;
  }
  const double allowed = larger_is_worse(quality) ? kLossTolerance : kShareTolerance;
  const double loss = relative_loss(quality);
  return std::isfinite(loss) && loss > allowed ? QualityStanding::worse : QualityStanding::kept;
}

void add_objections(Ablation& result, std::span<const AblationArm> arms, const QualityMeasure& measure,
                    double confidence) {
  const std::string& quality = measure.name;
  for (ArmEffect& effect : result.effects) {
    const AblationArm& arm = arms[effect.arm];
    if (effect.failed) continue;
    if (arm.quality) effect.quality = standing_of(*arm.quality, measure.negligible, confidence);
    if (arm.failed_repeats > 0) effect.objections.emplace_back("not every repeat succeeded");
    if (!arm.missed.empty()) effect.objections.push_back("misses " + join(arm.missed, ", "));
    if (effect.quality == QualityStanding::worse) {
      effect.objections.push_back(fmt::format("{} worse in {}", percent_worse(*arm.quality), quality));
    }
    // A single one may be bad luck; the quality as such is judged above.
    if (2 * arm.short_of_level > arm.samples_per_second.size()) {
      effect.objections.push_back(fmt::format("{} repeat{} never got as far as the baseline in {}", arm.short_of_level,
                                              arm.short_of_level == 1 ? "" : "s", quality));
    } else if (arm.short_of_level == 0 && arm.seconds_to_level && later_at_level(*arm.seconds_to_level, confidence)) {
      effect.objections.push_back(fmt::format("takes {} longer to get as far as the baseline in {}",
                                              percent_worse(*arm.seconds_to_level), quality));
    }
    const bool gains_speed = effect.comparison.verdict == ArmVerdict::better;
    const bool trade = (gains_speed && effect.quality == QualityStanding::worse) ||
                       (effect.quality == QualityStanding::better && slower(effect, confidence));
    if (trade) result.trades.push_back(effect.arm);
  }
}

AblationRecommendation recommend(const Ablation& result, std::span<const AblationArm> arms, std::size_t baseline,
                                 const QualityMeasure& measure) {
  const std::string& quality = measure.name;
  std::vector<const ArmEffect*> faster;
  std::vector<const ArmEffect*> better;
  std::vector<const ArmEffect*> open;
  for (const ArmEffect& effect : result.effects) {
    if (effect.failed || effect.work == WorkPerSample::unknown || !effect.objections.empty()) continue;
    const ArmVerdict speed = effect.comparison.verdict;
    if (speed == ArmVerdict::better) faster.push_back(&effect);
    if (effect.quality == QualityStanding::better && speed == ArmVerdict::no_significant_difference)
      better.push_back(&effect);
    if (!was_tested(speed) && effect.comparison.ratio > 1) open.push_back(&effect);
  }
  if (const ArmEffect* best = best_of(faster, arms)) {
    return {.arm = best->arm,
            .reason = fmt::format("The fastest of those that are significantly faster than the baseline{}.",
                                  at_quality(*best, quality))};
  }
  if (const ArmEffect* best = best_of(better, arms)) {
    return {.arm = best->arm,
            .reason = fmt::format("Significantly better in {} than the baseline, at no loss of speed.", quality)};
  }
  if (const ArmEffect* best = best_of(open, arms)) {
    return {.arm = best->arm,
            .provisional = true,
            .reason = "The fastest so far, but too few repeats to say: repeat both at least five times."};
  }
  const AblationArm& base = arms[baseline];
  if (finite_values(base.samples_per_second).empty())
    return {.reason = "The baseline did not run, so nothing can be compared with it."};
  return stay_with(base, baseline, result);
}

AblationRecommendation recommend_by_figure(std::span<const FigureArm> arms, std::size_t baseline, Direction better,
                                           std::string_view name) {
  if (better == Direction::unknown) {
    return {.reason = fmt::format("Which way {} is better is not known: say it with `goals` in the specification, or "
                                  "with --higher or --lower.",
                                  name)};
  }
  const auto leads = [&](std::size_t a, std::size_t b) {
    const double left = arms[a].figure.b.mean;
    const double right = arms[b].figure.b.mean;
    return better == Direction::higher_is_better ? left > right : left < right;
  };
  std::optional<std::size_t> proven;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (i == baseline || arms[i].held_back || arms[i].figure.b.count == 0) continue;
    const ArmVerdict verdict = arms[i].figure.verdict;
    if (verdict == ArmVerdict::better && (!proven || leads(i, *proven))) proven = i;
    if (!was_tested(verdict) && leads(i, open.value_or(baseline))) open = i;
  }
  if (proven) {
    return {.arm = proven,
            .reason = fmt::format("The best of those that are significantly better in {} than the baseline.", name)};
  }
  if (open) {
    const bool few = arms[*open].figure.verdict == ArmVerdict::too_few_repeats;
    return {
        .arm = open,
        .provisional = true,
        .reason = few ? fmt::format("The best {} so far, but too few repeats to say: repeat at least five times.", name)
                      : fmt::format("The best {}; every repeat gave the same, so that nothing tells the difference "
                                    "from chance.",
                                    name)};
  }
  if (arms[baseline].figure.b.count == 0)
    return {.reason = fmt::format("The baseline has no {}, so nothing can be compared with it.", name)};
  if (arms[baseline].held_back) return {.reason = "No configuration meets what was expected."};
  return {.arm = baseline, .reason = fmt::format("No change was significantly better in {} than the baseline.", name)};
}

}  // namespace assay
