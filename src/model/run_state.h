#pragma once

#include <optional>
#include <string_view>

namespace assay {

/// In this order; a run never goes back.
enum class RunState {
  queued,    ///< asked for; nobody has begun
  starting,  ///< somebody has taken it
  running,   ///< the workload is there
  ended,
};

/// What the figures of an ended run are worth. `none` until it has ended.
enum class Verdict {
  none,
  valid,        ///< finished, nothing found wrong
  flagged,      ///< finished; something a reader must know is in `flags`
  invalid,      ///< finished, but the figures must not be used: `flags` says why
  failed,       ///< the workload failed: `error` says how
  interrupted,  ///< ended from outside before it finished; the data up to then is kept
};

std::string_view name_of(RunState state);
std::string_view name_of(Verdict verdict);
std::optional<RunState> run_state_from(std::string_view name);
std::optional<Verdict> verdict_from(std::string_view name);

}  // namespace assay
