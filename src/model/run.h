#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/provenance.h"

namespace assay {

/// In this order; a run never goes back.
enum class RunState {
  queued,    ///< asked for; nobody has begun
  starting,  ///< somebody has taken it
  running,   ///< the workload is there
  ended,
};

/// Where a run is to be done, or was.
struct Placement {
  std::string node;                              ///< of a cluster; empty: wherever it was started
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs; absent: all that the node has
  bool operator==(const Placement&) const = default;
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

/// Something found wrong or noteworthy about a result, by one rule, about one thing.
struct Flag {
  std::string kind;     ///< stable name for scripts: "left_processes", "non_finite"
  std::string about;    ///< what it is about: a metric, a node, a setting; may be empty
  std::string message;  ///< one sentence for people
  bool operator==(const Flag&) const = default;
};

/// One series of numbers of a run, summed up. The points are in the run's journal.
struct SeriesSummary {
  std::string name;                           ///< "loss", "host.cpu_util"
  std::map<std::string, std::string> labels;  ///< {"rank": "1"}; mostly empty
  std::string unit;                           ///< "", "s", "B", "1/s", "W", "°C"
  std::int64_t points = 0;
  std::int64_t non_finite = 0;  ///< NaN and infinity among `points`; left out of the figures below
  double first = 0;
  double last = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  bool operator==(const SeriesSummary&) const = default;
};

/// The error of a failed run, as the workload or assay reported it.
struct RunError {
  ErrorKind kind = ErrorKind::crash;
  std::string message;
  std::string hint;
  bool operator==(const RunError&) const = default;
};

/// One execution of one workload with fixed settings: everything about it but its events, points and output.
struct Run {
  std::string id;
  std::string name;
  std::string kind;  ///< the spec's kind: "train", "command", …
  std::vector<std::string> tags;

  std::string study;    ///< id of the study it belongs to; empty if none
  std::string variant;  ///< which configuration of the study: "baseline", "batch_size=64"
  int repeat = 0;       ///< 0-based
  int ranks = 1;
  int nodes = 1;

  Placement placement;

  RunState state = RunState::queued;
  Verdict verdict = Verdict::none;
  std::vector<Flag> flags;
  std::optional<RunError> error;

  WallTime created{};
  WallTime started{};
  WallTime ended{};
  Nanos duration{};              ///< of the workload, by the monotonic clock
  std::optional<int> exit_code;  ///< of the workload; absent if a signal ended it
  std::optional<int> signal;     ///< that ended the workload

  json::object spec;      ///< the validated settings, with defaults filled in
  std::string spec_hash;  ///< content_hash of `spec`
  Provenance provenance;
  std::map<std::string, double> metrics;  ///< final values by name
  std::vector<SeriesSummary> series;
};

/// "schema" of the JSON form. Raise it when a field changes its meaning; keep reading the older ones.
constexpr int kRunSchema = 1;

json::object to_json(const Run& run);
Result<Run> run_from_json(const json::value& value);

json::object to_json(const Flag& flag);
/// One entry of a list "flags"; what is wrong with it becomes a problem of `outer`, the object with that list.
Flag flag_from_json(const json::value& value, JsonFields& outer);
json::object to_json(const SeriesSummary& series);
json::object to_json(const Placement& placement);
json::object to_json(const RunError& error);

}  // namespace assay
