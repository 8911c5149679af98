#include "scheduler/queue_order.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/portable_math.h"

namespace assay {
namespace {

/// Wider than this (a coefficient of variation of two) nothing more is gained by overtaking.
constexpr double kWidestSpread = 1.3;
/// Below eight jobs nothing can be said of their spread: that of a coefficient of variation of one is taken.
constexpr std::uint64_t kFewestJobs = 8;
constexpr double kUsualSpread = 0.83;
/// Of what is seen: where errors seem to explain all of it, estimates still say more than nothing, and the order of
/// jobs that came at once is theirs.
constexpr double kLeastTrueShare = 1.0 / 64;

double log_seconds(const DurationEstimate& estimate) {
  return portable_log(std::max(seconds_of(estimate.expected), 1e-3));
}

}  // namespace

double seconds_since_epoch(WallTime time) { return seconds_of(time.time_since_epoch()); }

bool EstimateSpread::add(const DurationEstimate& estimate) {
  const double value = log_seconds(estimate);
  ++count_;
  const double step = value - mean_;
  mean_ += step / static_cast<double>(count_);
  squares_ += step * (value - mean_);
  errors_ += estimate.log_error * estimate.log_error;
  if (count_ < kFewestJobs || !std::has_single_bit(count_)) return false;
  const auto jobs = static_cast<double>(count_);
  const double seen = squares_ / (jobs - 1);
  middle_ = mean_;
  durations_ = std::sqrt(std::max(kLeastTrueShare * seen, seen - errors_ / jobs));
  known_ = true;
  return true;
}

double EstimateSpread::shrunk(const DurationEstimate& estimate) const {
  const double value = log_seconds(estimate);
  if (!known_) return value;
  const double variance = durations_ * durations_;
  const double error = estimate.log_error * estimate.log_error;
  if (variance + error <= 0) return value;
  return middle_ + (value - middle_) * variance / (variance + error);
}

double OrderRule::key(const JobRequest& job, const EstimateSpread& spread) const {
  const double submitted = seconds_since_epoch(job.submitted);
  const double priority = job.priority * seconds_of(priority_step);
  if (order == QueueOrder::first_come) return submitted - priority;
  if (order == QueueOrder::shortest) return seconds_of(job.estimate.expected) - priority;
  const double width = std::min(spread.of_durations() > 0 ? spread.of_durations() : kUsualSpread, kWidestSpread);
  const double delay = ageing * width * width * portable_exp(spread.shrunk(job.estimate));
  double key = submitted + std::min(delay, seconds_of(longest_delay));
  if (job.deadline) {
    key = std::min(key, seconds_since_epoch(*job.deadline) - seconds_of(job.estimate.at_most()));
  }
  return key - priority;
}

}  // namespace assay
