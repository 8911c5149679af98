#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/hosted/job_order.h"

namespace assay {

struct Job;

/// Measures the machine that a part of a job runs on, for the stream `readings`. What its lines say is between whoever
/// made it and whoever reads the stream. One thread calls it.
class MachineWatch {
 public:
  virtual ~MachineWatch() = default;
  /// Whole lines that were not taken yet. Does not wait for anything: it is asked about ten times a second.
  virtual std::string take() = 0;
  /// Measures once more and stops: the lines that are left. May take a second.
  virtual std::string finish() = 0;
};

struct WatchedPart {
  const Job& job;
  PartOfJob part;
  std::string host;              ///< the node's name as the job has it, else the machine's own
  std::vector<pid_t> processes;  ///< the first one of each rank that is here, in their order
};

/// Begins to watch, once the processes run.
using WatchMachine = std::function<std::unique_ptr<MachineWatch>(const WatchedPart& part)>;

}  // namespace assay
