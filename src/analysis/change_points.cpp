#include "analysis/change_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "analysis/distributions.h"
#include "analysis/statistics.h"

namespace assay {
namespace {

double squares_around(std::span<const double> values, double centre) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [&](double sum, double value) { return sum + (value - centre) * (value - centre); });
}

/// Student's test of the values on both sides of `index` within [begin, end).
ChangePoint examine(std::span<const double> series, std::size_t begin, std::size_t index, std::size_t end) {
  const auto left = series.subspan(begin, index - begin);
  const auto right = series.subspan(index, end - index);
  ChangePoint point{.index = index, .before = mean(left), .after = mean(right)};
  const auto n_left = static_cast<double>(left.size());
  const auto n_right = static_cast<double>(right.size());
  if (n_left + n_right <= 2) return point;
  // Hunter takes variances over n, not n−1, and pools them as if they were the latter.
  const double pooled = ((n_left - 1) * squares_around(left, point.before) / n_left +
                         (n_right - 1) * squares_around(right, point.after) / n_right) /
                        (n_left + n_right - 2);
  const double difference = point.after - point.before;
  if (pooled > 0) {
    point.p = t_two_sided(difference / std::sqrt(pooled * (1 / n_left + 1 / n_right)), n_left + n_right - 2);
  } else {
    point.p = difference == 0 ? 1 : 0;
  }
  return point;
}

struct Candidate {
  std::size_t index = 0;
  double divergence = 0;
};

/// The split of [begin, end) with the largest energy distance between its sides.
std::optional<Candidate> best_split(std::span<const double> series, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  if (count < 4) return std::nullopt;
  const auto value = [&](std::size_t i) { return series[begin + i]; };
  // Sums of |difference| between the sides and within each, moved along as the split moves.
  double across = 0;
  double within_left = 0;
  double within_right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) within_right += std::fabs(value(i) - value(j));
  }
  std::optional<Candidate> best;
  for (std::size_t split = 1; split + 2 <= count; ++split) {
    const std::size_t moved = split - 1;
    double to_left = 0;
    double to_right = 0;
    for (std::size_t i = 0; i < moved; ++i) to_left += std::fabs(value(i) - value(moved));
    for (std::size_t i = split; i < count; ++i) to_right += std::fabs(value(i) - value(moved));
    across += to_right - to_left;
    within_left += to_left;
    within_right -= to_right;
    if (split < 2) continue;
    const auto m = static_cast<double>(split);
    const auto n = static_cast<double>(count - split);
    const double divergence =
        m * n / (m + n) * (2 * across / (m * n) - 2 * within_left / (m * (m - 1)) - 2 * within_right / (n * (n - 1)));
    if (!best || divergence > best->divergence) best = Candidate{begin + split, divergence};
  }
  return best;
}

/// E-divisive on [begin, end): split where the sides differ most, as long as the best split left is significant.
std::vector<std::size_t> divide(std::span<const double> series, std::size_t begin, std::size_t end, double most_p) {
  std::vector<std::size_t> bounds = {begin, end};
  for (;;) {
    std::optional<Candidate> best;
    std::size_t segment = 0;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      const auto candidate = best_split(series, bounds[i], bounds[i + 1]);
      if (!candidate || (best && candidate->divergence <= best->divergence)) continue;
      best = candidate;
      segment = i;
    }
    if (!best || examine(series, bounds[segment], best->index, bounds[segment + 1]).p > most_p) break;
    bounds.insert(bounds.begin() + static_cast<std::ptrdiff_t>(segment) + 1, best->index);
  }
  return {bounds.begin() + 1, bounds.end() - 1};
}

std::vector<std::size_t> weak_points(std::span<const double> series, std::size_t window, double most_p) {
  std::vector<std::size_t> found;
  std::size_t start = 0;
  while (start < series.size()) {
    const auto inside = divide(series, start, std::min(start + window, series.size()), most_p);
    found.insert(found.end(), inside.begin(), inside.end());
    start = std::max(inside.empty() ? 0 : inside.back(), start + window / 2);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<ChangePoint> examine_all(std::span<const double> series, const std::vector<std::size_t>& indices) {
  std::vector<ChangePoint> points;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : indices[i - 1];
    const std::size_t end = i + 1 == indices.size() ? series.size() : indices[i + 1];
    points.push_back(examine(series, begin, indices[i], end));
  }
  return points;
}

double magnitude(const ChangePoint& point) {
  return std::max(std::fabs(point.after / point.before - 1), std::fabs(point.before / point.after - 1));
}

}  // namespace

std::vector<ChangePoint> hunter_change_points(std::span<const double> series, const HunterSettings& settings) {
  if (settings.window < 2) return {};
  auto indices = weak_points(series, settings.window, settings.most_p * 10);
  while (!indices.empty()) {
    auto points = examine_all(series, indices);
    auto weakest = std::max_element(points.begin(), points.end(),
                                    [](const ChangePoint& a, const ChangePoint& b) { return a.p < b.p; });
    if (weakest->p < settings.most_p) {
      weakest = std::min_element(points.begin(), points.end(), [](const ChangePoint& a, const ChangePoint& b) {
        return magnitude(a) < magnitude(b);
      });
      if (magnitude(*weakest) > settings.smallest_change) return points;
    }
    indices.erase(indices.begin() + (weakest - points.begin()));
  }
  return {};
}

}  // namespace assay
