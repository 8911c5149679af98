#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "telemetry/metric_source.h"
#include "telemetry/replay/recording.h"

namespace assay {

struct ReplayOptions {
  bool loop = true;                   ///< else readings fail with `not_found` once the recording is over
  double speed = 1;                   ///< recorded seconds for each second; above 0
  std::optional<std::uint64_t> seed;  ///< gives every GPU an identity and a character of its own; absent: as recorded
  const Clock* clock = nullptr;       ///< the machine's if null; must outlive the source
};

/// Plays a recording: a reading has what was recorded up to the same moment. Several sources can share a recording,
/// so that a fleet is one recording and a seed for each node. Never blocks.
/// Values are those of the recording, or, with a seed, vary from GPU to GPU as real ones do: power and activity by a
/// few percent, temperature by a few degrees, clocks by one percent; counters stay as they are.
/// What was recorded rarely is shown as rarely; `read_everything` has the last value of every series.
std::unique_ptr<MetricSource> make_replay_source(std::shared_ptr<const Recording> recording,
                                                 ReplayOptions options = {});

}  // namespace assay
