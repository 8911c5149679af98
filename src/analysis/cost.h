#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace assay {

// What a result costs, in money, energy and CO₂. Pure. Currencies are kept apart: nothing here converts one into
// another, and what would add or compare two different ones gives no answer.

struct Money {
  double amount = 0;
  std::string currency;  ///< ISO 4217
  bool operator==(const Money&) const = default;
};

enum class PriceKind { on_demand, spot, reserved, owned };
std::string_view name_of(PriceKind kind);  ///< "on demand", "spot", "reserved", "owned"

/// Hardware that was bought: what an hour of it costs.
struct OwnedHardware {
  Money purchase;              ///< of one node
  double residual = 0;         ///< worth at the end of its life, in the same currency
  double lifetime_years = 4;   ///< straight-line depreciation
  double utilisation = 0.7;    ///< share of all hours in which it does paid work; 0 < … ≤ 1
  int gpus = 1;                ///< of one node
  double power_w = 0;          ///< of one node at work
  double power_price_kwh = 0;  ///< in the same currency
  double overhead = 1.0;       ///< power usage effectiveness: what cooling and supplies add
  double yearly_costs = 0;     ///< space, staff, maintenance of one node
};
/// Per GPU hour in use. None where a figure makes no sense (no GPUs, no lifetime, utilisation outside (0, 1]).
std::optional<Price> owned_price(const OwnedHardware& hardware);

struct PriceEntry {
  std::string hardware;  ///< as the user calls it: "a100-80gb", "p4d.24xlarge"
  PriceKind kind = PriceKind::on_demand;
  Price price;
  std::string source;  ///< where it is from and of what day: prices change
};
/// The first entry for this hardware and kind; null where there is none. Capitals do not matter.
const PriceEntry* find_price(std::span<const PriceEntry> book, std::string_view hardware, PriceKind kind);

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
