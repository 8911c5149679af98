#pragma once

#include <chrono>
#include <functional>

#include "parallel/rank_place.h"

namespace assay::engine {

struct LocalRankOptions {
  /// After the first rank failed, the others hear of it over the control channel and end by themselves; this is how
  /// long they may take before they are ended.
  std::chrono::milliseconds patience = std::chrono::seconds(25);
  std::chrono::milliseconds before_kill = std::chrono::seconds(5);  ///< between SIGTERM and SIGKILL
};

/// Runs `body` in `count` new processes, the ranks of one run on this node, and waits for all. Each gets its place
/// (with a free port and a random token), and rank 0 the socket that listens on that port, for
/// `ControlOptions::listening_fd`; others get −1. What `body` returns is the exit code of its process; a Failure or
/// other exception that escapes is told on standard error.
///
/// This process stays a supervisor that does nothing else, rather than being rank 0: a crash of any rank, rank 0
/// included, is seen, told (standard error names rank and signal) and cleaned up the same way. It must not have used
/// torch or CUDA yet, since forked threads and contexts are broken.
///
/// Returns 0 if all ranks did, else the exit code of the rank that failed first (128 + signal if it was killed). No
/// rank outlives the call: SIGTERM, SIGINT, SIGHUP and SIGQUIT end all of them, SIGKILL of this process too.
/// Only rank 0 writes events; see PeerFailure::reports for the exception.
/// Throws Failure `io` if the ranks cannot be started.
int run_local_ranks(int count, const std::function<int(const RankPlace& place, int listening_fd)>& body,
                    const LocalRankOptions& options = {});

}  // namespace assay::engine
