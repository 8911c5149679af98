#include "report/build/outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/recommendation.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "model/metric.h"
#include "report/build/baseline.h"
#include "report/build/figures.h"

namespace assay {
namespace {

/// The arms of the size that most of them have, or that of the baseline that was asked for: configurations are compared
/// at one size. Serving is not compared like this: what a rate means depends on scenario and latency limit.
std::vector<const Arm*> arms_of_one_size(std::span<const Arm> arms, const std::string& asked) {
  std::map<std::pair<int, int>, std::size_t> count;
  for (const auto& arm : arms) {
    if (arm.any().kind == "serve") continue;
    auto& weight = count[{arm.any().ranks, arm.any().nodes}];
    weight += !asked.empty() && is_called(arm, asked) ? arms.size() : 1;
  }
  if (count.empty()) return {};
  const auto most =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<const Arm*> chosen;
  for (const auto& arm : arms) {
    if (arm.any().kind == "serve") continue;
    if (std::pair(arm.any().ranks, arm.any().nodes) == most->first) chosen.push_back(&arm);
  }
  return chosen;
}

/// Figures of which another one says the same: a perplexity follows from its loss.
bool is_implied(const std::string& metric, const std::set<std::string>& present) {
  const auto has = [&](const char* name) { return present.contains(name); };
  if (metric == "perplexity") return has("loss") || has("final_loss");
  if (metric == "val_perplexity") return has("val_loss");
  return metric == "loss" && has("final_loss");
}

/// Known figures that say what came out; of the rest of the known ones, none does.
bool is_result(const std::string& metric) {
  const auto* known = find_metric(metric);
  return known == nullptr || known->places.outcome;
}

std::optional<double> figure_of(const Run& run, const std::string& metric, const std::optional<Direction>& better) {
  if (!is_validation(metric) || !better || *better == Direction::unknown) return metric_of(run, metric);
  return best_of(run, metric, *better == Direction::lower_is_better);
}

Outcome outcome_of(const std::string& metric, std::span<const Arm* const> arms, const Goals& goals) {
  const auto* info = find_metric(metric);
  Outcome outcome{.metric = metric,
                  .unit = std::string(info ? info->unit : ""),
                  .better = goals.direction_of(metric),
                  .headline = goals.is_headline(metric)};
  for (const Arm* arm : arms) {
    auto& values = outcome.values.emplace_back();
    for (const auto* one : arm->usable) {
      if (const auto value = figure_of(one->run, metric, outcome.better)) values.push_back(*value);
    }
    outcome.one_seed = outcome.one_seed || (decided_by_seed(metric) && share_one_seed(*arm));
  }
  return outcome;
}

bool speed_is_apart(std::span<const Arm* const> arms) {
  const auto first = settings_beside_size(arms.front()->any());
  const bool measured = std::any_of(
      arms.begin(), arms.end(), [](const Arm* arm) { return !values_of(arm->usable, "samples_per_second").empty(); });
  return measured && std::any_of(arms.begin(), arms.end(),
                                 [&](const Arm* arm) { return settings_beside_size(arm->any()) != first; });
}

std::vector<std::string> metrics_to_show(std::span<const Arm* const> arms, const Goals& goals, bool speed_apart) {
  std::set<std::string> present;
  for (const Arm* arm : arms) {
    for (const auto* one : arm->usable) {
      for (const auto& [name, value] : one->run.metrics) present.insert(name);
    }
  }
  const bool has_rate = present.contains("samples_per_second") || present.contains("tokens_per_second");
  std::vector<std::string> shown;
  for (const auto& name : goals.headlines()) {
    if (present.contains(name)) shown.push_back(name);
  }
  for (const auto& name : present) {
    const bool known = std::find(shown.begin(), shown.end(), name) != shown.end();
    const bool wanted = (is_result(name) && !is_implied(name, present)) || (!has_rate && name == "duration_seconds");
    if (!known && wanted && goals.direction_of(name)) shown.push_back(name);
  }
  // The matrix compares them, by tokens where samples differ in length.
  if (speed_apart) {
    std::erase_if(shown, [](const auto& name) { return name == "samples_per_second" || name == "tokens_per_second"; });
  }
  return shown;
}

const RunSeries* curve_of(const RecordedRun& one, const std::string& metric) {
  const auto named = [&](const std::string& name) {
    return std::find_if(one.series.begin(), one.series.end(),
                        [&](const auto& series) { return series.key.name == name && series.points.size() > 1; });
  };
  auto found = named(metric);
  if (found == one.series.end()) found = named("epoch." + metric);
  return found == one.series.end() ? nullptr : &*found;
}

bool at_least_as_good(double value, double level, bool lowest) { return lowest ? value <= level : value >= level; }

std::optional<double> best_on_curve(const RecordedRun& one, const std::string& metric, bool lowest) {
  const RunSeries* curve = curve_of(one, metric);
  if (curve == nullptr) return std::nullopt;
  const auto order = [](const SeriesPoint& a, const SeriesPoint& b) { return a.value < b.value; };
  const auto [least, most] = std::minmax_element(curve->points.begin(), curve->points.end(), order);
  return lowest ? least->value : most->value;
}

/// From the start of the run, since that is what is waited and paid for.
std::optional<double> seconds_to(const RecordedRun& one, const std::string& metric, double level, bool lowest) {
  const RunSeries* curve = curve_of(one, metric);
  if (curve == nullptr) return std::nullopt;
  for (const auto& point : curve->points) {
    if (!at_least_as_good(point.value, level, lowest)) continue;
    const double seconds = static_cast<double>(point.time_ns - one.run.started.time_since_epoch().count()) / 1e9;
    return seconds > 0 ? std::optional(seconds) : std::nullopt;
  }
  return std::nullopt;
}

/// A level that runs like the baseline's reach: short of the mean of its bests by three standard deviations, or by 1 %
/// where there is less noise or none. Its own best would be out of reach for every second equal.
std::optional<double> level_of(const Arm& baseline, const std::string& metric, bool lowest) {
  std::vector<double> bests;
  for (const auto* one : baseline.usable) {
    // Times of imported logs are not those of the run.
    const auto best = one->run.started == WallTime{} ? std::nullopt : best_on_curve(*one, metric, lowest);
    if (!best || !std::isfinite(*best)) return std::nullopt;
    bests.push_back(*best);
  }
  if (bests.empty()) return std::nullopt;
  const double noise = bests.size() > 1 ? 3 * standard_deviation(bests) : 0;
  const double margin = std::max(noise, 0.01 * std::fabs(mean(bests)));
  return lowest ? mean(bests) + margin : mean(bests) - margin;
}

std::optional<TimeToLevel> time_to_level(std::span<const Arm* const> arms, std::size_t baseline, const Goals& goals) {
  const auto& metric = goals.quality();
  if (!metric || !is_validation(*metric)) return std::nullopt;
  const Direction better = goals.direction_or_unknown(*metric);
  if (better == Direction::unknown) return std::nullopt;
  const bool lowest = better == Direction::lower_is_better;
  const auto level = level_of(*arms[baseline], *metric, lowest);
  if (!level) return std::nullopt;
  TimeToLevel answer{.metric = *metric, .level = *level};
  answer.seconds = {.metric = fmt::format("seconds to {} {:.4g}", *metric, *level),
                    .unit = "s",
                    .better = Direction::lower_is_better,
                    .headline = true};
  for (const Arm* arm : arms) {
    auto& values = answer.seconds.values.emplace_back();
    for (const auto* one : arm->usable) {
      if (const auto seconds = seconds_to(*one, *metric, *level, lowest)) values.push_back(*seconds);
    }
    answer.reached.push_back(values.size());
    answer.seconds.one_seed = answer.seconds.one_seed || share_one_seed(*arm);
  }
  return answer;
}

AblationRecommendation recommendation_of(const OutcomesAnswer& answer) {
  if (answer.outcomes.empty()) return {};
  const Outcome& first = answer.outcomes.front();
  if (first.against.empty())
    return {.reason = fmt::format("The baseline has no {}, so nothing can be compared with it.", first.metric)};
  std::vector<FigureArm> arms(answer.arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    arms[i].figure = i == answer.baseline ? compare_arms(first.values[i], first.values[i]) : first.against[i];
    const auto& others = answer.arms[i]->others;
    const bool failed =
        std::any_of(others.begin(), others.end(), [](const auto* one) { return one->run.state == RunState::ended; });
    arms[i].held_back = !answer.missed[i].empty() || (i != answer.baseline && failed);
    for (const auto& other : answer.outcomes) {
      if (i == answer.baseline || !other.headline || &other == &first || other.against.empty()) continue;
      arms[i].held_back = arms[i].held_back || standing_of(other.against[i]) == QualityStanding::worse;
    }
  }
  return recommend_by_figure(arms, answer.baseline, first.better.value_or(Direction::unknown), first.metric);
}

}  // namespace

std::size_t test_outcomes(std::vector<Outcome>& outcomes, std::size_t baseline, std::size_t other_families) {
  std::vector<MetricArms> tested;
  std::vector<Outcome*> places;
  for (auto& outcome : outcomes) {
    if (!outcome.better || outcome.values[baseline].empty()) continue;
    tested.push_back({outcome.values, *outcome.better, outcome.headline, outcome.one_seed});
    places.push_back(&outcome);
  }
  auto answers = compare_metrics(tested, baseline, {}, other_families);
  bool headlines = false;
  bool others = false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const auto& answer : answers[i]) {
      if (answer.adjusted_p) (places[i]->headline ? headlines : others) = true;
    }
    places[i]->against = std::move(answers[i]);
  }
  return other_families + (headlines ? 1 : 0) + (others ? 1 : 0);
}

