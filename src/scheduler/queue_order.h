#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "scheduler/job_request.h"

namespace assay {

/// Which of the jobs that could start does so first.
enum class QueueOrder {
  aged_shortest,  ///< short ones first, but age counts: nobody starves
  shortest,       ///< short ones first, whatever becomes of the long ones
  first_come,
};

/// How much the estimates of jobs differ and how much of that is their own error: what is learnt from those submitted.
/// A function of the jobs in their order. The answer changes when their number reaches a power of two, so that jobs
/// which were compared with each other stay comparable at a bounded cost.
class EstimateSpread {
 public:
  /// Returns whether answers have changed: keys that were computed before are out of date.
  bool add(const DurationEstimate& estimate);

  /// The logarithm of seconds, moved towards the middle of all jobs as far as its error makes it worthless.
  double shrunk(const DurationEstimate& estimate) const;
  /// Standard deviation of the logarithm of true durations, as far as it can be known.
  double of_durations() const { return durations_; }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
  double errors_ = 0;
  // As of the last power of two.
  bool known_ = false;
  double middle_ = 0;
  double durations_ = 0;
};

/// What decides over the order of jobs: the smaller key starts first. In seconds; by itself it never changes with time,
/// so that waiting jobs need no work.
///   submitted + min(ageing · s² · d, longest delay) − priority · step
/// where d is the shrunk estimate and s² the variance of log durations: short jobs overtake long ones for a time in
/// proportion to the longer one's length, more of it where lengths differ much, since there is more to be gained, and
/// less where estimates are poor. A deadline brings a job forward, so that it is first among newcomers at its latest
/// start.
struct OrderRule {
  QueueOrder order = QueueOrder::aged_shortest;
  double ageing = 36;  ///< see docs/adr/015: the 99th percentile stays better than round robin's
  Nanos longest_delay = std::chrono::hours(72);  ///< jobs that come later than this never overtake
  Nanos priority_step = std::chrono::hours(1);

  double key(const JobRequest& job, const EstimateSpread& spread) const;
};

double seconds_since_epoch(WallTime time);

}  // namespace assay
