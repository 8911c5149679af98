#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "base/clock.h"
#include "model/slurm_jobs.h"

namespace assay {

/// A job of Slurm and where it is.
struct ListedSlurmJob {
  SlurmQueueEntry job;
  std::vector<std::string> on;  ///< those of its nodes that the leader knows
};
/// What Slurm has to do beside what this cluster was asked for.
struct SlurmJobList {
  std::string told_by;            ///< the node whose agent says so; empty: none does
  std::optional<WallTime> as_of;  ///< absent: it has not said anything yet
  std::string problem;            ///< why nothing newer is known; empty: nothing is wrong
  bool keeps_private = false;
  std::size_t left_out = 0;
  std::vector<ListedSlurmJob> jobs;
};

template <>
const ApiType<SlurmQueueEntry>& api_type();
template <>
const ApiType<ListedSlurmJob>& api_type();
template <>
const ApiType<SlurmJobList>& api_type();

}  // namespace assay
