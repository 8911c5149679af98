#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/scaling_checks.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// A difference of cross entropies that nobody would act on.
constexpr double kNegligibleNats = 0.001;

/// Nodes differ by some percent: where an arm ran on more of them than the baseline, those that both used count.
std::vector<const RecordedRun*> on_nodes_of(const Arm& baseline, const Arm& arm) {
  std::set<std::string> hosts;
  for (const auto* one : baseline.usable) hosts.insert(one->run.provenance.hostname);
  std::vector<const RecordedRun*> shared;
  for (const auto* one : arm.usable) {
    if (hosts.contains(one->run.provenance.hostname)) shared.push_back(one);
  }
  return shared.empty() ? arm.usable : shared;
}

std::map<std::string, std::string> changes_between(const Run& baseline, const Run& run) {
  const auto ours = settings_beside_size(baseline);
  std::map<std::string, std::string> changes;
  for (const auto& [name, value] : settings_beside_size(run)) {
    const auto known = ours.find(name);
    if (known == ours.end() || known->second != value) changes[name] = value;
  }
  return changes;
}

/// How well it learnt, held against the baseline; the baseline itself against itself, without a verdict.
std::optional<ArmComparison> held_against(const Outcome& outcome, std::size_t index, std::size_t baseline) {
  if (outcome.against.empty() || outcome.values[index].empty()) return std::nullopt;
  if (index != baseline) return outcome.against[index];
  ArmComparison own = compare_arms(outcome.values[index], outcome.values[index]);
  own.better = outcome.better.value_or(Direction::unknown);
  return own;
}

void add_quality(const OutcomesAnswer& outcomes, std::size_t index, AblationArm& configuration) {
  if (outcomes.quality) {
    const Outcome& quality = outcomes.outcomes[*outcomes.quality];
    if (quality.better != Direction::unknown) configuration.quality = held_against(quality, index, outcomes.baseline);
  }
  if (const auto& level = outcomes.to_level) {
    configuration.short_of_level = outcomes.arms[index]->usable.size() - level->reached[index];
    if (configuration.short_of_level == 0)
      configuration.seconds_to_level = held_against(level->seconds, index, outcomes.baseline);
  }
  configuration.missed = outcomes.missed[index];
}

AblationArm configuration_of(const Arm& baseline, const Arm& arm, const ReportOptions& options) {
  AblationArm configuration{.name = arm.name, .changes = changes_between(baseline.any(), arm.any())};
  const auto runs = on_nodes_of(baseline, arm);
  configuration.samples_per_second = values_of(runs, "samples_per_second");
  if (!arm.usable.empty()) {
    configuration.tokens_per_sample = tokens_per_sample(arm.any());
    for (const auto* one : runs) {
      const auto memory = peak_memory(one->run);
      if (memory)
        configuration.peak_memory_bytes = std::max(configuration.peak_memory_bytes.value_or(0), memory->bytes);
    }
  }
  if (const auto price = price_of(arm.any(), options)) {
    configuration.price_per_hour = hourly_cost(*price, allocation_of(arm.any())).amount;
  }
  for (const auto* one : arm.others) {
    if (one->run.state != RunState::ended) continue;
    ++configuration.failed_repeats;
    if (configuration.failure) continue;
    const Run& run = one->run;
    configuration.failure = run.error
                                ? ArmFailure{std::string(name_of(run.error->kind)), run.error->message, run.error->hint}
                                : ArmFailure{std::string(verdict_name(run)), trouble_of(run), ""};
  }
  return configuration;
}

/// Of speeds the words are faster and slower.
std::string speed_word(ArmVerdict verdict) {
  if (verdict == ArmVerdict::better) return "faster";
  return verdict == ArmVerdict::worse ? "slower" : std::string(name_of(verdict));
}

std::string changes_text(const AblationArm& arm) {
  std::vector<std::string> parts;
  parts.reserve(arm.changes.size());
  for (const auto& [name, value] : arm.changes) parts.push_back(fmt::format("{}={}", name, value));
  return join(parts, ", ");
}

