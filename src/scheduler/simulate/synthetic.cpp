#include "scheduler/simulate/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "base/random.h"

namespace assay {
namespace {

struct GangSize {
  std::uint16_t nodes = 1;
  std::uint16_t gpus = 1;
};

GangSize gang_size(Random& random, double share, int gpus_of_node) {
  if (random.uniform() >= share) return {};
  const std::uint64_t kind = random.below(4);
  const auto widest = static_cast<std::uint16_t>(std::clamp(gpus_of_node, 1, 8));
  if (kind == 3 || widest == 1) return {2, widest};
  return {1, std::min<std::uint16_t>(widest, static_cast<std::uint16_t>(2U << kind))};
}

std::uint32_t pick_user(Random& random, const std::vector<double>& up_to) {
  const double spot = random.uniform() * up_to.back();
  return static_cast<std::uint32_t>(std::lower_bound(up_to.begin(), up_to.end(), spot) - up_to.begin());
}

}  // namespace

Trace make_trace(const SyntheticTrace& rule, std::size_t gpus, int gpus_of_node, std::uint64_t seed) {
  Random lengths(seed, "simulate/lengths");
  Random arrivals(seed, "simulate/arrivals");
  Random errors(seed, "simulate/errors");
  Random needs(seed, "simulate/needs");
  Random users(seed, "simulate/users");
  const double variance = portable_log(1 + rule.variation * rule.variation);
  const double middle = portable_log(rule.mean_seconds) - variance / 2;

  Trace trace;
  trace.models = {""};
  trace.names = {""};
  std::vector<double> up_to;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, rule.users); ++i) {
    trace.users.push_back(fmt::format("user{}", i + 1));
    up_to.push_back((up_to.empty() ? 0 : up_to.back()) + 1.0 / static_cast<double>(i + 1));
  }
  trace.jobs.resize(rule.jobs);
  double work = 0;
  for (TraceJob& job : trace.jobs) {
    job.seconds = lengths.lognormal(middle, std::sqrt(variance));
    job.estimate = job.seconds * portable_exp(errors.normal(0, 1) * rule.log_error);
    job.log_error = rule.log_error;
    const GangSize size = gang_size(needs, rule.gang_share, gpus_of_node);
    job.nodes = size.nodes;
    job.gpus = size.gpus;
    job.user = pick_user(users, up_to);
    work += rule.mean_seconds * job.nodes * job.gpus;
  }
  if (rule.load <= 0) return trace;
  const double mean_work = work / static_cast<double>(std::max<std::size_t>(1, rule.jobs));
  const double rate = rule.load * static_cast<double>(gpus) / mean_work;
  double now = 0;
  for (TraceJob& job : trace.jobs) {
    now += arrivals.exponential(rate);
    job.submitted = now;
  }
  return trace;
}

}  // namespace assay
