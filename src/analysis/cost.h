#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace assay {

// What a result costs, in money, energy and CO₂. Pure. Currencies are kept apart: nothing here converts one into
// another, and what would add or compare two different ones gives no answer.

struct Money {
  double amount = 0;
  std::string currency;  ///< ISO 4217
  bool operator==(const Money&) const = default;
};

/// How much hardware the work keeps busy.
struct Allocation {
  int gpus = 1;  ///< on all nodes together
  int nodes = 1;
};
/// One hour of all of it.
Money hourly_cost(const Price& price, const Allocation& allocation);

/// What was measured.
struct MeasuredWork {
  std::optional<double> seconds;
  std::optional<double> samples_per_second;
  std::optional<double> tokens_per_second;
};

struct CostFigures {
  Money per_hour;
  std::optional<Money> run;
  std::optional<Money> per_1000_samples;
  std::optional<Money> per_million_tokens;
};
/// Figures that are not positive and finite count as not measured.
CostFigures cost_of(const Price& price, const Allocation& allocation, const MeasuredWork& work);

/// A production job of `samples` on `nodes` nodes, from the rate of one node.
struct ProductionJob {
  double seconds = 0;
  Money cost;
  bool assumes_ideal_scaling = false;  ///< several nodes, and no measured efficiency was given: a lower bound
};
/// None where the rate, the samples, the nodes or the efficiency is not positive.
std::optional<ProductionJob> production_job(const Price& price, int gpus_per_node, int nodes, double samples,
                                            double samples_per_second_of_one_node,
                                            std::optional<double> efficiency = std::nullopt);

/// How much less the second costs than the first.
struct Saving {
  Money amount;      ///< negative: it costs more
  double share = 0;  ///< of the first; 0.53 is 53 % less
};
/// None where currencies differ or the first costs nothing.
std::optional<Saving> saving_of(const Money& first, const Money& second);

/// How dirty the power is, as the user states it; there is no default, since grids differ by a factor of twenty.
struct GridIntensity {
  double grams_per_kwh = 0;
  std::string source;
};
struct EnergyFigures {
  double joules = 0;
  double kwh = 0;
  std::optional<double> joules_per_sample;
  std::optional<double> joules_per_token;
  std::optional<double> grams_co2;  ///< none without a stated intensity
  std::optional<double> grams_co2_per_sample;
  std::optional<double> grams_co2_per_million_tokens;
};
/// `joules` measured at the hardware; `overhead` (power usage effectiveness) enters the CO₂, not the joules.
EnergyFigures energy_of(double joules, std::optional<double> samples, std::optional<double> tokens,
                        const std::optional<GridIntensity>& grid, double overhead = 1.0);

}  // namespace assay
