#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/inference.h"
#include "analysis/scaling_checks.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/outcomes.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// More would not fit a page.
constexpr std::size_t kMostSettings = 6;
constexpr std::size_t kMostFigures = 4;
constexpr std::size_t kMostRows = 150;

bool lower_is_better(const Outcome& outcome) { return outcome.better == Direction::lower_is_better; }

/// Settings that are not the same in all configurations, by name.
std::vector<std::string> varied_settings(const OutcomesAnswer& answer) {
  std::map<std::string, std::set<std::string>> values;
  for (const Arm* arm : answer.arms) {
    const auto settings = settings_beside_size(arm->any());
    for (const auto& [name, value] : settings) values[name].insert(value);
  }
  std::vector<std::string> varied;
  for (const auto& [name, seen] : values) {
    const bool everywhere = std::all_of(answer.arms.begin(), answer.arms.end(), [&](const Arm* arm) {
      return settings_beside_size(arm->any()).contains(name);
    });
    if (seen.size() > 1 || !everywhere) varied.push_back(name);
  }
  return varied;
}

/// Best first by the first figure; those without it last.
std::vector<std::size_t> best_first(const OutcomesAnswer& answer) {
  std::vector<std::size_t> order(answer.arms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Outcome& first = answer.outcomes.front();
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (first.values[a].empty() || first.values[b].empty()) return !first.values[a].empty() && first.values[b].empty();
    const double left = mean(first.values[a]);
    const double right = mean(first.values[b]);
    return lower_is_better(first) ? left < right : left > right;
  });
  return order;
}