std::vector<std::string> verdict_notes(std::span<const Outcome> outcomes, bool speed_tested_apart) {
  std::size_t headlines = 0;
  std::size_t others = 0;
  bool unknown = false;
  std::vector<std::string> names;
  for (const auto& outcome : outcomes) {
    const auto tests = static_cast<std::size_t>(
        std::count_if(outcome.against.begin(), outcome.against.end(),
                      [](const auto& comparison) { return comparison.adjusted_p.has_value(); }));
    (outcome.headline ? headlines : others) += tests;
    if (outcome.headline && tests > 0) names.push_back(outcome.metric);
    unknown = unknown || (tests > 0 && outcome.better == Direction::unknown);
  }
  if (headlines + others == 0)
    return {"No verdicts: a test needs five repeats on both sides, and noise to test against."};
  std::vector<std::string> families;
  if (speed_tested_apart) families.emplace_back("speed");
  if (headlines > 0)
    families.push_back(fmt::format("{} ({} test{})", join(names, ", "), headlines, headlines == 1 ? "" : "s"));
  if (others > 0) families.push_back(fmt::format("the other figures ({} test{})", others, others == 1 ? "" : "s"));
  const std::string how =
      families.size() == 1
          ? fmt::format("Holm's correction over all of them: {}", families.front())
          : fmt::format("the level shared in equal parts among {}, each with Holm's correction", join(families, "; "));
  std::vector<std::string> notes = {fmt::format(
      "Verdicts: Welch's t-tests, two-sided, level 5 %, {}. Where nothing differs, at most 5 % of such reports "
      "claim a difference anywhere. Fewer than 5 repeats on a side give no verdict.",
      how)};
  if (unknown)
    notes.emplace_back(
        "“Different”: which way is better is not known. Say it with `goals` in the specification, or with --higher or "
        "--lower.");
  return notes;
}

