#include "analysis/inference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "analysis/statistics.h"

namespace assay {
namespace {

constexpr double kSaturated = 0.95;

std::optional<double> as_number(const std::string& label) {
  double number = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), number);
  if (error != std::errc{} || end != label.data() + label.size()) return std::nullopt;
  return number;
}

/// "8" before "16", and both before "flash".
bool label_before(const std::string& a, const std::string& b) {
  const auto x = as_number(a);
  const auto y = as_number(b);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a < b;
}

std::vector<std::string> sorted_labels(std::span<const HeatSample> samples, std::string HeatSample::* field) {
  std::set<std::string> unique;
  for (const auto& sample : samples) unique.insert(sample.*field);
  std::vector<std::string> labels(unique.begin(), unique.end());
  std::stable_sort(labels.begin(), labels.end(), label_before);
  return labels;
}

}  // namespace

std::vector<CdfPoint> latency_cdf(std::span<const double> latencies, std::size_t points) {
  std::vector<double> sorted = finite_values(latencies);
  std::sort(sorted.begin(), sorted.end());
  std::vector<CdfPoint> curve;
  if (sorted.empty()) return curve;
  const std::size_t wanted = std::clamp<std::size_t>(points, 2, std::max<std::size_t>(2, sorted.size()));
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t index = i * (sorted.size() - 1) / (wanted - 1);
    const double value = sorted[index];
    if (!curve.empty() && curve.back().value == value) continue;
    // Values that tie are one step.
    const auto at_most = std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
    curve.push_back({value, static_cast<double>(at_most) / static_cast<double>(sorted.size())});
  }
  return curve;
}

LoadCurve load_curve(std::span<const LoadPoint> points, LoadKind kind) {
  LoadCurve curve{.points = {points.begin(), points.end()}};
  std::stable_sort(curve.points.begin(), curve.points.end(),
                   [](const LoadPoint& a, const LoadPoint& b) { return a.offered < b.offered; });
  double most_before = 0;
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const LoadPoint& point = curve.points[i];
    const bool saturated = kind == LoadKind::by_rate ? point.completed < kSaturated * point.offered
                                                     : most_before >= kSaturated * point.completed;
    curve.saturated.push_back(saturated);
    most_before = std::max(most_before, point.completed);
    if (saturated || !point.within_limits) {
      if (!curve.first_bad) curve.first_bad = i;
    } else if (point.valid && (!curve.best || point.completed > curve.points[*curve.best].completed)) {
      curve.best = i;
    }
  }
  return curve;
}

HeatMap heat_map(std::span<const HeatSample> samples) {
  HeatMap map{.rows = sorted_labels(samples, &HeatSample::row), .columns = sorted_labels(samples, &HeatSample::column)};
  map.cells.assign(map.rows.size(), std::vector<HeatCell>(map.columns.size()));
  const auto place = [](const std::vector<std::string>& labels, const std::string& label) {
    return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  };
  std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> values;
  for (const auto& sample : samples) {
    const std::pair where(place(map.rows, sample.row), place(map.columns, sample.column));
    if (sample.value && std::isfinite(*sample.value)) {
      values[where].push_back(*sample.value);
    } else {
      ++map.cells[where.first][where.second].failed;
    }
  }
  for (const auto& [where, repeats] : values) {
    HeatCell& cell = map.cells[where.first][where.second];
    cell.value = mean(repeats);
    cell.repeats = repeats.size();
    map.least = std::min(map.least.value_or(*cell.value), *cell.value);
    map.most = std::max(map.most.value_or(*cell.value), *cell.value);
  }
  return map;
}

}  // namespace assay
