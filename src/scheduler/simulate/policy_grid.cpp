#include "scheduler/simulate/policy_grid.h"

#include <array>

#include "analysis/intervals.h"
#include "analysis/statistics.h"
#include "base/portable_math.h"

namespace assay {
namespace {

constexpr std::size_t kWorkers = 4;
constexpr double kLogError = 0.5;
/// What a mean may be worse by: the price of an age that protects the tail.
constexpr double kSlack = 0.01;

/// One policy against round robin, on one seed after the other.
struct Measured {
  std::vector<double> mean;
  std::vector<double> p99;
  std::vector<double> longest;
};

class GridComparison {
 public:
  GridComparison(const GridCase& one, const SchedulerOptions& options) : case_(one), options_{.scheduler = options} {}

  Result<void> add(std::uint64_t seed, const std::vector<NodeOffer>& nodes) {
    SyntheticTrace rule = case_.rule;
    const Trace exact = make_trace(rule, kWorkers, 1, seed);
    rule.log_error = kLogError;
    const Trace unsure = make_trace(rule, kWorkers, 1, seed);
    ASSAY_TRY(const SimulatedRun base_run, simulate(exact, nodes, PolicyKind::rr_fcfs, options_));
    base_ = figures_of(exact, base_run);
    ASSAY_CHECK(measure(exact, nodes, PolicyKind::lwl_sjf, least_work_));
    ASSAY_CHECK(measure(exact, nodes, PolicyKind::central_sjf, central_));
    ASSAY_CHECK(measure(unsure, nodes, PolicyKind::central_sjf, central_unsure_));
    ASSAY_CHECK(measure(exact, nodes, PolicyKind::two_tier, two_tier_));
    return measure(unsure, nodes, PolicyKind::two_tier, two_tier_unsure_);
  }

  GridRow row() const {
    GridRow row{.name = case_.name, .goal = case_.goal};
    row.least_work = ratio_over_seeds(least_work_.mean);
    row.central = ratio_over_seeds(central_.mean);
    row.central_unsure = ratio_over_seeds(central_unsure_.mean);
    row.two_tier = ratio_over_seeds(two_tier_.mean);
    row.two_tier_unsure = ratio_over_seeds(two_tier_unsure_.mean);
    row.central_p99 = ratio_over_seeds(central_unsure_.p99);
    row.two_tier_p99 = ratio_over_seeds(two_tier_unsure_.p99);
    row.two_tier_longest_wait = ratio_over_seeds(two_tier_unsure_.longest);
    std::vector<double> to_central;
    to_central.reserve(two_tier_unsure_.mean.size());
    for (std::size_t i = 0; i < two_tier_unsure_.mean.size(); ++i) {
      to_central.push_back(two_tier_unsure_.mean[i] / central_unsure_.mean[i]);
    }
    row.two_tier_to_central = ratio_over_seeds(to_central);
    return row;
  }

 private:
  Result<void> measure(const Trace& trace, const std::vector<NodeOffer>& nodes, PolicyKind policy, Measured& measured) {
    ASSAY_TRY(const SimulatedRun run, simulate(trace, nodes, policy, options_));
    const RunFigures figures = figures_of(trace, run);
    measured.mean.push_back(base_.mean_completion / figures.mean_completion);
    measured.p99.push_back(base_.p99_completion / figures.p99_completion);
    measured.longest.push_back(base_.longest_wait / figures.longest_wait);
    return {};
  }

  const GridCase& case_;
  SimulationOptions options_;
  RunFigures base_;
  Measured least_work_;
  Measured central_;
  Measured central_unsure_;
  Measured two_tier_;
  Measured two_tier_unsure_;
};

}  // namespace

std::span<const GridCase> grid_cases() {
  static const std::array<GridCase, 7> kCases = {{
      {"burst of 50, CV 0.5", {.jobs = 50, .variation = 0.5}, 1.20},
      {"burst of 50, CV 1", {.jobs = 50}, 1.49},
      {"burst of 200, CV 1", {.jobs = 200}, 1.58},
      {"Poisson, load 0.7, CV 0.5", {.load = 0.7, .variation = 0.5}, std::nullopt},
      {"Poisson, load 0.7, CV 1", {.load = 0.7}, 1.76},
      {"Poisson, load 0.9, CV 0.5", {.load = 0.9, .variation = 0.5}, std::nullopt},
      {"Poisson, load 0.9, CV 1", {.load = 0.9}, 2.97},
  }};
  return kCases;
}

GridRatio ratio_over_seeds(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(portable_log(ratio));
  const std::vector<double> usable = finite_values(logs);
  GridRatio answer{.ratio = portable_exp(mean(usable))};
  if (const auto interval = t_interval(usable)) {
    answer.interval = Interval{portable_exp(interval->low), portable_exp(interval->high), interval->confidence};
  }
  return answer;
}

bool keeps_promise(const GridRow& row) {
  return row.two_tier_p99.ratio >= 1 && (!row.goal || row.two_tier_to_central.ratio >= 1 - kSlack);
}

Result<std::vector<GridRow>> compare_on_grid(std::size_t seeds, std::uint64_t first_seed,
                                             const SchedulerOptions& options, const std::function<bool()>& go_on) {
  ASSAY_TRY(const std::vector<NodeOffer> nodes, parse_simulated_nodes("4"));
  std::vector<GridRow> rows;
  for (const GridCase& one : grid_cases()) {
    GridComparison comparison(one, options);
    for (std::size_t i = 0; i < seeds; ++i) {
      if (go_on && !go_on()) return Error{.kind = ErrorKind::interrupted, .message = "the simulation was stopped"};
      ASSAY_CHECK(comparison.add(first_seed + i, nodes));
    }
    rows.push_back(comparison.row());
  }
  return rows;
}

}  // namespace assay
