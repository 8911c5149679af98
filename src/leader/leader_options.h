#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "accounts/accounts.h"
#include "base/clock.h"
#include "leader/intake_budget.h"
#include "leader/outlets.h"
#include "leader/run_desk.h"
#include "leader/slurm_desk.h"
#include "watch/watch_rules.h"

namespace assay {

struct LeaderOptions {
  WatchRules rules;
  std::vector<std::unique_ptr<Outlet>> outlets;
  RunDesk::Options runs;
  SlurmDesk::Options slurm;
  Nanos keep_events = std::chrono::hours(24 * 730);  ///< and resolved alerts
  std::size_t events_per_node = 100'000;             ///< beyond it, the oldest are forgotten
  std::size_t events_per_hour = 10'000;              ///< of a node, by when they arrive; more are refused
  IntakeLimits intake;                               ///< of each node
  /// Threads that take in what nodes send: when all hang, no node can be heard.
  std::size_t intake_threads = 4;
  /// What a node may report at a time; what it has stored over time, the store bounds (`SeriesLimits`).
  std::size_t live_series_per_node = 16'384;
  AccountOptions accounts = {};
};

}  // namespace assay
