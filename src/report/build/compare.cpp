#include "report/build/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/significance.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "report/build/baseline.h"
#include "report/build/figures.h"
#include "report/build/outcomes.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct Side {
  const CompareSide* source = nullptr;
  Arm arm;
  std::map<std::string, std::vector<double>> derived;  ///< by metric name, one value per usable run
};

/// The best point of a curve over the validation data, beside its last one.
const std::map<std::string, std::string> kBestOf = {{"best val_loss", "val_loss"},
                                                    {"best val_accuracy", "val_accuracy"}};

Side side_of(const CompareSide& source, const Goals& goals, const ReportOptions& options) {
  Side side{.source = &source, .arm = {.name = source.label}};
  for (const auto& one : source.runs) (usable(one.run) ? side.arm.usable : side.arm.others).push_back(&one);
  for (const auto* one : side.arm.usable) {
    const Run& run = one->run;
    const auto add = [&](const std::string& name, std::optional<double> value) {
      if (value) side.derived[name].push_back(*value);
    };
    // Each currency has a row of its own: there is no ratio of dollars to euros.
    const auto add_cost = [&](std::string_view name, const std::optional<Money>& money) {
      if (money) add(fmt::format("{} ({})", name, money->currency), money->amount);
    };
    if (const auto batch = effective_batch(run)) add("effective batch", static_cast<double>(*batch));
    if (const auto rate = metric_of(run, "samples_per_second")) add("samples/s per rank", *rate / run.ranks);
    add("tokens per sample", tokens_per_sample(run));
    for (const auto& [name, metric] : kBestOf) {
      const auto direction = goals.direction_of(metric);
      const bool has_curve = summary_of(run, metric) != nullptr;
      if (has_curve && direction) add(name, best_of(run, metric, *direction == Direction::lower_is_better));
    }
    const auto price = price_of(run, options);
    if (!price) continue;
    const auto cost = cost_of(*price, allocation_of(run),
                              {.seconds = seconds_paid_for(run),
                               .samples_per_second = metric_of(run, "samples_per_second"),
                               .tokens_per_second = metric_of(run, "tokens_per_second")});
    add_cost("cost of the run", cost.run);
    add_cost("cost per 1,000 samples", cost.per_1000_samples);
    add_cost("cost per 1 M tokens", cost.per_million_tokens);
  }
  return side;
}

std::vector<FigureColumn> side_columns(const std::vector<Side>& sides, FigureColumn first) {
  std::vector<FigureColumn> columns = {std::move(first)};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    columns.push_back({fmt::format("side_{}", i + 1), sides[i].arm.name, "", Align::right, true});
  }
  return columns;
}

/// A row of texts where not all are equal; values of one side that differ between its own runs are joined.
void add_if_different(FigureTable& table, const std::string& name, const std::vector<std::set<std::string>>& values) {
  if (std::all_of(values.begin(), values.end(), [&](const auto& set) { return set == values.front(); })) return;
  std::vector<Figure> row = {Figure(name)};
  for (const auto& set : values)
    row.emplace_back(set.empty() ? "unset" : join(set, " | "), set == values.front() ? Tone::plain : Tone::strong);
  table.rows.push_back(std::move(row));
}

FigureTable settings_table(const std::vector<Side>& sides) {
  FigureTable table{.id = "settings",
                    .title = "Settings that differ",
                    .columns = side_columns(sides, {"setting", "Setting", "", Align::left, false})};
  std::map<std::string, std::vector<std::set<std::string>>> values;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (const auto& one : sides[i].source->runs) {
      for (const auto& [name, value] : settings_of(one.run)) {
        auto& row = values[name];
        row.resize(sides.size());
        row[i].insert(value);
      }
    }
  }
  // A command that has parameters differs by them, and by seeds: they say it in fewer words.
  const bool parameters = std::any_of(values.begin(), values.end(),
                                      [](const auto& setting) { return setting.first.starts_with("params."); });
  for (const auto& [name, row] : values) {
    if (name != "command" || !parameters) add_if_different(table, name, row);
  }
  return table;
}

