#include "train/throughput.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::engine {
namespace {

constexpr std::size_t kBatches = 20;
constexpr double kStudent19 = 2.093;  // 97.5 % quantile of Student's t with 19 degrees of freedom

/// Variance of the steps from `cut` on over their number: what MSER minimises. From sums over the tail.
std::size_t best_cut(std::span<const float> steps, std::size_t least) {
  const std::size_t most = std::max(least, steps.size() / 2);
  double sum = 0;
  double squares = 0;
  double best = 0;
  std::size_t cut = least;
  bool found = false;
  for (std::size_t i = steps.size(); i-- > least;) {
    sum += steps[i];
    squares += static_cast<double>(steps[i]) * steps[i];
    if (i > most) continue;
    const auto count = static_cast<double>(steps.size() - i);
    const double score = (squares - sum * sum / count) / (count * count);
    if (!found || score <= best) {
      best = score;
      cut = i;
      found = true;
    }
  }
  return cut;
}

}  // namespace

SteadyState steady_state(std::span<const float> step_seconds, std::size_t least_warm_up) {
  SteadyState result;
  if (step_seconds.empty()) return result;
  least_warm_up = std::min(least_warm_up, step_seconds.size() - 1);
  result.warm_up_steps = best_cut(step_seconds, least_warm_up);
  const auto rest = step_seconds.subspan(result.warm_up_steps);
  result.steps = rest.size();
  double total = 0;
  for (const float seconds : rest) total += seconds;
  result.step_seconds = total / static_cast<double>(rest.size());
  if (rest.size() < kBatches) return result;

  std::vector<double> means(kBatches);
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    const std::size_t first = batch * rest.size() / kBatches;
    const std::size_t last = (batch + 1) * rest.size() / kBatches;
    for (std::size_t i = first; i < last; ++i) means[batch] += rest[i];
    means[batch] /= static_cast<double>(last - first);
  }
  double variance = 0;
  for (const double mean : means) variance += (mean - result.step_seconds) * (mean - result.step_seconds);
  variance /= kBatches - 1;
  const double margin = kStudent19 * std::sqrt(variance / kBatches);
  result.low = result.step_seconds - margin;
  result.high = result.step_seconds + margin;
  return result;
}

}  // namespace assay::engine
