#include "report/chart/axis_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

// Sums, products and ratios of two such values are finite: spans and steps can be reckoned without overflow.
constexpr double kLargest = 1e150;
constexpr double kSmallest = 1e-150;
// A narrower span than this share of the values could not be told apart on the labels.
constexpr double kNarrowestSpan = 1e-9;

struct UnitStep {
  double from;  ///< the smallest magnitude that is shown in this unit
  double factor;
  std::string_view name;
};

constexpr std::array kTimeSteps = {
    UnitStep{0, 1e-9, "ns"},  UnitStep{1e-6, 1e-6, "µs"}, UnitStep{1e-3, 1e-3, "ms"},   UnitStep{1, 1, "s"},
    UnitStep{180, 60, "min"}, UnitStep{10800, 3600, "h"}, UnitStep{259200, 86400, "d"},
};

DisplayUnit time_unit(double magnitude, bool unicode) {
  const UnitStep* best = &kTimeSteps[3];
  if (magnitude > 0) {
    best = &kTimeSteps[0];
    for (const auto& step : kTimeSteps) {
      if (magnitude >= step.from) best = &step;
    }
  }
  const bool micro = best == &kTimeSteps[1] && !unicode;
  return {best->factor, std::string(micro ? "us" : best->name)};
}

template <typename Prefixes>
DisplayUnit prefixed_unit(double magnitude, double base, const Prefixes& prefixes, std::string_view unit) {
  double factor = 1;
  std::size_t at = 0;
  while (magnitude >= factor * base && at + 1 < prefixes.size()) {
    factor *= base;
    ++at;
  }
  return {factor, std::string(prefixes[at]) + std::string(unit)};
}

std::string power_of_ten(int exponent, bool unicode) {
  if (!unicode) return fmt::format("1e{}", exponent);
  constexpr std::array<std::string_view, 10> kRaised = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : fmt::format("{}", std::abs(exponent))) text += kRaised[static_cast<std::size_t>(digit - '0')];
  return text;
}

/// Plain numbers and units without prefixes: very large and very small ones in powers of a thousand.
DisplayUnit counted_unit(std::string_view unit, double magnitude, bool unicode) {
  if (magnitude == 0 || (magnitude >= 1e-3 && magnitude < 1e6)) return {1, std::string(unit)};
  const int exponent = static_cast<int>(std::floor(std::log10(magnitude) / 3)) * 3;
  const std::string power = power_of_ten(exponent, unicode);
  return {std::pow(10.0, exponent), unit.empty() ? power : power + " " + std::string(unit)};
}

/// The smallest step of 1, 2, 5 · 10ⁿ that gives about `most` of them, as mantissa and exponent.
std::pair<int, int> nice_step(double span, std::size_t most) {
  const double raw = span / static_cast<double>(std::max<std::size_t>(most, 1));
  int exponent = static_cast<int>(std::floor(std::log10(raw)));
  const double mantissa = raw / std::pow(10.0, exponent);
  for (const int nice : {1, 2, 5}) {
    // A tenth more ticks than wished for beats half of them.
    if (mantissa <= nice * 1.1) return {nice, exponent};
  }
  return {1, ++exponent};
}

std::string fixed(double value, int decimals) {
  if (decimals == 0) return format_count(std::round(value) + 0.0);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return text;
}

std::vector<AxisTick> linear_ticks(const AxisScale& scale, std::size_t most) {
  const double low = scale.low / scale.unit.factor;
  const double high = scale.high / scale.unit.factor;
  const auto [mantissa, exponent] = nice_step(high - low, most);
  const double step = mantissa * std::pow(10.0, exponent);
  const double first = std::ceil(low / step - 1e-6);
  const double last = std::floor(high / step + 1e-6);
  std::vector<AxisTick> ticks;
  for (double at = first; at <= last && ticks.size() <= most + 1; ++at)
    ticks.push_back({at * step * scale.unit.factor, fixed(at * step, std::clamp(-exponent, 0, 12))});
  return ticks;
}

std::string log_label(int mantissa, int exponent, bool unicode) {
  if (exponent >= -3 && exponent <= 5) return fixed(mantissa * std::pow(10.0, exponent), std::max(-exponent, 0));
  if (!unicode) return fmt::format("{}e{}", mantissa, exponent);
  const std::string power = power_of_ten(exponent, unicode);
  return mantissa == 1 ? power : fmt::format("{}·{}", mantissa, power);
}

std::vector<AxisTick> log_ticks(const AxisScale& scale, const AxisFit& fit) {
  const double low = std::log10(scale.low / scale.unit.factor);
  const double high = std::log10(scale.high / scale.unit.factor);
  // Within a factor of five 1-2-5 would leave one or two ticks.
  if (high - low < 0.7) return linear_ticks(scale, fit.most_ticks);
  const int first = static_cast<int>(std::floor(low));
  const int last = static_cast<int>(std::ceil(high));
  const bool between = (high - low) * 3 <= static_cast<double>(fit.most_ticks) + 1;
  const int stride = std::max(1, static_cast<int>(std::ceil((high - low) / static_cast<double>(fit.most_ticks))));
  std::vector<AxisTick> ticks;
  for (int exponent = first; exponent <= last; exponent += between ? 1 : stride) {
    for (const int mantissa : {1, 2, 5}) {
      if (mantissa != 1 && !between) continue;
      const double value = mantissa * std::pow(10.0, exponent) * scale.unit.factor;
      if (value < scale.low * (1 - 1e-9) || value > scale.high * (1 + 1e-9)) continue;
      ticks.push_back({value, log_label(mantissa, exponent, fit.unicode)});
    }
  }
  return ticks;
}