std::optional<FigureTable> settings_against_figures(const OutcomesAnswer& answer) {
  const auto varied = varied_settings(answer);
  if (varied.empty() || answer.outcomes.empty()) return std::nullopt;
  const std::size_t settings = std::min(varied.size(), kMostSettings);
  const std::size_t figures = std::min(answer.outcomes.size(), kMostFigures);
  const Outcome& first = answer.outcomes.front();
  FigureTable table{.id = "settings_best",
                    .title = fmt::format("Settings against {}", first.metric),
                    .columns = {{"configuration", "Configuration", "", Align::left, true}}};
  for (std::size_t i = 0; i < settings; ++i) table.columns.push_back({varied[i], varied[i], "", Align::left, false});
  for (std::size_t i = 0; i < figures; ++i) {
    const auto& outcome = answer.outcomes[i];
    table.columns.push_back({"figure_" + outcome.metric, outcome.metric, "", Align::right, false});
  }
  for (const std::size_t index : best_first(answer)) {
    const Arm& arm = *answer.arms[index];
    const auto own = settings_beside_size(arm.any());
    std::vector<Figure> row = {Figure(arm.name, index == answer.baseline ? Tone::strong : Tone::plain)};
    for (std::size_t i = 0; i < settings; ++i) {
      const auto value = own.find(varied[i]);
      row.emplace_back(value == own.end() ? "unset" : value->second);
    }
    for (std::size_t i = 0; i < figures; ++i)
      row.push_back(repeats_figure(answer.outcomes[i].values[index], answer.outcomes[i].unit));
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back(first.better == Direction::unknown
                            ? fmt::format("By {}, the highest first: which way is better is not known.", first.metric)
                            : fmt::format("The best {} first ({}); mean ± standard deviation of the repeats.",
                                          first.metric, lower_is_better(first) ? "lowest" : "highest"));
  if (varied.size() > settings)
    table.notes.push_back(fmt::format("{} more settings vary: see the configurations.", varied.size() - settings));
  return table;
}

void add_outcome_rows(FigureTable& table, const OutcomesAnswer& answer, const Outcome& outcome) {
  for (std::size_t i = 0; i < answer.arms.size(); ++i) {
    const auto& values = outcome.values[i];
    const bool baseline = i == answer.baseline;
    const bool compared = !baseline && !values.empty() && !outcome.against.empty();
    const ArmComparison comparison = compared ? outcome.against[i] : ArmComparison{};
    Figure verdict = baseline ? Figure("baseline") : compared ? verdict_figure(comparison) : Figure();
    if (values.empty()) verdict = Figure(std::string(verdict_name(answer.arms[i]->any())), Tone::muted);
    table.rows.push_back({outcome.metric, answer.arms[i]->name, count_figure(static_cast<double>(values.size())),
                          repeats_figure(values, outcome.unit), compared ? ratio_figure(comparison.ratio) : Figure(),
                          compared && comparison.verdict != ArmVerdict::no_spread
                              ? range_figure(comparison.ratio_interval, 3)
                              : Figure(),
                          p_figure(comparison.adjusted_p), std::move(verdict)});
  }
}

FigureTable outcomes_table(const OutcomesAnswer& answer) {
  FigureTable table{.id = "outcomes",
                    .title = "What came out",
                    .columns = {{"metric", "Metric", "", Align::left, false},
                                {"configuration", "Configuration", "", Align::left, true},
                                {"repeats", "Repeats", "", Align::right, false},
                                {"mean", "Mean ± sd", "", Align::right, false},
                                {"ratio", "Ratio", "×", Align::right, false},
                                {"ratio_interval", "95 % interval", "", Align::right, false},
                                {"adjusted_p", "p (corrected)", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false}}};
  std::size_t left_out = 0;
  for (const auto& outcome : answer.outcomes) {
    const bool fits = table.rows.size() + answer.arms.size() <= kMostRows;
    if (fits || table.rows.empty()) {
      add_outcome_rows(table, answer, outcome);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0)
    table.notes.push_back(
        fmt::format("{} more figures of {} configurations are left out.", left_out, answer.arms.size()));
  table.notes.push_back(
      fmt::format("Ratio: to the mean of the baseline, “{}”. Of validation curves the best point of "
                  "each run counts.",
                  answer.arms[answer.baseline]->name));
  return table;
}

FigureTable level_table(const OutcomesAnswer& answer, const ReportOptions& options) {
  const TimeToLevel& level = *answer.to_level;
  FigureTable table{.id = "to_level",
                    .title = fmt::format("Time to {} {:.4g}", level.metric, level.level),
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"reached", "Reached", "", Align::right, false},
                                {"seconds", "Time", "", Align::right, false},
                                {"ratio", "Ratio", "×", Align::right, false},
                                {"cost", "Cost", "", Align::right, false},
                                {"adjusted_p", "p (corrected)", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false}},
                    .notes = {"The level: short of the mean best of the baseline by three standard deviations of its "
                              "repeats, by 1 % at least. The time runs from the start of the run, set-up included."}};
  for (std::size_t i = 0; i < answer.arms.size(); ++i) {
    const Arm& arm = *answer.arms[i];
    const auto& seconds = level.seconds.values[i];
    const bool baseline = i == answer.baseline;
    const bool all = level.reached[i] == arm.usable.size();
    // The times of those that got there are no fair sample where others did not.
    const bool compared = !baseline && all && !seconds.empty() && !level.seconds.against.empty();
    const ArmComparison comparison = compared ? level.seconds.against[i] : ArmComparison{};
    Figure verdict = baseline ? Figure("baseline") : compared ? verdict_figure(comparison) : Figure();
    if (!all && arm.has_result()) verdict = Figure("not always reached", Tone::bad);
    const auto price = price_of(arm.any(), options);
    Figure cost;
    if (price && !seconds.empty()) {
      const Money per_hour = hourly_cost(*price, allocation_of(arm.any()));
      cost = money_figure(Money{per_hour.amount * mean(seconds) / 3600, per_hour.currency});
    }
    table.rows.push_back({arm.name, fmt::format("{} of {}", level.reached[i], arm.usable.size()),
                          repeats_figure(seconds, "s"), compared ? ratio_figure(comparison.ratio) : Figure(),
                          std::move(cost), p_figure(comparison.adjusted_p), std::move(verdict)});
  }
  return table;
}

