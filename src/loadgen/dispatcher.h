#pragma once

#include <cstdint>
#include <stop_token>

#include "base/result.h"
#include "loadgen/arrivals.h"
#include "loadgen/client_watch.h"
#include "loadgen/load_clock.h"
#include "loadgen/query_recorder.h"
#include "loadgen/sample_order.h"
#include "target/target.h"

namespace assay {

/// How a load goes on and when it has been enough. A load ends when both minima are reached, or a maximum, or there are
/// no more arrivals.
struct LoadPlan {
  Scenario scenario = Scenario::server;
  std::uint32_t samples_per_query = 1;  ///< multi_stream: samples that are asked for together
  std::uint32_t concurrency = 1;        ///< closed: requests under way at any time
  std::uint64_t min_queries = 1;        ///< after the warm-up. offline: exactly so many samples
  std::uint64_t max_queries = 0;        ///< 0: no limit
  Nanos min_duration{0};                ///< after the warm-up
  Nanos max_duration{0};                ///< of all; 0: no limit
  Nanos warmup{0};                      ///< requests that are due in it count for nothing
  TargetWishes wishes;
};

struct LoadEnding {
  SteadyTime start{};         ///< when the first request could have been due
  Nanos issuing{0};           ///< until the last one was issued
  Nanos duration{0};          ///< until the last answer, or until waiting for it ended
  std::uint64_t queries = 0;  ///< multi_stream: groups of samples; else requests
  std::uint64_t lost = 0;
  bool interrupted = false;    ///< somebody asked to stop
  bool out_of_memory = false;  ///< a record could not be made
  ClientUsage client;
};

/// What a load is made of. All of it outlives the load.
struct LoadParts {
  ArrivalProcess* arrivals = nullptr;  ///< needed in open loops, ignored otherwise
  SampleOrder& order;
  Target& target;
  QueryRecorder& recorder;  ///< new; afterwards it is closed
  LoadClock& clock;
};

/// Puts a target under load, from start to stop, on the calling thread. Blocks until every request has ended, or was
/// given up: `request_timeout` and a second after the last one was issued. A stop request ends it within a tenth of a
/// second, and cancels what is in flight. Errors are those of `Target::start`.
Result<LoadEnding> run_load(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping);

}  // namespace assay
