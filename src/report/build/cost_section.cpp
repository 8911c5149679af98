#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/cost.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "report/build/baseline.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// Joules of one run's GPUs: as counted by them, or mean power over the duration for each that was read.
std::optional<double> joules_of_gpus(const Run& run) {
  if (const auto counted = metric_of(run, "gpu.energy_j")) return counted;
  if (!sampled_throughout(run, "gpu.power_w")) return std::nullopt;
  const auto seconds = metric_of(run, "duration_seconds");
  double watts = 0;
  for (const auto& series : run.series) {
    if (series.name == "gpu.power_w" && series.points > series.non_finite) watts += series.mean;
  }
  return seconds && watts > 0 ? std::optional(watts * *seconds) : std::nullopt;
}

/// Of a load without its warm-up, whose samples and tokens do not count either.
std::optional<double> joules_of(const Run& run) {
  if (!worked_here(run)) return std::nullopt;
  const auto joules = joules_of_gpus(run);
  const auto measured = metric_of(run, "wall_seconds");
  const auto all = metric_of(run, "duration_seconds");
  if (run.kind != "serve" || !joules || !measured || !all || *all <= 0) return joules;
  return *joules * std::min(1.0, *measured / *all);
}

struct ArmCost {
  const Arm* arm = nullptr;
  std::optional<CostFigures> cost;
  std::optional<EnergyFigures> energy;
  std::optional<ProductionJob> job;
};

ArmCost cost_of_arm(const Arm& arm, const ReportOptions& options) {
  const Run& run = arm.any();
  ArmCost result{.arm = &arm};
  const auto samples_per_second = mean_metric(arm, "samples_per_second");
  if (const auto price = price_of(run, options)) {
    std::vector<double> seconds;
    for (const auto* one : arm.usable) {
      if (const auto paid = seconds_paid_for(one->run)) seconds.push_back(*paid);
    }
    result.cost = cost_of(*price, allocation_of(run),
                          {.seconds = seconds.empty() ? std::nullopt : std::optional(mean(seconds)),
                           .samples_per_second = samples_per_second,
                           .tokens_per_second = mean_metric(arm, "tokens_per_second")});
    if (options.production_samples && samples_per_second) {
      const double of_one_node = *samples_per_second / run.nodes;
      result.job = production_job(*price, std::max(1, run.ranks / run.nodes), options.production_nodes,
                                  *options.production_samples, of_one_node);
    }
  }
  result.energy = energy_of_arm(arm, options);
  return result;
}

std::string saving_text(const std::optional<Money>& first, const std::optional<Money>& second) {
  if (!first || !second) return "";
  const auto saving = saving_of(*first, *second);
  if (!saving || saving->share == 0) return "";
  return saving->share > 0 ? fmt::format("{:.{}f} % less", saving->share * 100, saving->share < 0.1 ? 1 : 0)
                           : fmt::format("{:.{}f} % more", -saving->share * 100, saving->share > -0.1 ? 1 : 0);
}

std::string price_text(const StatedPrice& stated) {
  const Price& price = stated.price;
  std::string text = fmt::format("{} {}/{}", price.amount, price.currency, price.per);
  if (!stated.origin.empty()) text += fmt::format(" ({})", stated.origin);
  if (stated.spot && *stated.spot < price.amount) {
    text += fmt::format(", on the spot market {} {}/{}: {:.0f} % less", *stated.spot, price.currency, price.per,
                        (1 - *stated.spot / price.amount) * 100);
  }
  return text;
}

FigureTable money_table(const std::vector<ArmCost>& costs, const ArmCost& baseline, const ReportOptions& options) {
  FigureTable table{.id = "cost",
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"per_hour", "Per hour", "", Align::right, false},
                                {"run", "Run", "", Align::right, false},
                                {"per_1000_samples", "Per 1,000 samples", "", Align::right, false},
                                {"per_1000_samples_saving", "vs baseline", "", Align::left, false},
                                {"per_million_tokens", "Per 1 M tokens", "", Align::right, false},
                                {"per_million_tokens_saving", "vs baseline", "", Align::left, false}}};
  if (options.production_samples) {
    table.columns.push_back({"production_job", "Production job", "", Align::right, false});
    table.columns.push_back({"production_hours", "Hours", "", Align::right, false});
  }
  const CostFigures& first = *baseline.cost;
  bool ideal = false;
  std::set<std::string> prices;
  for (const auto& one : costs) {
    if (!one.cost) continue;
    prices.insert(price_text(*stated_price(one.arm->any(), options)));
    std::vector<Figure> row = {one.arm->name,
                               money_figure(one.cost->per_hour),
                               money_figure(one.cost->run, 2),
                               money_figure(one.cost->per_1000_samples),
                               saving_text(first.per_1000_samples, one.cost->per_1000_samples),
                               money_figure(one.cost->per_million_tokens),
                               saving_text(first.per_million_tokens, one.cost->per_million_tokens)};
    if (options.production_samples) {
      row.push_back(one.job ? money_figure(one.job->cost, 2) : Figure());
      row.push_back(one.job ? fixed_figure(one.job->seconds / 3600, 2) : Figure());
      ideal |= one.job && one.job->assumes_ideal_scaling;
    }
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back(
      fmt::format("Price: {}. A run is paid for from its start to its end, start-up and evaluations "
                  "included; samples and tokens are priced at their steady rate.",
                  join(prices, "; ")));
  if (options.production_samples) {
    table.notes.push_back(fmt::format("Production job: {:.0f} samples on {} node{}.", *options.production_samples,
                                      options.production_nodes, options.production_nodes == 1 ? "" : "s"));
  }
  if (ideal)
    table.notes.push_back("Several nodes are taken to scale ideally, since no efficiency was measured: a lower bound.");
  return table;
}

