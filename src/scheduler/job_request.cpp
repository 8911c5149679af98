#include "scheduler/job_request.h"

#include <algorithm>

#include "base/portable_math.h"

namespace assay {

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

}  // namespace assay
