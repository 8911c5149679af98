#pragma once

#include <cstdint>
#include <limits>

namespace assay {

/// A value of a known series.
struct TimedValue {
  std::int64_t time_ns = 0;  ///< since the Unix epoch
  double value = 0;
};

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMinuteNs = 60 * kSecondNs;
constexpr std::int64_t kHourNs = 60 * kMinuteNs;
/// Before every time that a point can have.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
/// The first time that is refused (in the year 2116): arithmetic with widths never overflows.
constexpr std::int64_t kEndOfTime = std::int64_t{1} << 62;

/// The start of the span of `width` that `time_ns` ≥ 0 falls into.
constexpr std::int64_t floor_to(std::int64_t time_ns, std::int64_t width) { return time_ns - time_ns % width; }
constexpr std::int64_t ceil_to(std::int64_t time_ns, std::int64_t width) {
  return floor_to(time_ns + width - 1, width);
}

}  // namespace assay