std::optional<double> mean_or_none(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

Figure effect_verdict(const ArmEffect& effect, const AblationArm& arm) {
  if (effect.failed) return {arm.failure ? arm.failure->kind : "failed", Tone::bad};
  std::string text = speed_word(effect.comparison.verdict);
  if (effect.work == WorkPerSample::unequal) text += " (per token)";
  if (effect.work == WorkPerSample::unknown) return {"work per sample not known", Tone::warning};
  return {text, tone_of(effect.comparison.verdict)};
}

std::vector<Figure> matrix_row(const MatrixAnswer& answer, std::size_t index, const ArmEffect* effect) {
  const AblationArm& arm = answer.configurations[index];
  const auto rate = mean_or_none(arm.samples_per_second);
  std::optional<double> token_rate;
  if (rate && arm.tokens_per_sample) token_rate = *rate * *arm.tokens_per_sample;
  const bool failed = effect ? effect->failed : !rate;
  const bool unequal = effect && effect->work != WorkPerSample::equal;
  const bool recommended = answer.ablation.recommendation.arm == index;
  const bool front = effect ? effect->on_pareto_front : answer.ablation.baseline_on_pareto_front;
  Figure per_sample =
      effect && !failed ? fixed_figure(effect->gain_per_sample, 2, unequal ? Tone::warning : Tone::plain) : Figure();
  if (!effect && rate) per_sample = fixed_figure(1.0, 2);
  Figure per_token = effect ? fixed_figure(effect->gain_per_token, 2) : (token_rate ? fixed_figure(1.0, 2) : Figure());
  Figure p = effect ? p_figure(effect->comparison.adjusted_p) : Figure();
  return {
      Figure(arm.name, recommended ? Tone::strong : Tone::plain),
      count_figure(static_cast<double>(arm.samples_per_second.size())),
      rate_figure(rate),
      token_rate_figure(token_rate),
      per_sample,
      per_token,
      arm.peak_memory_bytes ? fixed_figure(*arm.peak_memory_bytes / 1e9, 2) : Figure(),
      effect ? fixed_figure(effect->cost_ratio, 2) : Figure(),
      p,
      effect ? effect_verdict(*effect, arm) : Figure(failed ? "failed" : "baseline", failed ? Tone::bad : Tone::plain),
      front && answer.ablation.pareto_axes.size() > 1 ? Figure("yes") : Figure(),
      Figure(changes_text(arm), Tone::muted)};
}

FigureTable matrix_table(const MatrixAnswer& answer) {
  FigureTable table{.id = "matrix",
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, false},
                                {"repeats", "Repeats", "", Align::right, false},
                                {"samples_per_second", "Samples/s", "", Align::right, false},
                                {"tokens_per_second", "Tokens/s", "", Align::right, false},
                                {"gain_per_sample", "Per sample", "×", Align::right, false},
                                {"gain_per_token", "Per token", "×", Align::right, false},
                                {"memory_gb", "Memory (GB)", "", Align::right, false},
                                {"cost_ratio", "Cost", "×", Align::right, false},
                                {"adjusted_p", "p (corrected)", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false},
                                {"pareto", "Pareto", "", Align::left, false},
                                {"changes", "Changes", "", Align::left, true}}};
  table.rows.push_back(matrix_row(answer, answer.baseline, nullptr));
  for (const auto& effect : answer.ablation.effects) table.rows.push_back(matrix_row(answer, effect.arm, &effect));
  // Most matrices have no price, many no tokens.
  drop_empty_columns(table);
  table.notes.push_back(
      fmt::format("Figures are multiples of the baseline, “{}”.", answer.configurations[answer.baseline].name));
  for (const auto& note : answer.ablation.notes) table.notes.push_back(note);
  return table;
}

std::string names(const MatrixAnswer& answer, const std::vector<std::size_t>& arms) {
  std::vector<std::string> list;
  list.reserve(arms.size());
  for (const auto arm : arms) list.push_back(answer.configurations[arm].name);
  return list.empty() ? "nothing" : join(list, ", ");
}

FactList outcome_facts(const MatrixAnswer& answer) {
  const Ablation& ablation = answer.ablation;
  FactList facts{.id = "matrix_outcome"};
  const bool tested = !ablation.worked.empty() || !ablation.slower.empty() || !ablation.no_difference.empty();
  if (tested) facts.facts.emplace_back("Faster", names(answer, ablation.worked));
  if (!ablation.slower.empty()) facts.facts.emplace_back("Slower", names(answer, ablation.slower));
  if (!ablation.no_difference.empty())
    facts.facts.emplace_back("No difference that could be told", names(answer, ablation.no_difference));
  if (!ablation.undecided.empty()) facts.facts.emplace_back("Cannot be said", names(answer, ablation.undecided));
  if (!ablation.failed.empty()) {
    std::vector<std::string> list;
    for (const auto index : ablation.failed) {
      const AblationArm& arm = answer.configurations[index];
      list.push_back(arm.failure ? fmt::format("{} ({}: {})", arm.name, arm.failure->kind, arm.failure->message)
                                 : arm.name);
    }
    facts.facts.emplace_back("Failed", join(list, "; "));
  }
  if (ablation.best_single)
    facts.facts.emplace_back("Best single change", answer.configurations[*ablation.best_single].name);
  if (ablation.best_combination)
    facts.facts.emplace_back("Best combination", answer.configurations[*ablation.best_combination].name);
  if (ablation.recommendation.arm) {
    facts.facts.emplace_back(ablation.recommendation.provisional ? "Fastest so far" : "Recommended",
                             answer.configurations[*ablation.recommendation.arm].name);
  }
  facts.facts.emplace_back("Why", ablation.recommendation.reason);
  std::vector<std::string> held_back;
  for (const auto& effect : ablation.effects) {
    if (effect.objections.empty() || effect.failed) continue;
    held_back.push_back(fmt::format("{} ({})", answer.configurations[effect.arm].name, join(effect.objections, "; ")));
  }
  if (!held_back.empty()) facts.facts.emplace_back("Not recommended", join(held_back, "; "));
  if (!ablation.trades.empty())
    facts.facts.emplace_back("Trade",
                             fmt::format("speed against {}: {}", answer.quality.name, names(answer, ablation.trades)));
  return facts;
}

