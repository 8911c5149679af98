#include "analysis/consistency.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/statistics.h"
#include "base/portable_math.h"

namespace assay {
namespace {

std::vector<double> known_values(std::span<const NodeFigures> nodes, std::optional<double> NodeFigures::* field) {
  std::vector<double> values;
  for (const auto& node : nodes) {
    if (node.*field && std::isfinite(*(node.*field))) values.push_back(*(node.*field));
  }
  return values;
}

std::optional<double> median_if_any(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return median(values);
}

/// The comparison allows for the rounding of the figures themselves: 1.05 is within ±5 % of 1.00.
ConsistencyCell judge(const std::optional<double>& value, const std::optional<double>& centre, double tolerance,
                      bool relative) {
  if (!value || !std::isfinite(*value) || !centre || (relative && *centre == 0)) return {};
  const double deviation = relative ? *value / *centre - 1 : *value - *centre;
  const double limit = tolerance * (1 + 1e-9);
  const auto mark = deviation < -limit  ? ConsistencyMark::low
                    : deviation > limit ? ConsistencyMark::high
                                        : ConsistencyMark::within;
  return {mark, deviation};
}

bool out_of_line(const ConsistencyCell& cell) {
  return cell.mark == ConsistencyMark::low || cell.mark == ConsistencyMark::high;
}

/// The remaining node that is most like all the other remaining ones.
std::size_t centre_of(const std::vector<std::vector<double>>& similarity, const std::vector<std::size_t>& remaining) {
  std::size_t best = remaining.front();
  double best_sum = -1;
  for (const std::size_t i : remaining) {
    double sum = 0;
    for (const std::size_t j : remaining) sum += i == j ? 0 : similarity[i][j];
    if (sum > best_sum) {
      best_sum = sum;
      best = i;
    }
  }
  return best;
}

/// Medians of pairwise slopes need all of them: n(n−1)/2.
std::vector<double> pairwise_slopes(std::span<const TrendPoint> points) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const double days = points[j].day - points[i].day;
      if (days != 0) slopes.push_back((points[j].value - points[i].value) / days);
    }
  }
  std::sort(slopes.begin(), slopes.end());
  return slopes;
}

}  // namespace

std::string_view name_of(ConsistencyMark mark) {
  switch (mark) {
    case ConsistencyMark::within: return "within";
    case ConsistencyMark::low: return "low";
    case ConsistencyMark::high: return "high";
    case ConsistencyMark::missing: return "missing";
  }
  return "";
}

ConsistencyTable check_consistency(std::span<const NodeFigures> nodes, const ConsistencyTolerances& tolerances) {
  ConsistencyTable table;
  const auto speeds = known_values(nodes, &NodeFigures::samples_per_second);
  table.median_speed = median_if_any(speeds);
  table.median_memory = median_if_any(known_values(nodes, &NodeFigures::gpu_memory_bytes));
  table.median_temperature = median_if_any(known_values(nodes, &NodeFigures::temperature_c));
  if (speeds.size() >= 2) table.speed_variation = coefficient_of_variation(speeds);
  table.consistent = nodes.size() >= 2;
  for (const auto& node : nodes) {
    ConsistencyRow row{.node = node.node};
    row.speed = judge(node.samples_per_second, table.median_speed, tolerances.speed, true);
    row.memory = judge(node.gpu_memory_bytes, table.median_memory, tolerances.memory, true);
    row.temperature = judge(node.temperature_c, table.median_temperature, tolerances.temperature_c, false);
    row.within = !out_of_line(row.speed) && !out_of_line(row.memory) && !out_of_line(row.temperature);
    if (!row.within) row.findings = degradation_causes(node.health);
    table.consistent = table.consistent && row.within && row.speed.mark != ConsistencyMark::missing;
    table.rows.push_back(std::move(row));
  }
  return table;
}

