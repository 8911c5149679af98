#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analysis/inference.h"
#include "analysis/scaling_checks.h"
#include "base/text.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// The arms of the size that most of them have: configurations are compared at one size. Serving is not compared like
/// this: what a rate means depends on scenario and latency limit.
std::vector<const Arm*> arms_of_one_size(std::span<const Arm> arms) {
  std::map<std::pair<int, int>, std::size_t> count;
  for (const auto& arm : arms) {
    if (arm.any().kind != "serve") ++count[{arm.any().ranks, arm.any().nodes}];
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

bool is_called(const Arm& arm, std::string_view name) { return arm.name == name || arm.any().id == name; }

bool is_tagged(const Arm& arm) {
  const auto& tags = arm.any().tags;
  return std::find(tags.begin(), tags.end(), "baseline") != tags.end();
}

/// The one that was asked for, that bears the tag `baseline`, that is called so, or the first.
std::size_t choose_baseline(std::span<const Arm* const> arms, const std::string& asked) {
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (!asked.empty() && is_called(*arms[i], asked)) return i;
  }
  const auto tagged = std::find_if(arms.begin(), arms.end(), [](const Arm* arm) { return is_tagged(*arm); });
  if (tagged != arms.end()) return static_cast<std::size_t>(tagged - arms.begin());
  const auto called = std::find_if(arms.begin(), arms.end(), [](const Arm* arm) {
    return arm->name == "baseline" || arm->name.starts_with("baseline, ");
  });
  return called == arms.end() ? 0 : static_cast<std::size_t>(called - arms.begin());
}

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

Tone tone_of(ArmVerdict verdict) {
  switch (verdict) {
    case ArmVerdict::faster: return Tone::good;
    case ArmVerdict::slower: return Tone::bad;
    case ArmVerdict::too_few_repeats: return Tone::muted;
    case ArmVerdict::no_significant_difference: return Tone::plain;
  }
  return Tone::plain;
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
  std::string text(name_of(effect.comparison.verdict));
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
  Figure p = effect && effect->comparison.adjusted_p ? fixed_figure(effect->comparison.adjusted_p, 4) : Figure();
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
                                {"adjusted_p", "p (Holm)", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false},
                                {"pareto", "Pareto", "", Align::left, false},
                                {"changes", "Changes", "", Align::left, true}}};
  table.rows.push_back(matrix_row(answer, answer.baseline, nullptr));
  for (const auto& effect : answer.ablation.effects) table.rows.push_back(matrix_row(answer, effect.arm, &effect));
  // A column without a figure is left out: most matrices have no price, many no tokens.
  for (std::size_t column = table.columns.size(); column-- > 0;) {
    const bool empty =
        std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[column].text.empty(); });
    if (!empty) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
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
  if (!ablation.worked.empty() || !ablation.did_not.empty()) {
    facts.facts.emplace_back("Worked", names(answer, ablation.worked));
    facts.facts.emplace_back("Did not", names(answer, ablation.did_not));
  }
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
  return facts;
}

std::optional<FigureTable> expectations_table(const MatrixAnswer& answer) {
  FigureTable table{.id = "expectations",
                    .title = "Expectations that were missed",
                    .columns = {{"configuration", "Configuration", "", Align::left, false},
                                {"metric", "Metric", "", Align::left, false},
                                {"expected", "Expected", "", Align::right, false},
                                {"measured", "Measured", "", Align::right, false},
                                {"change_percent", "Off by", " %", Align::right, false},
                                {"differs", "Differs from the recommended run", "", Align::left, true}}};
  const auto& recommended = answer.ablation.recommendation.arm;
  const auto best = recommended ? settings_of(answer.arms[*recommended]->any()) : std::map<std::string, std::string>{};
  for (const Arm* arm : answer.arms) {
    if (!arm->has_result()) continue;
    const Run& run = arm->any();
    const auto* expect = run.spec.if_contains("expect");
    if (expect == nullptr || !expect->is_object()) continue;
    std::map<std::string, double> wanted;
    for (const auto& [name, value] : expect->get_object()) {
      if (value.is_number()) wanted[std::string(name)] = value.to_number<double>();
    }
    for (const auto& miss : expectation_misses(wanted, run.metrics, settings_of(run), best)) {
      const auto* info = find_metric(miss.metric);
      const std::string_view unit = info ? info->unit : std::string_view{};
      table.rows.push_back({arm->name, miss.metric, value_figure(miss.expected, unit),
                            value_figure(miss.measured, unit), percent_figure(miss.change),
                            join(miss.differences, "; ")});
    }
  }
  return table.rows.empty() ? std::nullopt : std::optional(std::move(table));
}

ChartBlock pareto_chart(const MatrixAnswer& answer) {
  XyChart chart{.x = {.label = "Peak memory", .unit = "B"},
                .y = {.label = "Throughput", .unit = "samples/s", .from_zero = true}};
  for (const auto& arm : answer.configurations) {
    if (!arm.peak_memory_bytes || arm.samples_per_second.empty()) continue;
    chart.series.push_back({.name = arm.name,
                            .stroke = Stroke::points,
                            .points = {{.x = *arm.peak_memory_bytes, .y = mean(arm.samples_per_second)}}});
  }
  return {.id = "speed_memory",
          .title = "Speed against memory",
          .caption = "Up and to the left is better.",
          .chart = std::move(chart),
          .in_terminal = false};
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
    bar.marked = effect.comparison.verdict == ArmVerdict::too_few_repeats;
    chart.bars.push_back(std::move(bar));
  }
  return {
      .id = "gains",
      .title = "Effect of each change",
      .caption = "Per token where the work per sample differs, per sample otherwise; hollow: too few repeats to say.",
      .chart = std::move(chart)};
}

}  // namespace