std::optional<ChartBlock> memory_chart(const MatrixAnswer& answer) {
  XyChart chart{.x = {.label = "Peak memory", .unit = "B"},
                .y = {.label = "Throughput", .unit = "samples/s", .from_zero = true}};
  for (const auto& arm : answer.configurations) {
    if (!arm.peak_memory_bytes || arm.samples_per_second.empty()) continue;
    chart.series.push_back({.name = arm.name,
                            .stroke = Stroke::points,
                            .points = {{.x = *arm.peak_memory_bytes, .y = mean(arm.samples_per_second)}}});
  }
  if (chart.series.size() < 2) return std::nullopt;
  return ChartBlock{.id = "speed_memory",
                    .title = "Speed against memory",
                    .caption = "Up and to the left is better.",
                    .chart = std::move(chart),
                    .in_terminal = false};
}

/// What speed costs in quality: where configurations trade one for the other, this is the choice.
std::optional<ChartBlock> quality_chart(const MatrixAnswer& answer) {
  XyChart chart{.x = {.label = answer.quality.name, .unit = ""},
                .y = {.label = "Throughput", .unit = "samples/s", .from_zero = true}};
  bool higher = false;
  for (const auto& arm : answer.configurations) {
    if (!arm.quality || arm.samples_per_second.empty()) continue;
    higher = arm.quality->better == Direction::higher_is_better;
    chart.series.push_back({.name = arm.name,
                            .stroke = Stroke::points,
                            .points = {{.x = arm.quality->b.mean, .y = mean(arm.samples_per_second)}}});
  }
  if (chart.series.size() < 2) return std::nullopt;
  return ChartBlock{.id = "speed_quality",
                    .title = fmt::format("Speed against {}", answer.quality.name),
                    .caption = fmt::format("Up and to the {} is better.", higher ? "right" : "left"),
                    .chart = std::move(chart),
                    .in_terminal = !answer.ablation.trades.empty()};
}

ChartBlock gain_chart(const MatrixAnswer& answer) {
  BarChart chart{.value = {.label = "Times the baseline", .unit = "", .from_zero = true},
                 .references = {{"baseline", 1}}};
  for (const auto& effect : answer.ablation.effects) {
    const bool by_tokens = effect.work == WorkPerSample::unequal && effect.gain_per_token;
    Bar bar{.name = answer.configurations[effect.arm].name};
    if (!effect.failed) bar.value = by_tokens ? effect.gain_per_token : std::optional(effect.gain_per_sample);
    const auto& interval = by_tokens ? effect.gain_per_token_interval : effect.gain_per_sample_interval;
    if (interval && !effect.failed) bar.range = std::pair(interval->low, interval->high);
    bar.marked = !was_tested(effect.comparison.verdict);
    chart.bars.push_back(std::move(bar));
  }
  return {
      .id = "gains",
      .title = "Effect of each change",
      .caption = "Per token where the work per sample differs, per sample otherwise; hollow: too few repeats to say.",
      .chart = std::move(chart)};
}

}  // namespace

std::optional<MatrixAnswer> matrix_answer(const OutcomesAnswer& outcomes, const ReportOptions& options) {
  MatrixAnswer answer{.configurations = {}, .arms = outcomes.arms, .baseline = outcomes.baseline};
  const Arm& baseline = *answer.arms[answer.baseline];
  if (!outcomes.speed_apart) return std::nullopt;
  for (std::size_t i = 0; i < answer.arms.size(); ++i) {
    auto& configuration = answer.configurations.emplace_back(configuration_of(baseline, *answer.arms[i], options));
    add_quality(outcomes, i, configuration);
  }
  if (outcomes.quality) {
    answer.quality.name = outcomes.outcomes[*outcomes.quality].metric;
    if (is_cross_entropy(answer.quality.name)) answer.quality.negligible = kNegligibleNats;
  }
  answer.ablation =
      analyse_ablation(answer.configurations, answer.baseline, {.families = outcomes.families}, answer.quality);
  return answer;
}

std::optional<Section> matrix_section(const Answers& answers) {
  if (!answers.matrix) return std::nullopt;
  const MatrixAnswer& answer = *answers.matrix;
  Section section;
  section.blocks.emplace_back(outcome_facts(answer));
  section.blocks.emplace_back(matrix_table(answer));
  section.blocks.emplace_back(gain_chart(answer));
  if (auto chart = quality_chart(answer)) section.blocks.emplace_back(std::move(*chart));
  if (auto chart = memory_chart(answer)) section.blocks.emplace_back(std::move(*chart));
  for (auto& block : outcome_blocks(answers, speed_metric(answers.input.runs), answer.ablation.recommendation.arm))
    section.blocks.push_back(std::move(block));
  return section;
}

}  // namespace assay