/// The data's own places as ticks, where there are few, whole and well apart; else none.
std::vector<AxisTick> place_ticks(const AxisScale& scale, const AxisFit& fit) {
  constexpr double kClosest = 0.055;
  std::vector<AxisTick> ticks;
  if (fit.places.size() < 2 || fit.places.size() > fit.most_ticks + 2) return ticks;
  double previous = -1;
  for (const double place : fit.places) {
    const double shown = place / scale.unit.factor;
    const double position = scale.position(place);
    if (shown != std::round(shown) || std::fabs(shown) >= 1e5 || position - previous < kClosest) return {};
    ticks.push_back({place, format_count(shown)});
    previous = position;
  }
  return ticks;
}

void widen(AxisScale& scale, const Axis& axis, double padding) {
  if (scale.logarithmic) {
    if (scale.high / scale.low < 1 + kNarrowestSpan) scale.low /= 2, scale.high *= 2;
    const double factor = std::pow(scale.high / scale.low, padding);
    scale.low /= factor;
    scale.high *= factor;
    return;
  }
  if (axis.from_zero) {
    scale.low = std::min(scale.low, 0.0);
    scale.high = std::max(scale.high, 0.0);
  }
  const double magnitude = std::max(std::fabs(scale.low), std::fabs(scale.high));
  if (scale.high - scale.low < magnitude * kNarrowestSpan || magnitude == 0) {
    const double room = magnitude == 0 ? 1 : magnitude * 0.05;
    if (magnitude != 0 || !axis.from_zero) scale.low -= room;
    scale.high += room;
    return;
  }
  const double room = (scale.high - scale.low) * padding;
  // Zero is a natural end: nothing is drawn beyond it that would need room.
  if (scale.low != 0) scale.low -= room;
  if (scale.high != 0) scale.high += room;
}

}  // namespace

void ValueRange::add(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

bool has_place(const Axis& axis, double value) {
  if (!std::isfinite(value) || std::fabs(value) > kLargest) return false;
  return !axis.logarithmic || value >= kSmallest;
}

DisplayUnit display_unit(std::string_view unit, double magnitude, bool unicode) {
  constexpr std::array<std::string_view, 7> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  constexpr std::array<std::string_view, 7> kDecimal = {"", "k", "M", "G", "T", "P", "E"};
  if (unit == "s") return time_unit(magnitude, unicode);
  if (unit == "B" || unit == "B/s") return prefixed_unit(magnitude, 1024, kBinary, unit);
  if (unit == "FLOP/s") return prefixed_unit(magnitude, 1000, kDecimal, unit);
  if (unit == "ratio") return {0.01, "%"};
  return counted_unit(unit, magnitude, unicode);
}

double AxisScale::position(double value) const {
  const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
}

std::string axis_figure(double value, const DisplayUnit& unit) {
  const double shown = value / unit.factor;
  const double magnitude = std::fabs(shown);
  const bool counted = unit.factor == 1 && shown == std::round(shown);
  if (counted || !(magnitude >= 0.9995) || magnitude >= 99.95)
    return format_count(magnitude >= 99.95 ? std::round(shown) : shown);
  return fmt::format("{:.{}f}", shown, magnitude < 9.995 ? 2 : 1);
}

std::string AxisScale::figure(double value) const {
  const double shown = value / unit.factor;
  const double visible = (high - low) / unit.factor / 100;
  const int decimals = logarithmic ? 0 : std::clamp(static_cast<int>(std::ceil(-std::log10(visible) - 1e-9)), 0, 9);
  const bool counted = unit.factor == 1 && shown == std::round(shown);
  const bool three_are_enough = decimals == 0 || std::fabs(shown) < std::pow(10.0, 3 - decimals);
  return counted || three_are_enough ? axis_figure(value, unit) : fixed(shown, decimals);
}

AxisScale fit_axis(const Axis& axis, ValueRange data, const AxisFit& fit) {
  AxisScale scale;
  scale.logarithmic = axis.logarithmic;
  if (data.empty()) {
    scale.low = axis.logarithmic ? 1 : 0;
    scale.high = axis.logarithmic ? 10 : 1;
  } else {
    // Smaller than this is nothing beside whatever else is on the axis.
    const auto settled = [](double value) { return std::fabs(value) < kSmallest ? 0.0 : value; };
    scale.low = axis.logarithmic ? data.low : settled(data.low);
    scale.high = axis.logarithmic ? data.high : settled(data.high);
    widen(scale, axis, fit.padding);
  }
  const double magnitude =
      axis.logarithmic ? std::sqrt(scale.low) * std::sqrt(scale.high)
                       : std::max(std::fabs(data.empty() ? 0 : data.low), std::fabs(data.empty() ? 0 : data.high));
  // A logarithmic axis writes its own powers of ten.
  const bool own_powers = axis.logarithmic && axis.unit != "s" && axis.unit != "B" && axis.unit != "B/s" &&
                          axis.unit != "FLOP/s" && axis.unit != "ratio";
  scale.unit = own_powers ? DisplayUnit{1, axis.unit} : display_unit(axis.unit, magnitude, fit.unicode);
  const std::string label(trim(axis.label));
  scale.title = scale.unit.name.empty() ? label
                : label.empty()         ? scale.unit.name
                                        : fmt::format("{} ({})", label, scale.unit.name);
  if (data.empty()) return scale;
  scale.ticks = place_ticks(scale, fit);
  if (scale.ticks.empty()) scale.ticks = axis.logarithmic ? log_ticks(scale, fit) : linear_ticks(scale, fit.most_ticks);
  return scale;
}

}  // namespace assay
