#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "loadgen/load_result.h"
#include "loadgen/peak_search.h"
#include "model/load_profile.h"
#include "serving/serve_events.h"
#include "serving/serve_settings.h"
#include "target/target.h"

namespace assay {

/// Makes what is put under load. Called once for each load. Errors are the run's.
using TargetMaker =
    std::function<Result<std::unique_ptr<Target>>(const ServeSettings& settings, const ServeRequests& requests)>;

/// One load: what was planned, what it was held against, what came of it.
struct ServedLoad {
  LoadPlan plan;
  LoadRules rules;
  LoadResult result;
  json::object target_facts;
  LoadProfile profile;
  json::object answer_metrics;  ///< of accuracy mode
  bool hopeless = false;        ///< ended early, since its limits could no longer be kept
};

/// What runs have in common, wherever they run.
struct ServePlace {
  TargetMaker make_target;
  ServeEvents& events;
  std::filesystem::path artifacts;  ///< where logs go; empty: nowhere
  std::string run;                  ///< names prompts that no other run shares
};

/// Puts the target under the load of the settings and speaks of it once a second. Blocks until it has ended; `stopping`
/// ends it within a tenth of a second. `number` of the load within its run: its random numbers are its own.
Result<ServedLoad> serve_load(const ServeSettings& settings, const ServePlace& place, std::uint32_t number,
                              const std::stop_token& stopping);

/// The whole run: one load, or a search for the highest rate with the load at that rate in the end. Writes the logs of
/// MLPerf's LoadGen into the artifacts where the scenario has them, and the profile of the load; says the result.
Result<void> serve(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping);

/// A load's figures by their names in docs/reference/metrics.md.
json::object metrics_of(const LoadResult& result);

}  // namespace assay
