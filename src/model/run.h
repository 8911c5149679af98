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
#include "model/provenance.h"
#include "model/run_state.h"
#include "model/series_summary.h"

namespace assay {

/// A node of a run over several, and what is given to the run there.
struct FurtherNode {
  std::string node;
  std::vector<std::string> gpus;  ///< UUIDs
  bool operator==(const FurtherNode&) const = default;
};

/// Where a run is to be done, or was.
struct Placement {
  std::string node;                              ///< of a cluster; empty: wherever it was started
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs; absent: all that the node has
  /// Where its job goes on whatever becomes of its owner, as `--on` says it: "ssh:gpu01". Empty: it ends with its
  /// owner.
  std::string place = {};
  /// Of a run over several nodes of a cluster: those behind the first, in the order of the ranks.
  std::vector<FurtherNode> further = {};
  /// Which of these nodes this record is about, in the store of an agent that does a part of the run; 0: the first one,
  /// whose record is that of the run.
  int part = 0;
  bool operator==(const Placement&) const = default;

  /// On all of its nodes; nothing where the first one's are not known.
  std::optional<std::size_t> gpu_count() const;
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

json::object to_json(const Placement& placement);
json::object to_json(const RunError& error);

}  // namespace assay