double distribution_similarity(std::span<const double> a, std::span<const double> b) {
  std::vector<double> x = finite_values(a);
  std::vector<double> y = finite_values(b);
  const double scale = std::max(mean(x), mean(y));
  if (x.empty() || y.empty() || !(scale > 0)) return std::numeric_limits<double>::quiet_NaN();
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  // Both distribution functions are steps: add up their distance between one step and the next.
  double area = 0;
  double at = std::min(x.front(), y.front());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < x.size() || j < y.size()) {
    const bool from_x = j == y.size() || (i < x.size() && x[i] <= y[j]);
    const double next = from_x ? x[i] : y[j];
    const double distance =
        static_cast<double>(i) / static_cast<double>(x.size()) - static_cast<double>(j) / static_cast<double>(y.size());
    area += std::fabs(distance) * (next - at);
    at = next;
    ++(from_x ? i : j);
  }
  return std::max(0.0, 1 - area / scale);
}

SnapshotAcceptance accept_snapshot(std::span<const SnapshotNode> nodes, double limit, std::optional<double> floor) {
  SnapshotAcceptance result;
  result.verdicts.resize(nodes.size());
  std::vector<std::size_t> remaining;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    result.verdicts[i].similarity = std::numeric_limits<double>::quiet_NaN();
    const double typical = median(finite_values(nodes[i].values));
    if (std::isnan(typical)) {
      result.verdicts[i].reason = "No value was measured.";
    } else if (floor && typical < *floor) {
      result.verdicts[i].reason = fmt::format("Its median of {:.4g} is below the floor of {:.4g}.", typical, *floor);
    } else {
      remaining.push_back(i);
    }
  }
  std::vector<std::vector<double>> similarity(nodes.size(), std::vector<double>(nodes.size(), 0));
  for (const std::size_t i : remaining) {
    for (const std::size_t j : remaining) similarity[i][j] = distribution_similarity(nodes[i].values, nodes[j].values);
  }
  for (bool dropped = true; dropped && !remaining.empty();) {
    const std::size_t centre = centre_of(similarity, remaining);
    result.centre = centre;
    const double usual = mean(finite_values(nodes[centre].values));
    const std::size_t before = remaining.size();
    std::erase_if(remaining, [&](std::size_t i) {
      const bool slower = mean(finite_values(nodes[i].values)) < usual;
      result.verdicts[i].similarity = similarity[i][centre];
      if (!slower || similarity[i][centre] >= limit) return false;
      result.verdicts[i].reason =
          fmt::format("Slower than '{}' and only {:.1f} % like it.", nodes[centre].node, similarity[i][centre] * 100);
      return true;
    });
    dropped = remaining.size() < before;
  }
  for (const std::size_t i : remaining) result.verdicts[i].accepted = true;
  return result;
}

std::optional<Trend> find_trend(std::span<const TrendPoint> points, double confidence) {
  constexpr std::size_t kFewestForInterval = 10;
  const auto slopes = pairwise_slopes(points);
  std::vector<double> values;
  for (const auto& point : points) values.push_back(point.value);
  const double level = median(values);
  if (slopes.empty() || level == 0 || std::isnan(level)) return std::nullopt;
  const auto scaled = [&](double per_day) { return 100 * 30 * per_day / std::fabs(level); };
  Trend trend{.percent_per_30_days = scaled(median(slopes))};
  if (points.size() < kFewestForInterval) return trend;
  // Kendall: the number of rising less falling pairs of n unrelated points has variance n(n−1)(2n+5)/18.
  const auto n = static_cast<double>(points.size());
  const double spread = normal_quantile(0.5 + confidence / 2) * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const auto count = static_cast<double>(slopes.size());
  const auto at = [&](double rank) { return slopes[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))]; };
  trend.interval = Interval{scaled(at(std::floor((count - spread) / 2) - 1)),
                            scaled(at(std::ceil((count + spread) / 2))), confidence};
  trend.significant = !trend.interval->contains(0);
  return trend;
}

}  // namespace assay
