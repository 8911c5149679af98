#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/units.h"

namespace assay {
namespace {

std::string with_thousands(long long number) {
  std::string text = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

/// Three significant digits with their zeros (`1.00`, `12.3`, `870`), for a magnitude below 1024 that has a unit.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  // Halfway cases belong to the next size: 9.995 is 10.0, not 9.99 or 10.00.
  const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string not_finite(double value) { return std::isnan(value) ? "NaN" : value < 0 ? "-inf" : "inf"; }

std::string format_seconds(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 86400;
  if (seconds == 0) return "0 s";
  if (seconds < 0) return "-" + format_seconds(-seconds);
  if (seconds < 0.9995e-6) return format_count(seconds * 1e9) + " ns";
  if (seconds < 0.9995e-3) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  // Each form is chosen by what it would show after rounding: 59.97 s is 1 min 00 s, never 60.0 s.
  if (seconds < 59.95) return three_digits(seconds) + " s";
  const auto two_units = [](long long count, long long per, std::string_view large, std::string_view small) {
    return fmt::format("{} {} {:02} {}", with_thousands(count / per), large, count % per, small);
  };
  if (seconds < kHour - 0.5) return two_units(std::llround(seconds), 60, "min", "s");
  if (seconds < kDay - kMinute / 2) return two_units(std::llround(seconds / kMinute), 60, "h", "min");
  if (seconds < 1e15) return two_units(std::llround(seconds / kHour), 24, "d", "h");
  return format_count(seconds) + " s";
}

std::string format_byte_count(double bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  // 1023.5 would be shown as 1024.
  while (std::fabs(bytes) >= 1023.5 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  const bool plain = unit == 0 || std::fabs(bytes) >= 1023.5;
  return fmt::format("{} {}", plain ? format_count(bytes) : three_digits(bytes), kUnits[unit]);
}

std::string format_flop_rate(double per_second) {
  constexpr std::array<std::string_view, 7> kUnits = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  while (std::fabs(per_second) >= 999.5 && unit + 1 < kUnits.size()) {
    per_second /= 1000;
    ++unit;
  }
  return fmt::format("{} {}FLOP/s", three_digits(per_second), kUnits[unit]);
}

}  // namespace

std::string format_duration(Nanos duration) { return format_seconds(seconds_of(duration)); }

std::string format_bytes(Bytes bytes) { return format_byte_count(static_cast<double>(bytes.count)); }

std::string format_count(double number) {
  if (!std::isfinite(number)) return not_finite(number);
  if (number == 0) return "0";
  const double magnitude = std::fabs(number);
  const bool whole = number == std::trunc(number);
  // From 999.5 on, three digits would turn into 1e+03.
  if (magnitude < 1e15 && (whole || magnitude >= 999.5)) return with_thousands(std::llround(number));
  return fmt::format("{:.3g}", number);
}

std::string format_value(double value, std::string_view unit) {
  if (!std::isfinite(value)) return not_finite(value);
  if (unit.empty()) return format_count(value);
  if (unit == "s") return format_seconds(value);
  if (unit == "B") return format_byte_count(value);
  if (unit == "FLOP/s") return format_flop_rate(value);
  if (unit == "B/s") return format_byte_count(value) + "/s";
  if (unit == "1/s") return format_count(value) + "/s";
  if (unit == "%") return format_count(value) + "%";
  if (unit == "ratio") return format_count(value * 100) + "%";
  return fmt::format("{} {}", format_count(value), unit);
}

}  // namespace assay
