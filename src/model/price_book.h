#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// What an hour of one GPU costs, as an administrator states it.
struct GpuPrice {
  std::string gpu;                  ///< its name as the driver says it, or a pattern of such names: `*H200*`
  std::optional<double> on_demand;  ///< per hour; absent: not stated
  std::optional<double> spot;       ///< the same where it may be taken away
  std::string currency;             ///< ISO 4217
  std::string source;               ///< where the figures come from; may be empty
  bool operator==(const GpuPrice&) const = default;
};

/// What power costs where the cluster stands, in money and in CO₂.
struct PowerPrice {
  std::string site;  ///< empty: a leader has one site
  std::optional<double> per_kwh;
  std::string currency;  ///< of `per_kwh`
  std::optional<double> grams_co2_per_kwh;
  std::string source;
  bool operator==(const PowerPrice&) const = default;
};

/// Prices that hold where a specification names none.
struct PriceBook {
  std::vector<GpuPrice> gpus;
  std::optional<PowerPrice> power;

  /// The entry of that very name, else the longest pattern that fits, else null. Upper and lower case are the same.
  const GpuPrice* find(std::string_view gpu) const;
};

/// `usage` for what cannot be a price: no name or one above 128 bytes, no amount, an amount that is negative or above a
/// million, a currency that is not three capital letters.
Result<void> check_price(const GpuPrice& price);
Result<void> check_price(const PowerPrice& price);

}  // namespace assay
