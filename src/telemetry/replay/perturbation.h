#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// How one GPU differs from the one that was recorded.
struct GpuCharacter {
  double activity_gain = 1;  ///< of ratios: utilisation, SM activity, …
  double power_gain = 1;
  double clock_gain = 1;
  double temperature_offset = 0;  ///< °C
};

/// The character that a GPU has for a seed: always the same one.
GpuCharacter character_of(std::uint64_t seed, std::string_view uuid);

/// An identity for the same: `GPU-` (or `MIG-`) and 32 hexadecimal digits in the usual groups.
std::string identity_of(std::uint64_t seed, std::string_view uuid);

/// A recorded value as this GPU would have it.
double in_character(const GpuCharacter& character, std::string_view metric, double value);

}  // namespace assay
