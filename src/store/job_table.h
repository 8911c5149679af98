#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "store/stored.h"

namespace assay {

/// A run that somebody asked the cluster for, until it has ended. Where an attempt is lost with its node, another run
/// takes its place, and the job goes on under its first run's id.
struct JobRecord {
  std::string run;      ///< the first that was to do it, by which the job is known
  std::string current;  ///< the run that does it now
  std::string node;     ///< where it must be done; empty: wherever it fits
  WallTime created;     ///< the age that counts in the queue
  std::string by;       ///< who asked
  std::string owner;    ///< the same as accounts name owners: `user ada`; whose use of the cluster it counts as
  /// As the plan has it, credentials included: for the node that does it and for nobody else.
  json::object planned;
  std::optional<std::vector<std::string>> gpus;  ///< UUIDs that were asked for; absent: as the run needs
  std::string study;                             ///< whose plan it is from; empty: none
  std::size_t entry = 0;                         ///< of that plan
  bool stop = false;                             ///< somebody wants it to end
  int priority = 0;                              ///< a step counts as an hour of waiting
  bool held = false;                             ///< it waits until somebody releases it
  std::vector<std::string> after;                ///< jobs that must have succeeded first
  int attempts = 1;                              ///< in all, where an attempt may be lost
  int attempt = 1;
  WallTime not_before{};             ///< of a further attempt
  std::optional<WallTime> deadline;  ///< to have ended by
  bool operator==(const JobRecord&) const = default;
};

class JobTable {
 public:
  virtual ~JobTable() = default;
  /// Every one, oldest first.
  virtual Result<std::vector<Stored<JobRecord>>> list() = 0;
  /// Makes it (revision 0) or changes it; gives the new revision. `busy`: somebody else was first.
  virtual Result<Revision> put(const Stored<JobRecord>& job) = 0;
  /// One that does not exist is no error.
  virtual Result<void> remove(std::string_view run) = 0;
};

}  // namespace assay
