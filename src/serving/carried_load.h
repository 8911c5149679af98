#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "serving/load_reporter.h"
#include "serving/serve_settings.h"
#include "sharing/load_messages.h"
#include "target/target.h"

namespace assay {

/// Makes what is put under load. Called once for each load. Errors are the run's.
using TargetMaker =
    std::function<Result<std::unique_ptr<Target>>(const ServeSettings& settings, const ServeRequests& requests)>;

/// Which client this is and what it makes its requests of; the same wherever the run takes place.
struct LoadCarrier {
  TargetMaker make_target;
  std::string run;   ///< names prompts that no other run shares
  std::string host;  ///< that it is on
  LoadShare share;
};

/// A load, or this client's share of one, that has ended.
struct CarriedLoad {
  ServeRequests requests;
  LoadPlan plan;
  std::unique_ptr<Target> target;  ///< stopped
  std::unique_ptr<QueryRecorder> recorder;
  LoadEnding ending;
};

/// The settings that one load of a run goes by.
ServeSettings settings_of_load(const ServeSettings& settings, const LoadOrder& order);

/// Carries out one load by its settings (`settings_of_load`), on the calling thread. Blocks until it has ended;
/// `stopping` ends it within a tenth of a second. `agree_start` as in `LoadParts`, may be empty.
Result<CarriedLoad> carry_load(const ServeSettings& settings, const LoadCarrier& carrier, const LoadOrder& order,
                               const std::function<Result<SteadyTime>()>& agree_start, LoadWatch watch,
                               const std::stop_token& stopping);

}  // namespace assay
