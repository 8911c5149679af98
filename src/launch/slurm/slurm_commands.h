#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "launch/slurm/slurm_control.h"

namespace assay {

/// Slurm's own programs, as the user would call them. `missing_file`: they are not installed here.
class SlurmCommands final : public SlurmControl {
 public:
  /// `environment`: added to ours, as SLURM_CONF.
  explicit SlurmCommands(std::map<std::string, std::string> environment = {}) : environment_(std::move(environment)) {}

  Result<std::int64_t> submit(const SlurmRequest& request, const fs::path& script) const override;
  Result<SlurmRecords> list(const std::vector<std::int64_t>& ids) const override;
  std::optional<SlurmRecord> history(std::int64_t id) const override;
  Result<void> cancel(std::int64_t id) const override;

  /// All jobs that wait or run, whoever's they are, as squeue prints them in that format, with times in seconds since
  /// 1970. Errors as `list`.
  Result<std::string> jobs(const std::string& format) const;
  /// How the cluster is set up, as scontrol prints it. Errors as `list`.
  Result<std::string> config() const;

 private:
  struct Call;
  Result<std::string> run(const Call& call) const;
  /// The same for a question: whatever else goes wrong is `unreachable`.
  Result<std::string> ask(std::vector<std::string> arguments,
                          std::map<std::string, std::string> environment = {}) const;

  const std::map<std::string, std::string> environment_;
};

}  // namespace assay