FigureTable environment_table(const std::vector<Side>& sides) {
  FigureTable table{.id = "environment",
                    .title = "Environment that differs",
                    .columns = side_columns(sides, {"fact", "Fact", "", Align::left, false})};
  struct Fact {
    const char* name;
    std::string (*of)(const Provenance&);
  };
  const Fact facts[] = {
      {"host", [](const Provenance& p) { return p.hostname; }},
      {"GPUs",
       [](const Provenance& p) {
         return p.gpus.empty() ? std::string() : fmt::format("{} × {}", p.gpus.size(), p.gpus.front().name);
       }},
      {"GPU driver", [](const Provenance& p) { return p.gpu_driver; }},
      {"CPU", [](const Provenance& p) { return p.cpu_model; }},
      {"CPU cores", [](const Provenance& p) { return p.cpu_cores > 0 ? std::to_string(p.cpu_cores) : std::string(); }},
      {"kernel", [](const Provenance& p) { return p.kernel; }},
      {"operating system", [](const Provenance& p) { return p.os; }},
      {"PyTorch", [](const Provenance& p) { return p.torch_version; }},
      {"Python", [](const Provenance& p) { return p.python_version; }},
      {"engine", [](const Provenance& p) { return p.engine_version; }},
      {"assay", [](const Provenance& p) { return p.assay_version; }},
      {"source commit", [](const Provenance& p) {
         return p.git_commit.substr(0, 12) + (p.git_dirty.value_or(false) ? " with local changes" : "");
       }}};
  for (const auto& fact : facts) {
    std::vector<std::set<std::string>> values(sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      for (const auto& one : sides[i].source->runs) {
        if (auto text = fact.of(one.run.provenance); !text.empty()) values[i].insert(std::move(text));
      }
    }
    add_if_different(table, fact.name, values);
  }
  return table;
}

std::vector<double> values_on(const Side& side, const std::string& metric) {
  const auto derived = side.derived.find(metric);
  return derived == side.derived.end() ? values_of(side.arm.usable, metric) : derived->second;
}

std::vector<std::string> metrics_on(const std::vector<Side>& sides) {
  std::set<std::string> present;
  for (const auto& side : sides) {
    for (const auto* one : side.arm.usable) {
      for (const auto& [name, value] : one->run.metrics) present.insert(name);
    }
  }
  std::vector<std::string> ordered;
  for (const auto& metric : known_metrics()) {
    if (present.erase(std::string(metric.name)) > 0) ordered.emplace_back(metric.name);
  }
  ordered.insert(ordered.end(), present.begin(), present.end());
  return ordered;
}

/// Every figure of the sides: what was recorded, then what follows from it.
std::vector<Outcome> outcomes_of(const std::vector<Side>& sides, const Goals& goals,
                                 const std::vector<std::string>& headlines) {
  std::vector<std::string> names = metrics_on(sides);
  for (const auto& side : sides) {
    for (const auto& [name, values] : side.derived) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::vector<Outcome> outcomes;
  for (const auto& name : names) {
    const auto best = kBestOf.find(name);
    const std::string& measured = best == kBestOf.end() ? name : best->second;
    const auto* info = find_metric(measured);
    Outcome outcome{.metric = name, .unit = std::string(info ? info->unit : "")};
    const bool derived =
        std::any_of(sides.begin(), sides.end(), [&](const auto& side) { return side.derived.contains(name); });
    // What follows from other figures would be tested twice.
    if (!derived || best != kBestOf.end()) outcome.better = goals.direction_of(measured);
    outcome.headline = std::find(headlines.begin(), headlines.end(), name) != headlines.end();
    for (const auto& side : sides) {
      outcome.values.push_back(values_on(side, name));
      outcome.one_seed = outcome.one_seed || (decided_by_seed(name) && share_one_seed(side.arm));
    }
    outcomes.push_back(std::move(outcome));
  }
  test_outcomes(outcomes, 0);
  return outcomes;
}

void add_outcome_row(FigureTable& table, const Outcome& outcome) {
  std::vector<Figure> row = {Figure(outcome.metric, outcome.headline ? Tone::strong : Tone::plain)};
  for (const auto& values : outcome.values) row.push_back(repeats_figure(values, outcome.unit));
  const auto& base = outcome.values.front();
  for (std::size_t i = 1; i < outcome.values.size(); ++i) {
    const auto& values = outcome.values[i];
    const bool both = !values.empty() && !base.empty();
    row.push_back(both ? ratio_figure(mean(values) / mean(base)) : Figure());
    const bool judged = both && !outcome.against.empty();
    Figure verdict = judged ? verdict_figure(outcome.against[i]) : Figure();
    if (judged && outcome.against[i].adjusted_p) verdict.parts = {{"p", *outcome.against[i].adjusted_p}};
    row.push_back(std::move(verdict));
  }
  table.rows.push_back(std::move(row));
}

FigureTable metrics_table(const std::vector<Side>& sides, const std::vector<Outcome>& outcomes) {
  FigureTable table{
      .id = "metrics", .title = "Figures", .columns = side_columns(sides, {"metric", "Metric", "", Align::left, true})};
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const std::string name = sides.size() == 2 ? "" : " " + sides[i].arm.name;
    table.columns.push_back({fmt::format("ratio_{}", i + 1), "Ratio" + name, "×", Align::right, false});
    table.columns.push_back({fmt::format("verdict_{}", i + 1), "Verdict" + name, "", Align::left, false});
  }
  for (const auto& outcome : outcomes) add_outcome_row(table, outcome);
  table.notes.push_back(
      fmt::format("Mean ± standard deviation over repeats. Ratio: to the mean of {}.", sides.front().arm.name));
  for (auto& note : verdict_notes(outcomes)) table.notes.push_back(std::move(note));
  return table;
}

