#include "watch/trend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/distributions.h"
#include "analysis/statistics.h"
#include "watch/unknown.h"

namespace assay {
namespace {

constexpr Nanos kTrendHour = std::chrono::hours(1);
constexpr Nanos kWeek = std::chrono::hours(24 * 7);
constexpr std::size_t kMostWeeks = 104;
/// Standard error of a median over that of a mean.
constexpr double kMedianPenalty = 1.2533;

struct WarmPoint {
  double power;
  double temperature;
};

using WarmPoints = std::vector<WarmPoint>;  ///< of one week, in the order of time

/// Theil–Sen: the median slope of all pairs whose power differs enough to have one.
double slope_of(const WarmPoints& points) {
  constexpr double kLeastDifference_w = 5;
  std::vector<double> slopes;
  slopes.reserve(points.size() * points.size() / 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double difference = points[j].power - points[i].power;
      if (std::abs(difference) < kLeastDifference_w) continue;
      slopes.push_back((points[j].temperature - points[i].temperature) / difference);
    }
  }
  // A GPU that always draws the same has no slope, and needs none.
  return slopes.size() < points.size() ? 0 : median(slopes);
}

/// How much neighbouring hours repeat each other, from 0 to 0.9.
double autocorrelation(const std::vector<double>& values) {
  const double centre = mean(values);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - centre) * (values[i] - centre);
    if (i > 0) products += (values[i] - centre) * (values[i - 1] - centre);
  }
  return squares > 0 ? std::clamp(products / squares, 0.0, 0.9) : 0;
}

/// The temperature that the week shows at a power. Not known if the power lies outside what the GPU drew.
void judge_week(const WarmPoints& points, double power, WeekOfGpu& week) {
  week.temperature_c = week.uncertainty_c = kUnknown;
  if (points.size() < kFewestHoursOfWeek) return;
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(), [](const WarmPoint& a, const WarmPoint& b) { return a.power < b.power; });
  // A tenth beyond is no extrapolation worth the name.
  if (power < 0.9 * least->power || power > 1.1 * most->power) return;
  const double slope = slope_of(points);
  std::vector<double> at_power;
  at_power.reserve(points.size());
  for (const WarmPoint& point : points) at_power.push_back(point.temperature - slope * (point.power - power));
  week.temperature_c = median(at_power);
  const double repeats = autocorrelation(at_power);
  const double independent = static_cast<double>(points.size()) * (1 - repeats) / (1 + repeats);
  const double spread = kMadToSigma * median_absolute_deviation(at_power);
  week.uncertainty_c = kMedianPenalty * spread / std::sqrt(std::max(1.0, independent));
}

/// A straight line through the weeks, and what it says from the first to the last of them.
void fit_weeks(GpuTrend& trend) {
  std::vector<double> x;
  std::vector<double> y;
  double own_variance = 0;
  for (std::size_t i = 0; i < trend.weeks.size(); ++i) {
    if (std::isnan(trend.weeks[i].temperature_c)) continue;
    x.push_back(static_cast<double>(i));
    y.push_back(trend.weeks[i].temperature_c);
    own_variance += trend.weeks[i].uncertainty_c * trend.weeks[i].uncertainty_c;
  }
  if (x.size() < kFewestWeeks) {
    trend.why = fmt::format("Only {} weeks have enough hours at {:.0f} W; {} are needed.", x.size(), trend.power_w,
                            kFewestWeeks);
    return;
  }
  const auto count = static_cast<double>(x.size());
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  const double slope = xy / xx;
  double scatter = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = y[i] - y_mean - slope * (x[i] - x_mean);
    scatter += residual * residual;
  }
  // Few weeks may lie on a line by chance: they are never taken for more certain than each of them is.
  const double variance = std::max(scatter / (count - 2), own_variance / count);
  const double length = x.back() - x.front();
  const double half = t_quantile(0.975, count - 2) * std::sqrt(variance / xx) * length;
  trend.change_c = slope * length;
  trend.low_c = trend.change_c - half;
  trend.high_c = trend.change_c + half;
  const bool matters = std::abs(trend.change_c) >= kSmallestChange_c;
  trend.verdict = matters && trend.low_c > 0    ? TrendVerdict::hotter
                  : matters && trend.high_c < 0 ? TrendVerdict::cooler
                                                : TrendVerdict::steady;
  trend.why = fmt::format(
      "At {:.0f} W the temperature changed by {:+.1f} °C in {:.0f} weeks (95 % interval {:+.1f} to "
      "{:+.1f} °C).",
      trend.power_w, trend.change_c, length, trend.low_c, trend.high_c);
}

struct Weeks {
  std::vector<WeekOfGpu> weeks;
  std::vector<WarmPoints> points;  ///< as many
};

Weeks split_into_weeks(std::vector<HourOfGpu> hours) {
  Weeks split;
  if (hours.empty()) return split;
  std::sort(hours.begin(), hours.end(), [](const HourOfGpu& a, const HourOfGpu& b) { return a.start < b.start; });
  const WallTime end = hours.back().start + kTrendHour;
  const auto weeks_back = [&](const HourOfGpu& hour) {
    return static_cast<std::size_t>((end - hour.start - Nanos(1)) / kWeek);
  };
  std::erase_if(hours, [&](const HourOfGpu& hour) { return weeks_back(hour) >= kMostWeeks; });
  const std::size_t count = weeks_back(hours.front()) + 1;
  split.points.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    split.weeks.push_back({.start = end - static_cast<int>(count - i) * kWeek, .throttled_minutes = kUnknown});
  }
  for (const HourOfGpu& hour : hours) {
    const std::size_t place = count - 1 - weeks_back(hour);
    WeekOfGpu& week = split.weeks[place];
    if (std::isfinite(hour.throttle_share)) {
      week.throttled_minutes = std::fmax(week.throttled_minutes, 0) + 60 * hour.throttle_share;
    }
    if (!std::isfinite(hour.temperature_c) || !std::isfinite(hour.power_w)) continue;
    split.points[place].push_back({hour.power_w, hour.temperature_c});
    ++week.hours;
  }
  return split;
}

}  // namespace

std::string_view name_of(TrendVerdict verdict) {
  switch (verdict) {
    case TrendVerdict::steady: return "steady";
    case TrendVerdict::hotter: return "hotter";
    case TrendVerdict::cooler: return "cooler";
    default: return "too little data";
  }
}

GpuTrend trend_of(std::span<const HourOfGpu> hours) {
  Weeks split = split_into_weeks({hours.begin(), hours.end()});
  GpuTrend trend{.change_c = kUnknown, .low_c = kUnknown, .high_c = kUnknown, .weeks = std::move(split.weeks)};
  std::vector<double> powers;
  for (const WarmPoints& week : split.points) {
    for (const WarmPoint& point : week) powers.push_back(point.power);
  }
  trend.power_w = median(powers);
  if (powers.empty()) {
    trend.why = "No hour has both temperature and power.";
    return trend;
  }
  for (std::size_t i = 0; i < trend.weeks.size(); ++i) judge_week(split.points[i], trend.power_w, trend.weeks[i]);
  fit_weeks(trend);
  return trend;
}

}  // namespace assay
