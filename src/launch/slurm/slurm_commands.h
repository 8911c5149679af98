#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "launch/slurm/slurm_state.h"

namespace assay {

/// Slurm's own programs, as the user would call them. Each blocks for at most its deadline, since clients hang while
/// slurmctld is away. Errors: `missing_file` (Slurm is not installed here), `unreachable` (slurmctld does not answer).
/// Any number of threads.
class SlurmCommands {
 public:
  /// `environment`: added to ours, as SLURM_CONF.
  explicit SlurmCommands(std::map<std::string, std::string> environment = {}) : environment_(std::move(environment)) {}

  /// Hands a script in with these options. After `timeout` nobody knows whether Slurm took it. Further errors: see
  /// `refused_by_slurm`.
  Result<std::int64_t> submit(const std::vector<std::string>& options, const fs::path& script) const;
  /// The user's jobs that slurmctld still remembers, also those that have ended.
  Result<SlurmRecords> list() const;
  /// A job that it has forgotten, if the site keeps accounts; nothing where it does not.
  std::optional<SlurmRecord> history(std::int64_t id) const;
  /// Ends a job, or takes it from the queue. One that is over already is no error.
  Result<void> cancel(std::int64_t id) const;

 private:
  struct Call;
  Result<std::string> run(const Call& call) const;

  const std::map<std::string, std::string> environment_;
};

}  // namespace assay
