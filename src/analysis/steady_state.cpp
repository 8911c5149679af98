#include "analysis/steady_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/statistics.h"

namespace assay {
namespace {

constexpr std::size_t kMserBatch = 5;
constexpr std::size_t kFewestSteps = 20;
constexpr std::size_t kMostBatches = 40;
constexpr std::size_t kFewestBatches = 10;

/// Means of `count` equal batches. What does not divide evenly is left out at the start, where warm-up lingers.
std::vector<double> batch_means(std::span<const double> values, std::size_t count) {
  const std::size_t size = values.size() / count;
  std::vector<double> means;
  means.reserve(count);
  for (std::size_t start = values.size() - size * count; start < values.size(); start += size) {
    means.push_back(mean(values.subspan(start, size)));
  }
  return means;
}

/// Largest autocorrelation that chance alone gives independent batches about once in twenty times.
double tolerated_autocorrelation(std::size_t batches) { return 1.645 / std::sqrt(static_cast<double>(batches)); }

}  // namespace

SteadyState find_steady_state(std::span<const double> steps) {
  if (steps.size() < kFewestSteps) return {};
  const std::size_t batches = steps.size() / kMserBatch;
  std::vector<double> means;
  means.reserve(batches);
  for (std::size_t i = 0; i < batches; ++i) means.push_back(mean(steps.subspan(i * kMserBatch, kMserBatch)));

  // From the back, so that each cut's mean and squares come from the one after it (Welford).
  double centre = 0;
  double squares = 0;
  double best = std::numeric_limits<double>::infinity();
  std::size_t best_cut = 0;
  const std::size_t last_cut = batches / 2;
  for (std::size_t cut = batches; cut-- > 0;) {
    const auto count = static_cast<double>(batches - cut);
    const double distance = means[cut] - centre;
    centre += distance / count;
    squares += distance * (means[cut] - centre);
    if (cut > last_cut) continue;
    const double score = squares / (count * count);
    // Equal scores go to the earlier cut: a constant series has no warm-up.
    if (score <= best) {
      best = score;
      best_cut = cut;
    }
  }
  if (best_cut == last_cut) return {};
  return {.first = best_cut * kMserBatch, .found = true};
}

double autocorrelation(std::span<const double> values, std::size_t lag) {
  if (values.size() < lag + 2) return std::numeric_limits<double>::quiet_NaN();
  const double centre = mean(values);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - centre;
    squares += distance * distance;
    if (i >= lag) products += distance * (values[i - lag] - centre);
  }
  return squares == 0 ? 0 : products / squares;
}

SteadyMean steady_mean(std::span<const double> steady_steps, double confidence) {
  SteadyMean result{.mean = mean(steady_steps), .steps = steady_steps.size()};
  if (steady_steps.size() < kFewestSteps) return result;
  // Longer batches depend less on each other: halve their number until they no longer do.
  std::size_t count = std::min(kMostBatches, steady_steps.size() / 2);
  std::vector<double> batches = batch_means(steady_steps, count);
  const auto independent = [](const std::vector<double>& means) {
    return autocorrelation(means) <= tolerated_autocorrelation(means.size());
  };
  while (!independent(batches) && count > kFewestBatches) {
    count = std::max(kFewestBatches, count / 2);
    batches = batch_means(steady_steps, count);
  }
  result.batches = count;
  result.reliable = independent(batches);

  // Around the mean of all steps, also of those that did not fill a batch.
  const auto around_batches = t_interval(batches, confidence);
  const double half = (around_batches->high - around_batches->low) / 2;
  result.interval = Interval{result.mean - half, result.mean + half, confidence};
  const double of_mean = sample_variance(batches) / static_cast<double>(count);
  const double of_step = sample_variance(steady_steps);
  const auto steps = static_cast<double>(steady_steps.size());
  result.effective_steps = of_mean > 0 ? std::min(steps, of_step / of_mean) : steps;
  return result;
}

}  // namespace assay
