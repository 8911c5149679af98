#include "scheduler/simulate/run_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "analysis/statistics.h"

namespace assay {
namespace {

double jain_index(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  if (values.empty() || squares <= 0) return std::numeric_limits<double>::quiet_NaN();
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

double fairness_of(const Trace& trace, const SimulatedRun& run) {
  std::vector<double> of_jobs;
  std::vector<double> sums(trace.users.size(), 0);
  std::vector<double> counts(trace.users.size(), 0);
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    if (std::isnan(run.completions[i])) continue;
    const double served = (run.completions[i] - run.waits[i]) / run.completions[i];
    of_jobs.push_back(served);
    sums[trace.jobs[i].user] += served;
    counts[trace.jobs[i].user] += 1;
  }
  std::vector<double> of_users;
  for (std::size_t user = 0; user < sums.size(); ++user) {
    if (counts[user] > 0) of_users.push_back(sums[user] / counts[user]);
  }
  return jain_index(of_users.size() > 1 ? of_users : of_jobs);
}

}  // namespace

RunFigures figures_of(const Trace& trace, const SimulatedRun& run) {
  const std::vector<double> completions = finite_values(run.completions);
  const std::vector<double> waits = finite_values(run.waits);
  RunFigures figures{.jobs = completions.size(), .misfits = run.misfits};
  figures.mean_completion = mean(completions);
  figures.mean_wait = mean(waits);
  figures.utilisation = run.available > 0 ? run.used / run.available : 0;
  figures.makespan = run.makespan;
  figures.fairness = fairness_of(trace, run);
  if (completions.empty()) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    figures.p50_completion = figures.p99_completion = figures.p99_wait = figures.longest_wait = unknown;
    return figures;
  }
  const std::vector<double> of_completion = percentiles_nearest(completions, std::array{0.5, 0.99});
  figures.p50_completion = of_completion[0];
  figures.p99_completion = of_completion[1];
  figures.p99_wait = percentiles_nearest(waits, std::array{0.99})[0];
  figures.longest_wait = *std::max_element(waits.begin(), waits.end());
  return figures;
}

}  // namespace assay
