#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/flag.h"

namespace assay {

/// One run that a study plans to do, in the order in which it will do them.
struct PlannedRun {
  std::string variant;    ///< "baseline", "shorter", "ranks=4"
  int repeat = 0;         ///< 0-based
  int configuration = 0;  ///< 0-based place of its configuration in the specification, whatever the order of the plan
  int ranks = 1;
  int nodes = 1;
  std::string node;   ///< where it must run; empty = anywhere
  json::object spec;  ///< complete settings of this run
  std::string run;    ///< id of the run that did it; empty until it was started
};

/// Several runs that answer one question: a matrix, a sweep, a scaling study, repeats.
struct Study {
  std::string id;
  std::string name;
  std::vector<std::string> tags;
  WallTime created{};
  std::string source;     ///< the specification as the user wrote it, or the list of imported files
  std::string spec_hash;  ///< content_hash of the validated, unexpanded settings, or of the imported files
  std::vector<PlannedRun> plan;
  std::vector<Flag> flags;  ///< about the runs together; what is about one of them is in the run
};

constexpr int kStudySchema = 1;

json::object to_json(const PlannedRun& planned);
Result<PlannedRun> planned_run_from_json(const json::value& value);
json::object to_json(const Study& study);
Result<Study> study_from_json(const json::value& value);

}  // namespace assay
