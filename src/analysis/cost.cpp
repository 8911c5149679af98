#include "analysis/cost.h"

#include <cmath>

namespace assay {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerKwh = 3.6e6;

bool positive(const std::optional<double>& value) { return value && *value > 0 && std::isfinite(*value); }

/// The cost of `count` of something of which `rate` are done a second.
std::optional<Money> cost_per(double count, const std::optional<double>& rate, const Money& per_hour) {
  if (!positive(rate)) return std::nullopt;
  return Money{per_hour.amount / kSecondsPerHour / *rate * count, per_hour.currency};
}

}  // namespace

Money hourly_cost(const Price& price, const Allocation& allocation) {
  const int units = price.per == "h" ? allocation.nodes : allocation.gpus;
  return {price.amount * units, price.currency};
}

CostFigures cost_of(const Price& price, const Allocation& allocation, const MeasuredWork& work) {
  CostFigures figures{.per_hour = hourly_cost(price, allocation)};
  if (positive(work.seconds)) {
    figures.run = Money{figures.per_hour.amount * *work.seconds / kSecondsPerHour, price.currency};
  }
  figures.per_1000_samples = cost_per(1000, work.samples_per_second, figures.per_hour);
  figures.per_million_tokens = cost_per(1e6, work.tokens_per_second, figures.per_hour);
  return figures;
}

std::optional<ProductionJob> production_job(const Price& price, int gpus_per_node, int nodes, double samples,
                                            double samples_per_second_of_one_node, std::optional<double> efficiency) {
  const double reached = efficiency.value_or(1);
  if (gpus_per_node <= 0 || nodes <= 0 || !positive(samples) || !positive(samples_per_second_of_one_node) ||
      !positive(reached)) {
    return std::nullopt;
  }
  ProductionJob job{.assumes_ideal_scaling = nodes > 1 && !efficiency};
  job.seconds = samples / (samples_per_second_of_one_node * nodes * reached);
  const Money per_hour = hourly_cost(price, {.gpus = gpus_per_node * nodes, .nodes = nodes});
  job.cost = {per_hour.amount * job.seconds / kSecondsPerHour, per_hour.currency};
  return job;
}

std::optional<Saving> saving_of(const Money& first, const Money& second) {
  if (first.currency != second.currency || !(first.amount > 0)) return std::nullopt;
  const double less = first.amount - second.amount;
  return Saving{{less, first.currency}, less / first.amount};
}

EnergyFigures energy_of(double joules, std::optional<double> samples, std::optional<double> tokens,
                        const std::optional<GridIntensity>& grid, double overhead) {
  EnergyFigures figures{.joules = joules, .kwh = joules / kJoulesPerKwh};
  if (grid) figures.grams_co2 = figures.kwh * overhead * grid->grams_per_kwh;
  if (positive(samples)) {
    figures.joules_per_sample = joules / *samples;
    if (grid) figures.grams_co2_per_sample = *figures.grams_co2 / *samples;
  }
  if (positive(tokens)) {
    figures.joules_per_token = joules / *tokens;
    if (grid) figures.grams_co2_per_million_tokens = *figures.grams_co2 / *tokens * 1e6;
  }
  return figures;
}

}  // namespace assay
