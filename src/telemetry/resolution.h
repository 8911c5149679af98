#pragma once

#include <cmath>
#include <string_view>

namespace assay {

/// A reading to the last digit that means something. Drivers and divisions give many more, which are noise, and which
/// cost three times the room to keep: 0.1 % of a share, 0.1 W, 0.1 °C, a millisecond, a byte a second.
inline double at_resolution(double value, std::string_view unit) {
  const auto in_steps = [&](double steps) { return std::round(value * steps) / steps; };
  if (unit == "ratio" || unit == "cores" || unit == "s") return in_steps(1000);
  if (unit == "W" || unit == "°C") return in_steps(10);
  if (unit == "B/s") return in_steps(1);
  return value;
}

}  // namespace assay
