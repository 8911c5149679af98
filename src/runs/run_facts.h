#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/flag.h"
#include "model/run.h"

namespace assay {

/// A time in which nobody recorded the run: its owner was gone.
struct RecordingGap {
  WallTime from;
  WallTime to;
};

/// Everything a run said about itself, beside its points, events and output.
struct RunFacts {
  json::object hello;                     ///< the workload's greeting, if it sent one
  std::optional<RunError> error;          ///< from an `error` event; the first one counts
  std::map<std::string, double> results;  ///< from `result` events
  /// Last value of each workload metric, finite or not; of the lowest rank where several report it.
  std::map<std::string, double> last;
  std::map<std::string, std::int64_t> non_finite;  ///< how many values of a workload metric were NaN or infinite
  std::vector<Flag> flags;                         ///< from `warning` and `result` events
  std::string phase;
  std::string last_error_line;  ///< what it printed last on standard error
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> total_steps;  ///< as the workload announced it

  std::map<std::string, std::string> read;      ///< metrics read from ordinary text → what was done to their numbers
  std::map<std::string, std::string> doubtful;  ///< metrics in ordinary text that could be read in two ways → which

  std::int64_t events = 0;
  std::int64_t malformed = 0;
  std::string first_malformed;  ///< what was wrong with the first of them
  std::int64_t newer = 0;       ///< events of a newer protocol version
  std::map<std::string, std::int64_t> unknown_types;
  std::int64_t unknown_left_out = 0;  ///< further events of unknown types, beyond the types that are listed
  std::int64_t flags_left_out = 0;    ///< further warnings and flags of the workload
  std::int64_t values_left_out = 0;   ///< of metrics beyond the limit on names, or with an unusable name
  std::string first_left_out;         ///< the first metric that this happened to
  std::int64_t over_long_lines = 0;
  std::int64_t output_bytes = 0;
  std::int64_t output_dropped = 0;       ///< beyond the limit on output
  std::optional<Error> recording_error;  ///< the first failure to write; recording has stopped there
  std::vector<RecordingGap> gaps;        ///< oldest first
  /// Of a run elsewhere: nodes that have sent readings of their machine, and sources of them that gave none → why.
  std::int64_t nodes_measured = 0;
  std::map<std::string, std::string> silent_sources;
  std::int64_t artifacts_lost = 0;
  std::string first_artifact_lost;  ///< its name, and why
};

}  // namespace assay