FigureTable sides_table(const std::vector<Side>& sides) {
  FigureTable table{.id = "sides",
                    .title = "",
                    .columns = {{"side", "Side", "", Align::left, true},
                                {"runs", "Runs", "", Align::right, false},
                                {"usable", "Used", "", Align::right, false},
                                {"size", "Size", "", Align::left, false},
                                {"verdicts", "Verdicts", "", Align::left, false},
                                {"trouble", "What to know", "", Align::left, true}}};
  for (const auto& side : sides) {
    std::map<std::string, int> verdicts;
    std::string trouble;
    bool mixed = false;
    for (const auto& one : side.source->runs) {
      ++verdicts[std::string(verdict_name(one.run))];
      if (trouble.empty()) trouble = trouble_of(one.run);
      mixed |= settings_beside_size(one.run) != settings_beside_size(side.source->runs.front().run);
    }
    if (mixed) trouble.insert(0, "Its runs do not all have the same settings: they are no repeats of each other. ");
    std::vector<std::string> words;
    words.reserve(verdicts.size());
    for (const auto& [word, count] : verdicts)
      words.push_back(side.source->runs.size() == 1 ? word : fmt::format("{} {}", count, word));
    const bool all_valid = std::all_of(side.source->runs.begin(), side.source->runs.end(),
                                       [](const auto& one) { return one.run.verdict == Verdict::valid; });
    table.rows.push_back({Figure(side.arm.name, Tone::strong),
                          count_figure(static_cast<double>(side.source->runs.size())),
                          count_figure(static_cast<double>(side.arm.usable.size())), size_name(side.arm.any()),
                          Figure(join(words, ", "), side.arm.usable.empty() ? Tone::bad
                                                    : all_valid             ? Tone::good
                                                                            : Tone::warning),
                          Figure(trouble, Tone::muted)});
  }
  return table;
}

std::string effect_text(const ArmComparison& comparison) {
  std::vector<std::string> parts = {p_text(comparison.adjusted_p.value_or(1))};
  if (std::isfinite(comparison.hedges_g)) parts.push_back(fmt::format("Hedges' g {:.2f}", comparison.hedges_g));
  if (comparison.ratio_interval)
    parts.push_back(fmt::format("95 % interval {}–{}×", ratio_text(comparison.ratio_interval->low),
                                ratio_text(comparison.ratio_interval->high)));
  return join(parts, ", ");
}

/// "1.058× long in loss"; of what is nothing there is no multiple: "loss 0.25 against 0 of long".
std::string against_base(const Outcome& outcome, std::size_t side, const std::string& base) {
  const double ratio = outcome.against[side].ratio;
  if (std::isfinite(ratio)) return fmt::format("{}× {} in {}", ratio_text(ratio), base, outcome.metric);
  return fmt::format("{} {:.4g} against {:.4g} of {}", outcome.metric, mean(outcome.values[side]),
                     mean(outcome.values.front()), base);
}

/// One sentence for each side and headline, with the ratio that the table has.
std::vector<std::string> answers_for(const std::vector<Side>& sides, const std::vector<Outcome>& outcomes) {
  std::vector<std::string> sentences;
  const std::string& base = sides.front().arm.name;
  if (sides.front().arm.usable.empty())
    return {fmt::format("{} has no usable run: nothing can be compared with it.", base)};
  for (const auto& outcome : outcomes) {
    if (!outcome.headline || outcome.against.empty()) continue;
    for (std::size_t i = 1; i < sides.size(); ++i) {
      const std::string& name = sides[i].arm.name;
      const ArmComparison& comparison = outcome.against[i];
      if (outcome.values[i].empty()) {
        sentences.push_back(fmt::format("{} has no usable {}.", name, outcome.metric));
        continue;
      }
      const std::string figure = against_base(outcome, i, base);
      if (!was_tested(comparison.verdict)) {
        sentences.push_back(fmt::format("{}: {}, but {}.", name, figure, name_of(comparison.verdict)));
      } else {
        sentences.push_back(
            fmt::format("{}: {}, {} ({}).", name, figure, name_of(comparison.verdict), effect_text(comparison)));
      }
    }
  }
  return sentences;
}

