#pragma once

#include <string>
#include <vector>

#include "loadgen/load_result.h"
#include "model/load_profile.h"

namespace assay {

/// What a target says of itself.
struct ProfiledTarget {
  std::vector<std::string> endpoints;  ///< as `Target::endpoints`
  const json::object& facts;           ///< `finish_reasons` are of interest
};

/// What a load was like, of the requests due after the warm-up. Pure; goes over all records once, and sorts the
/// latencies of each endpoint where there are several.
LoadProfile profile_of(const LoadPlan& plan, const LoadResult& result, const QueryRecorder& recorder,
                       const ProfiledTarget& target);

}  // namespace assay
