#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {

/// Most readings are short decimals: 345.6 is the whole number 3456 at the second of these scales.
constexpr std::array kScales = {1.0, 10.0, 100.0, 1000.0};

/// Whether llrint(value · scale) / scale gives back every bit of `value`.
inline bool scales_exactly(double value, double scale) {
  const double scaled = value * scale;
  // Beyond 2^53 whole numbers are no longer exact; the negation also catches NaN.
  if (!(std::fabs(scaled) < 9007199254740992.0)) return false;
  return std::bit_cast<std::uint64_t>(static_cast<double>(std::llrint(scaled)) / scale) ==
         std::bit_cast<std::uint64_t>(value);
}

}  // namespace assay