bool unequal_work(const std::vector<Side>& sides) {
  std::vector<double> tokens;
  for (const auto& side : sides) {
    if (!side.arm.usable.empty()) {
      if (const auto count = tokens_per_sample(side.arm.any())) tokens.push_back(*count);
    }
  }
  if (tokens.size() < 2) return false;
  const auto [least, most] = std::minmax_element(tokens.begin(), tokens.end());
  return *most > *least * 1.01;
}

std::vector<std::string> headlines_of(const std::vector<Side>& sides, const Goals& goals, bool unequal) {
  std::vector<std::string> headlines = goals.headlines();
  for (auto& name : headlines) {
    if (unequal && name == "samples_per_second") name = "tokens_per_second";
    const auto best = std::find_if(kBestOf.begin(), kBestOf.end(), [&](const auto& one) { return one.second == name; });
    if (best != kBestOf.end() && sides.front().derived.contains(best->first)) name = best->first;
  }
  return headlines;
}

Section differences_section(const std::vector<Side>& sides) {
  Section differences{.id = "differences", .title = "What differs"};
  const auto add = [&](FigureTable table, std::string if_none) {
    if (table.rows.empty()) {
      differences.blocks.emplace_back(Paragraph{std::move(if_none)});
    } else {
      differences.blocks.emplace_back(std::move(table));
    }
  };
  add(settings_table(sides), "All settings are the same.");
  add(environment_table(sides), "No difference in the environment was recorded.");
  return differences;
}

}  // namespace

std::vector<CompareSide> sides_of(const std::vector<RecordedRun>& runs) {
  std::vector<CompareSide> sides;
  for (const auto& arm : arms_of(runs)) {
    CompareSide side{.label = arm.name};
    for (const auto* one : arm.usable) side.runs.push_back(*one);
    for (const auto* one : arm.others) side.runs.push_back(*one);
    sides.push_back(std::move(side));
  }
  return sides;
}

Result<void> choose_first(std::vector<CompareSide>& sides, std::string_view baseline) {
  std::vector<Arm> arms;
  for (const auto& side : sides) {
    Arm& arm = arms.emplace_back(Arm{.name = side.label});
    for (const auto& one : side.runs) (usable(one.run) ? arm.usable : arm.others).push_back(&one);
  }
  ASSAY_CHECK(check_baseline(arms, baseline));
  std::vector<const Arm*> places;
  places.reserve(arms.size());
  for (const auto& arm : arms) places.push_back(&arm);
  const auto chosen = static_cast<std::ptrdiff_t>(choose_baseline(places, baseline));
  std::rotate(sides.begin(), sides.begin() + chosen, sides.begin() + chosen + 1);
  return {};
}

Document comparison_of(const std::vector<CompareSide>& sources, const ReportOptions& options) {
  std::vector<RecordedRun> all;
  std::vector<std::string> labels;
  for (const auto& source : sources) {
    labels.push_back(source.label);
    all.insert(all.end(), source.runs.begin(), source.runs.end());
  }
  const Goals goals(all, options);
  std::vector<Side> sides;
  sides.reserve(sources.size());
  for (const auto& source : sources) sides.push_back(side_of(source, goals, options));
  const bool unequal = unequal_work(sides);
  const auto outcomes = outcomes_of(sides, goals, headlines_of(sides, goals, unequal));
  Document document{.title = join(labels, " vs "), .subtitle = fmt::format("{} runs", all.size())};
  Section summary{.id = "summary", .title = "Summary"};
  for (auto& sentence : answers_for(sides, outcomes))
    summary.blocks.emplace_back(Paragraph{std::move(sentence), Tone::strong});
  if (unequal)
    summary.blocks.emplace_back(
        Paragraph{"A sample is not the same amount of work on all sides: compare tokens, not samples.", Tone::warning});
  summary.blocks.emplace_back(sides_table(sides));
  document.sections.push_back(std::move(summary));
  document.sections.push_back(differences_section(sides));
  document.sections.push_back({.id = "figures", .title = "Side by side", .blocks = {metrics_table(sides, outcomes)}});
  std::vector<Arm> arms;
  arms.reserve(sides.size());
  for (auto& side : sides) arms.push_back(side.arm);
  if (auto curves = curves_over(arms)) {
    curves->id = "curves";
    curves->title = "Curves";
    curves->in_terminal = true;
    document.sections.push_back(std::move(*curves));
  }
  return document;
}

}  // namespace assay