/// What savings are against: the configuration that all else is held against, or the first that has a cost.
const ArmCost& baseline_of(const std::vector<ArmCost>& costs, const ReportOptions& options) {
  std::vector<const Arm*> arms;
  std::vector<const ArmCost*> priced;
  for (const auto& one : costs) {
    if (!one.cost) continue;
    arms.push_back(one.arm);
    priced.push_back(&one);
  }
  return *priced[choose_baseline(arms, options.baseline)];
}

FigureTable energy_table(const std::vector<ArmCost>& costs, const ReportOptions& options) {
  FigureTable table{.id = "energy",
                    .title = "Energy",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"kwh", "kWh", "", Align::right, false},
                                {"joules_per_sample", "J/sample", "", Align::right, false},
                                {"joules_per_token", "J/token", "", Align::right, false},
                                {"grams_co2_per_sample", "gCO₂/sample", "", Align::right, false},
                                {"grams_co2_per_million_tokens", "gCO₂/1 M tokens", "", Align::right, false}}};
  const auto& power = options.book.power;
  const bool paid = power && power->per_kwh;
  if (paid) table.columns.push_back({"power_cost", "Power", "", Align::right, false});
  for (const auto& one : costs) {
    if (!one.energy) continue;
    const EnergyFigures& energy = *one.energy;
    table.rows.push_back({one.arm->name, rate_figure(energy.kwh), rate_figure(energy.joules_per_sample),
                          rate_figure(energy.joules_per_token), rate_figure(energy.grams_co2_per_sample),
                          rate_figure(energy.grams_co2_per_million_tokens)});
    if (paid) table.rows.back().push_back(money_figure(Money{energy.kwh * *power->per_kwh, power->currency}));
  }
  const auto grid = grid_of(options);
  table.notes.push_back(grid ? fmt::format("Grid: {} g/kWh ({}).", grid->grams_per_kwh, grid->source)
                             : std::string("No CO₂ figures: state the grid's intensity with --grid."));
  if (paid) {
    table.notes.push_back(fmt::format("Power of the GPUs: {} {}/kWh (price book{}).", *power->per_kwh, power->currency,
                                      power->source.empty() ? "" : ": " + power->source));
  }
  return table;
}

}  // namespace

std::optional<EnergyFigures> energy_of_arm(const Arm& arm, const ReportOptions& options) {
  std::vector<double> joules;
  for (const auto* one : arm.usable) {
    if (const auto value = joules_of(one->run)) joules.push_back(*value);
  }
  if (joules.empty()) return std::nullopt;
  return energy_of(mean(joules), mean_metric(arm, "samples_done"), mean_metric(arm, "tokens_done"), grid_of(options));
}

std::optional<Section> cost_section(const Answers& answers) {
  const auto& arms = answers.arms;
  const ReportOptions& options = answers.input.options;
  std::vector<ArmCost> costs;
  for (const auto& arm : arms) {
    if (arm.has_result()) costs.push_back(cost_of_arm(arm, options));
  }
  const bool money = std::any_of(costs.begin(), costs.end(), [](const auto& one) { return one.cost.has_value(); });
  const bool energy = std::any_of(costs.begin(), costs.end(), [](const auto& one) { return one.energy.has_value(); });
  const bool no_gpu_to_pay = std::any_of(arms.begin(), arms.end(), [&](const Arm& arm) {
    return arm.any().spec.contains("price") && !price_of(arm.any(), options);
  });
  if (!money && !energy && !no_gpu_to_pay) return std::nullopt;
  Section section;
  if (money) section.blocks.emplace_back(money_table(costs, baseline_of(costs, options), options));
  if (no_gpu_to_pay)
    section.blocks.emplace_back(
        Paragraph{"Runs without a GPU have no cost: their price is one of GPU hours. Price the machine instead ('1.20 "
                  "USD/h'), or say with --price that the hours count all the same.",
                  Tone::muted});
  if (energy) section.blocks.emplace_back(energy_table(costs, options));
  return section;
}

}  // namespace assay
