#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "launch/slurm/slurm_control.h"

namespace assay {

/// The REST API of slurmrestd, version v0.0.38, over a Unix socket: as the user whose slurmrestd that is. What was
/// forgotten by slurmctld nobody tells here.
class SlurmRest final : public SlurmControl {
 public:
  /// `socket`: `unix:/run/slurmrestd.sock`. `environment`: of jobs, added to ours.
  explicit SlurmRest(std::string socket, std::map<std::string, std::string> environment = {})
      : socket_(std::move(socket)), environment_(std::move(environment)) {}

  Result<std::int64_t> submit(const SlurmRequest& request, const fs::path& script) const override;
  Result<SlurmRecords> list(const std::vector<std::int64_t>& ids) const override;
  std::optional<SlurmRecord> history(std::int64_t /*id*/) const override { return std::nullopt; }
  Result<void> cancel(std::int64_t id) const override;

 private:
  struct Answer {
    int status = 0;
    json::value body;
  };
  struct Question {
    std::string method = "GET";
    std::string path;  ///< below the version
    std::string body;
    Nanos time = std::chrono::seconds(10);
  };
  Result<Answer> ask(const Question& question) const;

  const std::string socket_;
  const std::map<std::string, std::string> environment_;
};

/// The body that hands a job in. `environment`: ours, of which jobs get what `request` names. Errors (`usage`): memory
/// that Slurm would not understand either.
Result<json::object> rest_submission(const SlurmRequest& request, std::string_view script,
                                     const std::map<std::string, std::string>& environment);

// What slurmrestd answers. Any value.

/// The jobs of that user; all where there is none.
SlurmRecords parse_rest_jobs(const json::value& answer, std::optional<std::int64_t> user);
Result<std::int64_t> parse_rest_submitted(const json::value& answer);
/// What went wrong in Slurm's words; empty: nothing did.
std::string rest_error_in(const json::value& answer);
/// Whether it says that there is no such job.
bool says_no_such_job(const json::value& answer);

}  // namespace assay