Figure verdict_figure(const ArmComparison& comparison) {
  return {std::string(name_of(comparison.verdict)), tone_of(comparison.verdict)};
}

std::vector<ExpectationMiss> misses_of(const Arm& arm, const Goals& goals) {
  if (!arm.has_result()) return {};
  const auto* expect = arm.any().spec.if_contains("expect");
  if (expect == nullptr || !expect->is_object()) return {};
  std::map<std::string, double> wanted;
  std::map<std::string, double> measured;
  for (const auto& [name, value] : expect->get_object()) {
    if (!value.is_number()) continue;
    wanted[std::string(name)] = value.to_number<double>();
    const auto values = values_of(arm.usable, std::string_view(name));
    if (!values.empty()) measured[std::string(name)] = mean(values);
  }
  return expectation_misses(wanted, measured, [&](std::string_view name) { return goals.direction_or_unknown(name); });
}

std::optional<OutcomesAnswer> outcomes_answer(std::span<const Arm> arms, const Goals& goals,
                                              const ReportOptions& options) {
  OutcomesAnswer answer{.arms = arms_of_one_size(arms, options.baseline)};
  if (answer.arms.size() < 2) return std::nullopt;
  answer.baseline = choose_baseline(answer.arms, options.baseline);
  answer.speed_apart = speed_is_apart(answer.arms);
  for (const auto& metric : metrics_to_show(answer.arms, goals, answer.speed_apart)) {
    answer.outcomes.push_back(outcome_of(metric, answer.arms, goals));
    if (goals.quality() == metric) answer.quality = answer.outcomes.size() - 1;
  }
  answer.to_level = time_to_level(answer.arms, answer.baseline, goals);
  if (answer.to_level) answer.outcomes.push_back(answer.to_level->seconds);
  answer.families = test_outcomes(answer.outcomes, answer.baseline, answer.speed_apart ? 1 : 0);
  if (answer.to_level) {
    answer.to_level->seconds = std::move(answer.outcomes.back());
    answer.outcomes.pop_back();
  }
  for (const Arm* arm : answer.arms) {
    auto& phrases = answer.missed.emplace_back();
    for (const auto& miss : misses_of(*arm, goals)) phrases.push_back(miss.metric);
  }
  answer.recommendation = recommendation_of(answer);
  return answer;
}

}  // namespace assay
