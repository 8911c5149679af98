#pragma once

#include <memory>

#include "loadgen/arrivals.h"
#include "loadgen/sample_order.h"
#include "serving/serve_settings.h"

namespace assay {

/// When requests of a load are due and what they ask for: the same in every client that shares it. Pure.
struct LoadSchedule {
  std::unique_ptr<ArrivalProcess> arrivals;  ///< of open loops; refers to the times of the requests
  std::unique_ptr<SampleOrder> order;
};
/// `number` of the load within its run: its random numbers are its own.
LoadSchedule schedule_of(const ServeSettings& settings, const LoadPlan& plan, const ServeRequests& requests,
                         std::uint32_t number);

/// How many requests the whole load will have, about.
std::uint64_t expected_requests(const ServeSettings& settings, const LoadPlan& plan);

}  // namespace assay
