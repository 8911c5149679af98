#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "loadgen/arrivals.h"
#include "loadgen/client_account.h"
#include "loadgen/client_watch.h"
#include "loadgen/load_clock.h"
#include "loadgen/query_recorder.h"
#include "loadgen/sample_order.h"
#include "target/target.h"

namespace assay {

/// What one client does of a load that several carry: every request whose number leaves `index` when divided by
/// `count`. By the clock, each client goes over the whole schedule and sends what is its own, so that all of them
/// together send what one alone would. In closed loops and offline it has its share of the requests and of those under
/// way.
struct LoadShare {
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};
/// How many of the numbers below `whole` are of a share.
std::uint64_t share_of(std::uint64_t whole, const LoadShare& share);

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
  LoadShare share;                      ///< single and multi stream cannot be shared out
  TargetWishes wishes;
};

struct LoadEnding {
  SteadyTime start{};         ///< when the first request could have been due
  Nanos issuing{0};           ///< until the last one was issued
  Nanos duration{0};          ///< until the last answer, or until waiting for it ended
  std::uint64_t queries = 0;  ///< multi_stream: groups of samples; else requests
  std::uint64_t lost = 0;
  bool interrupted = false;            ///< somebody asked to stop
  bool out_of_memory = false;          ///< a record could not be made
  Nanos began_late{0};                 ///< after the start that was agreed
  ClientUsage client;                  ///< of several: the worst
  std::vector<ClientAccount> clients;  ///< of a load that several carried; empty: one did
};

/// What a load is made of. All of it outlives the load.
struct LoadParts {
  ArrivalProcess* arrivals = nullptr;  ///< needed in open loops, ignored otherwise
  SampleOrder& order;
  Target& target;
  QueryRecorder& recorder;  ///< new; afterwards it is closed
  LoadClock& clock;
  /// Asked once the target is ready: when the load starts, by `clock`. May block; an error ends the load before it has
  /// begun. None: at once.
  std::function<Result<SteadyTime>()> agree_start = {};
  std::filesystem::path proc = "/proc";  ///< that the client is watched by
};

/// Puts a target under load, from start to stop, on the calling thread. Blocks until every request has ended, or was
/// given up: `request_timeout` and a second after the last one was issued. A stop request ends it within a tenth of a
/// second, and cancels what is in flight. Errors are those of `Target::start` and of `agree_start`.
Result<LoadEnding> run_load(const LoadPlan& plan, const LoadParts& parts, const std::stop_token& stopping);

/// The requests of the plan's share that are due by `until`, all of them lost: what became of those that a client took
/// with it. Not for closed loops, which decide as they go. `arrivals` and `order` are new. Pure.
std::vector<QueryRecord> lost_share(const LoadPlan& plan, ArrivalProcess* arrivals, SampleOrder& order, Nanos until);

}  // namespace assay