std::optional<MatrixAnswer> matrix_answer(std::span<const Arm> arms, const ReportOptions& options) {
  MatrixAnswer answer{.configurations = {}, .arms = arms_of_one_size(arms)};
  if (answer.arms.size() < 2) return std::nullopt;
  answer.baseline = choose_baseline(answer.arms, options.baseline);
  const Arm& baseline = *answer.arms[answer.baseline];
  bool changed = false;
  bool measured = false;
  for (const Arm* arm : answer.arms) {
    answer.configurations.push_back(configuration_of(baseline, *arm, options));
    changed |= !answer.configurations.back().changes.empty();
    measured |= !answer.configurations.back().samples_per_second.empty();
  }
  if (!changed || !measured) return std::nullopt;
  answer.ablation = analyse_ablation(answer.configurations, answer.baseline);
  return answer;
}

Section matrix_section(const MatrixAnswer& answer) {
  Section section{.id = "matrix", .title = "Configurations"};
  section.blocks.emplace_back(outcome_facts(answer));
  section.blocks.emplace_back(matrix_table(answer));
  section.blocks.emplace_back(gain_chart(answer));
  const auto with_memory = std::count_if(answer.configurations.begin(), answer.configurations.end(),
                                         [](const auto& arm) { return arm.peak_memory_bytes.has_value(); });
  if (with_memory > 1) section.blocks.emplace_back(pareto_chart(answer));
  if (auto missed = expectations_table(answer)) section.blocks.emplace_back(std::move(*missed));
  return section;
}

std::optional<Section> variants_section(std::span<const Arm> arms, std::string_view metric) {
  const auto chosen = arms_of_one_size(arms);
  const auto first = std::find_if(chosen.begin(), chosen.end(),
                                  [&](const Arm* arm) { return !values_of(arm->usable, metric).empty(); });
  if (chosen.size() < 2 || first == chosen.end()) return std::nullopt;
  const auto* info = find_metric(metric);
  const std::string unit(info ? info->unit : "");
  CompareSettings settings;
  settings.better =
      info && info->better == MetricInfo::Better::lower ? Direction::lower_is_better : Direction::higher_is_better;
  const auto baseline = values_of((*first)->usable, metric);
  std::vector<std::vector<double>> others;
  others.reserve(chosen.size());
  for (const Arm* arm : chosen) others.push_back(values_of(arm->usable, metric));
  const auto comparisons = compare_many(baseline, others, settings);
  FigureTable table{.id = "variants",
                    .title = std::string(metric),
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"repeats", "Repeats", "", Align::right, false},
                                {"mean", "Mean", "", Align::right, false},
                                {"spread_percent", "Spread", " %", Align::right, false},
                                {"gain", "Better by", "×", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false}},
                    .notes = {fmt::format("Held against “{}”, the first configuration.", (*first)->name)}};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Arm& arm = *chosen[i];
    const auto& comparison = comparisons[i];
    const bool is_first = chosen[i] == *first;
    const auto average = mean_or_none(others[i]);
    Figure verdict =
        is_first ? Figure("baseline") : Figure(std::string(name_of(comparison.verdict)), tone_of(comparison.verdict));
    if (!average) verdict = Figure(std::string(verdict_name(arm.any())), tone_of(arm.any().verdict));
    table.rows.push_back({arm.name, count_figure(static_cast<double>(others[i].size())), value_figure(average, unit),
                          others[i].size() > 1 ? percent_figure(coefficient_of_variation(others[i])) : Figure(),
                          average && !is_first ? fixed_figure(comparison.gain, 2) : Figure(), std::move(verdict)});
  }
  return Section{.id = "variants", .title = "Configurations", .blocks = {std::move(table)}};
}

std::optional<ChartBlock> heat_chart(std::span<const Arm> arms, std::string_view metric) {
  const auto chosen = arms_of_one_size(arms);
  std::map<std::string, std::set<std::string>> values;
  for (const Arm* arm : chosen) {
    for (const auto& [name, value] : settings_beside_size(arm->any())) values[name].insert(value);
  }
  std::vector<std::string> varied;
  for (const auto& [name, seen] : values) {
    if (seen.size() > 1) varied.push_back(name);
  }
  if (varied.size() != 2) return std::nullopt;
  std::vector<HeatSample> samples;
  for (const Arm* arm : chosen) {
    const auto settings = settings_beside_size(arm->any());
    if (!settings.contains(varied[0]) || !settings.contains(varied[1])) return std::nullopt;
    const auto measured = values_of(arm->usable, metric);
    for (const double value : measured) samples.push_back({settings.at(varied[0]), settings.at(varied[1]), value});
    if (measured.empty()) samples.push_back({settings.at(varied[0]), settings.at(varied[1]), std::nullopt});
  }
  const HeatMap map = heat_map(samples);
  if (map.rows.size() < 2 || map.columns.size() < 2) return std::nullopt;
  const auto* info = find_metric(metric);
  HeatChart chart{.row_label = varied[0],
                  .column_label = varied[1],
                  .unit = std::string(info ? info->unit : ""),
                  .rows = map.rows,
                  .columns = map.columns};
  for (const auto& row : map.cells) {
    auto& cells = chart.cells.emplace_back();
    for (const auto& cell : row) cells.push_back(cell.value);
  }
  return ChartBlock{.id = "heat_map", .title = std::string(metric), .chart = std::move(chart)};
}

}  // namespace assay
