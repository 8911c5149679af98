#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/run.h"
#include "model/study.h"
#include "protocol/part_report.h"
#include "store/lease.h"

namespace assay {

/// A run that the leader wants a node to do, or to end.
struct ListedJob {
  std::string run;
  bool stop = false;
  int part = 0;  ///< which node of a run over several; 0: the first, or the only one
  bool operator==(const ListedJob&) const = default;
};

inline constexpr const char* kJobsEvent = "jobs";
/// More than that at a time are nobody's wish.
inline constexpr std::size_t kMostListedJobs = 4096;

/// The data of a `jobs` event: everything that a node should be doing.
json::object to_json(const std::vector<ListedJob>& jobs);
/// Any text.
Result<std::vector<ListedJob>> parse_job_list(std::string_view text);

/// What the leader hands over to whoever takes a run. `planned` may hold credentials: it is for whoever starts the
/// workload, and for nobody's log or disk.
struct TakenJob {
  Lease lease;
  Run run;
  PlannedRun planned;
  PartOfRun part = {};  ///< of a run over several nodes: which of them this one is
};

json::object to_json(const TakenJob& job);
/// Any value.
Result<TakenJob> taken_job_from_json(const json::value& value);

}  // namespace assay