/// Every setting that varies, beside what came out with it, best first; each figure with its verdict; the time to a
/// level.
std::vector<Block> figure_blocks(const OutcomesAnswer& answer, const ReportOptions& options) {
  std::vector<Block> blocks;
  if (answer.outcomes.empty()) return blocks;
  if (auto settings = settings_against_figures(answer)) blocks.emplace_back(std::move(*settings));
  FigureTable table = outcomes_table(answer);
  auto tested = answer.outcomes;
  if (answer.to_level) tested.push_back(answer.to_level->seconds);
  for (auto& note : verdict_notes(tested, answer.speed_apart)) table.notes.push_back(std::move(note));
  drop_empty_columns(table);
  blocks.emplace_back(std::move(table));
  if (answer.to_level) {
    FigureTable level = level_table(answer, options);
    drop_empty_columns(level);
    blocks.emplace_back(std::move(level));
  }
  return blocks;
}

/// What was expected and missed, and in which settings that configuration differs from the recommended one.
std::optional<FigureTable> expectations_table(const OutcomesAnswer& answer, const Goals& goals,
                                              const std::optional<std::size_t>& recommended) {
  FigureTable table{.id = "expectations",
                    .title = "Expectations that were missed",
                    .columns = {{"configuration", "Configuration", "", Align::left, false},
                                {"metric", "Metric", "", Align::left, false},
                                {"expected", "Expected", "", Align::right, false},
                                {"measured", "Measured", "", Align::right, false},
                                {"change_percent", "Off by", " %", Align::right, false},
                                {"differs", "Differs from the recommended run", "", Align::left, true}}};
  for (std::size_t i = 0; i < answer.arms.size(); ++i) {
    const Arm& arm = *answer.arms[i];
    const auto differences =
        recommended && *recommended != i
            ? setting_differences(settings_of(answer.arms[*recommended]->any()), settings_of(arm.any()))
            : std::vector<std::string>{};
    for (const auto& miss : misses_of(arm, goals)) {
      const auto* info = find_metric(miss.metric);
      const std::string_view unit = info ? info->unit : std::string_view{};
      table.rows.push_back({arm.name, miss.metric, value_figure(miss.expected, unit), value_figure(miss.measured, unit),
                            percent_figure(miss.change), join(differences, "; ")});
    }
  }
  return table.rows.empty() ? std::nullopt : std::optional(std::move(table));
}

}  // namespace

std::optional<ChartBlock> heat_chart(std::span<const Arm* const> chosen, std::string_view metric, std::string id) {
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
  return ChartBlock{.id = std::move(id), .title = std::string(metric), .chart = std::move(chart)};
}

bool has_configurations(const Answers& answers) {
  const auto& outcomes = answers.outcomes;
  if (answers.matrix) return true;
  // Nodes and serving that did the same everywhere have no configurations to tell apart.
  return outcomes && !outcomes->outcomes.empty() && !answers.scaling && !answers.nodes && !answers.serving;
}

std::vector<Block> outcome_blocks(const Answers& answers, std::string_view metric,
                                  const std::optional<std::size_t>& recommended) {
  const OutcomesAnswer& outcomes = *answers.outcomes;
  auto blocks = figure_blocks(outcomes, answers.input.options);
  if (auto heat = heat_chart(outcomes.arms, metric, "heat_map")) blocks.emplace_back(std::move(*heat));
  if (auto missed = expectations_table(outcomes, answers.goals, recommended)) blocks.emplace_back(std::move(*missed));
  return blocks;
}

std::optional<Section> configurations_section(const Answers& answers) {
  if (answers.matrix || !has_configurations(answers)) return std::nullopt;
  const OutcomesAnswer& outcomes = *answers.outcomes;
  Section section;
  FactList facts{.id = "outcome"};
  const auto& recommendation = outcomes.recommendation;
  if (recommendation.arm)
    facts.facts.emplace_back(recommendation.provisional ? "Best so far" : "Recommended",
                             outcomes.arms[*recommendation.arm]->name);
  if (!recommendation.reason.empty()) facts.facts.emplace_back("Why", recommendation.reason);
  if (!facts.facts.empty()) section.blocks.emplace_back(std::move(facts));
  for (auto& block : outcome_blocks(answers, outcomes.outcomes.front().metric, recommendation.arm))
    section.blocks.push_back(std::move(block));
  return section;
}

}  // namespace assay
