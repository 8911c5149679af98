#pragma once

#include <stop_token>

#include "loadgen/load_result.h"
#include "loadgen/peak_search.h"
#include "model/load_profile.h"
#include "serving/carried_load.h"
#include "serving/serve_events.h"
#include "serving/serve_settings.h"
#include "sharing/load_coordinator.h"

namespace assay {

/// One load: what was planned, what it was held against, what came of it.
struct ServedLoad {
  LoadPlan plan;
  LoadRules rules;
  LoadResult result;
  json::object target_facts;
  LoadProfile profile;
  ServeRequests requests;
  std::unique_ptr<QueryRecorder> recorder;  ///< of all clients
  json::object answer_metrics;              ///< of accuracy mode
  bool hopeless = false;                    ///< ended early, since its limits could no longer be kept
  std::optional<Error> failing;             ///< ended early, since its target fails
};

/// What runs have in common, wherever they run.
struct ServePlace {
  LoadCarrier carrier;
  ServeEvents& events;
  std::filesystem::path artifacts;    ///< where logs go; empty: nowhere
  LoadCoordinator* others = nullptr;  ///< the further clients of the run, of which this is the first; null: none
};

/// Puts the target under the load of the settings and speaks of it once a second. Blocks until it has ended; `stopping`
/// ends it within a tenth of a second. With others, it is everybody's load that is judged, from every record. Leaves no
/// artifacts.
Result<ServedLoad> serve_load(const ServeSettings& settings, const ServePlace& place, const LoadOrder& order,
                              const std::stop_token& stopping);

/// The whole run: one load, or a search for the highest rate with the load at that rate in the end. Writes the logs of
/// MLPerf's LoadGen into the artifacts where the scenario has them, and the profile of the load; says the result.
/// Errors are also those of a target that fails too much, after the result was said.
Result<void> serve(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping);

/// A load's figures by their names in docs/reference/metrics.md.
json::object metrics_of(const LoadResult& result);

}  // namespace assay
