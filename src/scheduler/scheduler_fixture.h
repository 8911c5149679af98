#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "scheduler/scheduler.h"

namespace assay {

// For tests alone.

inline WallTime at_second(double seconds) { return WallTime(Nanos(static_cast<std::int64_t>(seconds * 1e9))); }

inline NodeOffer node_with(const std::string& name, int gpus, const std::string& model = "H200") {
  NodeOffer offer{.name = name};
  for (int i = 0; i < gpus; ++i) {
    offer.gpus.push_back({.uuid = fmt::format("{}-{}", name, i), .model = model, .memory = Bytes{80'000'000'000}});
  }
  return offer;
}

inline JobRequest job_of(const std::string& id, double submitted, double seconds, int gpus = 1) {
  JobRequest job{.id = id, .user = "ann"};
  job.needs.gpus = gpus;
  job.submitted = at_second(submitted);
  job.estimate.expected = Nanos(static_cast<std::int64_t>(seconds * 1e9));
  return job;
}

inline std::vector<std::string> ids_of(const SchedulerDecision& decision) {
  std::vector<std::string> ids;
  for (const JobPlacement& placement : decision.start) ids.push_back(placement.job);
  return ids;
}

}  // namespace assay
