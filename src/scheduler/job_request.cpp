#include "scheduler/job_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/portable_math.h"
#include "scheduler/node_offer.h"

namespace assay {
namespace {

Error senseless(const JobRequest& job, std::string rule) {
  return {.kind = ErrorKind::bad_spec, .message = fmt::format("job '{}': {}", job.id, std::move(rule))};
}

}  // namespace

Nanos DurationEstimate::at_most() const {
  // Ten years: the product stays within what a time can hold, whatever error somebody claims.
  const double most = 10 * 365.0 * 86'400 * 1e9;
  const double nanos = static_cast<double>(expected.count()) * portable_exp(std::min(log_error, 20.0));
  return Nanos(static_cast<std::int64_t>(std::min(nanos, most)));
}

std::optional<Nanos> wait_before_retry(const RetryRule& rule, int failed_attempt) {
  if (failed_attempt >= rule.attempts) return std::nullopt;
  Nanos wait = rule.first_wait;
  for (int i = 1; i < failed_attempt && wait < rule.longest_wait; ++i) wait *= 2;
  return std::min(wait, rule.longest_wait);
}

Result<void> check_needs(const JobRequest& job) {
  const JobNeeds& needs = job.needs;
  if (job.id.empty()) return senseless(job, "a job needs an id");
  if (needs.nodes < 1) return senseless(job, fmt::format("'{}' nodes: at least one is needed", needs.nodes));
  if (needs.gpus < 0) return senseless(job, fmt::format("'{}' GPUs: not less than none", needs.gpus));
  if (static_cast<std::size_t>(needs.gpus) > kMostGpusOfNode) {
    return senseless(job, fmt::format("'{}' GPUs on a node: at most {}", needs.gpus, kMostGpusOfNode));
  }
  if (!needs.on.empty() && needs.on.size() < static_cast<std::size_t>(needs.nodes)) {
    return senseless(job, fmt::format("it needs {} nodes and names {}", needs.nodes, needs.on.size()));
  }
  if (needs.cpus && needs.gpus > 0) return senseless(job, "it needs GPUs, or the CPUs of a node, not both");
  const bool one_named = needs.nodes == 1 && needs.on.size() == 1;
  if (!needs.these.empty() && (!one_named || needs.these.size() != static_cast<std::size_t>(needs.gpus))) {
    return senseless(job, "GPUs that are named must be those of one named node, and as many as it needs");
  }
  const std::set<std::string> named(needs.on.begin(), needs.on.end());
  if (named.size() < needs.on.size()) return senseless(job, "it names a node twice");
  if (job.estimate.expected <= Nanos(0)) return senseless(job, "its expected duration must be more than 0");
  if (std::find(job.after.begin(), job.after.end(), job.id) != job.after.end()) {
    return senseless(job, "it waits for itself");
  }
  return {};
}

}  // namespace assay
