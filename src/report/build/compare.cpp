#include "report/build/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/significance.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "model/metric.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct Side {
  const CompareSide* source = nullptr;
  Arm arm;
  std::map<std::string, std::vector<double>> derived;  ///< by metric name, one value per usable run
};

Side side_of(const CompareSide& source, const ReportOptions& options) {
  Side side{.source = &source, .arm = {.name = source.label}};
  for (const auto& one : source.runs) (usable(one.run) ? side.arm.usable : side.arm.others).push_back(&one);
  for (const auto* one : side.arm.usable) {
    const Run& run = one->run;
    const auto add = [&](const char* name, std::optional<double> value) {
      if (value) side.derived[name].push_back(*value);
    };
    if (const auto batch = effective_batch(run)) add("effective batch", static_cast<double>(*batch));
    if (const auto rate = metric_of(run, "samples_per_second")) add("samples/s per rank", *rate / run.ranks);
    add("tokens per sample", tokens_per_sample(run));
    const auto price = price_of(run, options);
    if (!price) continue;
    auto seconds = metric_of(run, "train_seconds");
    if (!seconds) seconds = metric_of(run, "duration_seconds");
    const auto cost = cost_of(*price, allocation_of(run),
                              {.seconds = seconds,
                               .samples_per_second = metric_of(run, "samples_per_second"),
                               .tokens_per_second = metric_of(run, "tokens_per_second")});
    add("cost of the run", cost.run ? std::optional(cost.run->amount) : std::nullopt);
    add("cost per 1,000 samples", cost.per_1000_samples ? std::optional(cost.per_1000_samples->amount) : std::nullopt);
    add("cost per 1 M tokens", cost.per_million_tokens ? std::optional(cost.per_million_tokens->amount) : std::nullopt);
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
    row.emplace_back(set.empty() ? "unset" : fmt::format("{}", fmt::join(set, " | ")),
                     set == values.front() ? Tone::plain : Tone::strong);
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
  for (const auto& [name, row] : values) add_if_different(table, name, row);
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

std::vector<std::vector<double>> values_on_all(const std::vector<Side>& sides, const std::string& metric) {
  std::vector<std::vector<double>> values;
  values.reserve(sides.size());
  for (const auto& side : sides) values.push_back(values_on(side, metric));
  return values;
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

Tone comparison_tone(ArmVerdict verdict) {
  if (verdict == ArmVerdict::faster) return Tone::good;
  return verdict == ArmVerdict::slower ? Tone::bad : Tone::muted;
}

std::string verdict_word(ArmVerdict verdict) {
  // "faster" is the word for speeds; for a loss it is better or worse.
  if (verdict == ArmVerdict::faster) return "better";
  return verdict == ArmVerdict::slower ? "worse" : std::string(name_of(verdict));
}

std::string mean_text(const std::vector<double>& values, std::string_view unit) {
  const std::string text = format_value(mean(values), unit);
  return values.size() < 2 ? text : fmt::format("{} ± {}", text, format_value(standard_deviation(values), unit));
}

/// p-values of one metric on all sides but the first, corrected together.
std::vector<ArmComparison> compare_metric(const std::vector<std::vector<double>>& values, const MetricInfo* info) {
  CompareSettings settings;
  settings.better =
      info && info->better == MetricInfo::Better::lower ? Direction::lower_is_better : Direction::higher_is_better;
  return compare_many(values.front(), std::span(values).subspan(1), settings);
}

void add_metric_row(FigureTable& table, const std::vector<Side>& sides, const std::string& metric) {
  const auto* info = find_metric(metric);
  const std::string_view unit = info ? info->unit : std::string_view{};
  const auto values = values_on_all(sides, metric);
  if (std::all_of(values.begin(), values.end(), [](const auto& list) { return list.empty(); })) return;
  const bool judged = info && info->better != MetricInfo::Better::neither && !values.front().empty();
  const auto comparisons = judged ? compare_metric(values, info) : std::vector<ArmComparison>{};
  std::vector<Figure> row = {Figure(metric)};
  for (const auto& list : values) row.push_back(list.empty() ? Figure() : Figure(mean_text(list, unit), mean(list)));
  for (std::size_t i = 1; i < sides.size(); ++i) {
    if (values[i].empty() || values.front().empty() || mean(values.front()) == 0) {
      row.emplace_back();
      row.emplace_back();
      continue;
    }
    const double ratio = mean(values[i]) / mean(values.front());
    row.push_back(fixed_figure(ratio, 3));
    row.push_back(judged ? Figure(verdict_word(comparisons[i - 1].verdict), comparison_tone(comparisons[i - 1].verdict))
                         : Figure());
  }
  table.rows.push_back(std::move(row));
}

FigureTable metrics_table(const std::vector<Side>& sides) {
  FigureTable table{
      .id = "metrics", .title = "Figures", .columns = side_columns(sides, {"metric", "Metric", "", Align::left, true})};
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const std::string name = sides.size() == 2 ? "" : " " + sides[i].arm.name;
    table.columns.push_back({fmt::format("ratio_{}", i + 1), "Ratio" + name, "×", Align::right, false});
    table.columns.push_back({fmt::format("verdict_{}", i + 1), "Verdict" + name, "", Align::left, false});
  }
  std::vector<std::string> derived;
  for (const auto& side : sides) {
    for (const auto& [name, values] : side.derived) {
      if (std::find(derived.begin(), derived.end(), name) == derived.end()) derived.push_back(name);
    }
  }
  for (const auto& metric : metrics_on(sides)) add_metric_row(table, sides, metric);
  for (const auto& metric : derived) add_metric_row(table, sides, metric);
  table.notes.push_back(
      "Mean ± standard deviation over repeats. Verdicts by Welch's t-test (Holm's correction over the sides); fewer "
      "than 5 repeats on a side give none.");
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
    const bool all_used = side.arm.others.empty();
    table.rows.push_back({Figure(side.arm.name, Tone::strong),
                          count_figure(static_cast<double>(side.source->runs.size())),
                          count_figure(static_cast<double>(side.arm.usable.size())), size_name(side.arm.any()),
                          Figure(join(words, ", "), side.arm.usable.empty() ? Tone::bad
                                                    : all_used              ? Tone::good
                                                                            : Tone::warning),
                          Figure(trouble, Tone::muted)});
  }
  return table;
}

/// One sentence per side.
std::vector<std::string> answers_for(const std::vector<Side>& sides, const std::string& metric) {
  const auto* info = find_metric(metric);
  const auto values = values_on_all(sides, metric);
  if (values.front().empty()) {
    return {fmt::format("{} has no usable run: nothing can be compared with it.", sides.front().arm.name)};
  }
  const auto comparisons = compare_metric(values, info);
  std::vector<std::string> sentences;
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const auto& comparison = comparisons[i - 1];
    if (values[i].empty()) {
      sentences.push_back(fmt::format("{} has no usable {}.", sides[i].arm.name, metric));
      continue;
    }
    const std::string figure = fmt::format("{:.2f}× {} in {}", comparison.gain, sides.front().arm.name, metric);
    switch (comparison.verdict) {
      case ArmVerdict::too_few_repeats:
        sentences.push_back(fmt::format("{}: {}, but too few repeats to say.", sides[i].arm.name, figure));
        break;
      case ArmVerdict::no_significant_difference:
        sentences.push_back(fmt::format("{}: no significant difference in {} ({:.2f}×, p = {:.3f}).", sides[i].arm.name,
                                        metric, comparison.gain, comparison.adjusted_p.value_or(1)));
        break;
      case ArmVerdict::faster:
      case ArmVerdict::slower:
        sentences.push_back(fmt::format(
            "{}: {}, {} (p = {:.4f}, Hedges' g {:.2f}{}).", sides[i].arm.name, figure, verdict_word(comparison.verdict),
            comparison.adjusted_p.value_or(0), comparison.hedges_g,
            comparison.gain_interval ? fmt::format(", 95 % interval {:.2f}–{:.2f}×", comparison.gain_interval->low,
                                                   comparison.gain_interval->high)
                                     : ""));
        break;
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

Document comparison_of(const std::vector<CompareSide>& sources, const ReportOptions& options) {
  std::vector<Side> sides;
  std::vector<RecordedRun> all;
  std::vector<std::string> labels;
  for (const auto& source : sources) {
    sides.push_back(side_of(source, options));
    labels.push_back(source.label);
    all.insert(all.end(), source.runs.begin(), source.runs.end());
  }
  Document document{.title = join(labels, " vs "), .subtitle = fmt::format("{} runs", all.size())};
  std::string metric = speed_metric(all);
  const bool unequal = unequal_work(sides);
  if (unequal && metric == "samples_per_second") metric = "tokens_per_second";
  Section summary{.id = "summary", .title = "Summary"};
  for (auto& sentence : answers_for(sides, metric))
    summary.blocks.emplace_back(Paragraph{std::move(sentence), Tone::strong});
  if (unequal)
    summary.blocks.emplace_back(
        Paragraph{"A sample is not the same amount of work on all sides: compare tokens, not samples.", Tone::warning});
  summary.blocks.emplace_back(sides_table(sides));
  document.sections.push_back(std::move(summary));
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
  document.sections.push_back(std::move(differences));
  document.sections.push_back({.id = "figures", .title = "Side by side", .blocks = {metrics_table(sides)}});
  std::vector<Arm> arms;
  arms.reserve(sides.size());
  for (auto& side : sides) arms.push_back(side.arm);
  if (auto curves = curves_section(arms)) {
    curves->in_terminal = true;
    document.sections.push_back(std::move(*curves));
  }
  return document;
}

}  // namespace assay
