#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

/// An hour of a GPU: means of what was read in it; NaN is not known.
struct HourOfGpu {
  WallTime start;
  double temperature_c = std::numeric_limits<double>::quiet_NaN();
  double power_w = std::numeric_limits<double>::quiet_NaN();
  double throttle_share = std::numeric_limits<double>::quiet_NaN();  ///< of the hour, slowed by heat or the hardware
};

/// A week of a GPU.
struct WeekOfGpu {
  WallTime start;
  std::size_t hours = 0;         ///< with temperature and power
  double temperature_c = 0;      ///< at the trend's common power; NaN where the week does not show it
  double uncertainty_c = 0;      ///< standard error of that
  double throttled_minutes = 0;  ///< of the hours that are known; NaN without any
};

enum class TrendVerdict { too_little_data, steady, hotter, cooler };
std::string_view name_of(TrendVerdict verdict);

/// How a GPU's temperature at equal power develops over weeks. Dust, dried paste and failing fans or pumps make it
/// rise; so does a warmer room, which shows in all GPUs at once: compare before blaming one.
struct GpuTrend {
  TrendVerdict verdict = TrendVerdict::too_little_data;
  std::string why;               ///< one sentence
  double power_w = 0;            ///< the common power: the median over all hours; NaN without any
  double change_c = 0;           ///< from the first to the last comparable week, by the fitted line; NaN if unknown
  double low_c = 0, high_c = 0;  ///< its 95 % interval
  std::vector<WeekOfGpu> weeks;  ///< oldest first, without a gap; weeks count back from the last hour
};

/// Fewer hours do not make a week that counts, fewer weeks no trend.
inline constexpr std::size_t kFewestHoursOfWeek = 24;
inline constexpr std::size_t kFewestWeeks = 4;
/// A change that is certain but smaller is no reason to act.
inline constexpr double kSmallestChange_c = 2;

/// Hours in any order; at most the last two years are looked at.
GpuTrend trend_of(std::span<const HourOfGpu> hours);

}  // namespace assay
