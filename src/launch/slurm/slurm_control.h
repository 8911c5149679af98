#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "launch/slurm/slurm_place.h"
#include "launch/slurm/slurm_state.h"

namespace assay {

/// How jobs are handed to a Slurm, looked at and ended. Each call blocks for at most a deadline of its own, since Slurm
/// may hang while slurmctld is away. Errors: `missing_file` (Slurm is not there at all), `unreachable` (it does not
/// answer). Any number of threads.
class SlurmControl {
 public:
  virtual ~SlurmControl() = default;

  /// Hands in a script, which finds its own way to its files; what it prints goes nowhere. After `timeout` nobody knows
  /// whether Slurm took it. Further errors: see `refused_by_slurm`.
  virtual Result<std::int64_t> submit(const SlurmRequest& request, const fs::path& script) const = 0;
  /// These of the user's jobs, as far as slurmctld still remembers them, also those that have ended; without ids all of
  /// them. There may be others among them.
  virtual Result<SlurmRecords> list(const std::vector<std::int64_t>& ids) const = 0;
  /// A job that slurmctld has forgotten, if the site keeps accounts; nothing where it does not.
  virtual std::optional<SlurmRecord> history(std::int64_t id) const = 0;
  /// Ends a job, or takes it from the queue. One that is over already is no error.
  virtual Result<void> cancel(std::int64_t id) const = 0;
};

}  // namespace assay
