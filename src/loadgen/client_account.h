#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "loadgen/client_watch.h"
#include "loadgen/percentiles.h"
#include "loadgen/query_recorder.h"

namespace assay {

/// One client of a load that several carry: what it did, and what could make its part worthless.
struct ClientAccount {
  std::string name;  ///< "client 1 on gpu02"
  // Of its requests due after the warm-up.
  std::uint64_t requests = 0;
  std::uint64_t ok = 0;
  std::uint64_t lost = 0;
  LatencySummary lateness;
  double scheduled_per_second = 0;
  double delivered_per_second = 0;
  ClientUsage usage;
  Nanos began_late{0};      ///< after the start that was agreed
  Nanos clock_offset{0};    ///< of its clock from that of the first client; means nothing but that it was measured
  Nanos clock_bound{0};     ///< the offset is right to this, drift included; 0 for the first client
  std::string lost_reason;  ///< why the client did not stay to the end; empty: it did
};

/// Counts, lateness and rates of one client's records, which have ended. Pure; sorts copies of the lateness of all.
ClientAccount account_of(std::span<const QueryRecord> records, Nanos warmup);

}  // namespace assay
