#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "agent/leader_access.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "client/connection.h"
#include "model/slurm_jobs.h"

namespace assay {

/// What Slurm has to do, whoever asked for it. May block for as long as Slurm's programs may.
using ReadSlurmJobs = std::function<Result<SlurmJobs>()>;

struct SlurmReporterOptions {
  LeaderAccess access;
  ReadSlurmJobs read;
  std::function<std::uint64_t()> arrivals;  ///< see ListenerOptions: nothing is said while it is 0
  Nanos period = std::chrono::seconds(10);
  /// After the leader said that it does not want to hear it.
  Nanos refused_pause = std::chrono::minutes(2);
  Nanos request_time = std::chrono::seconds(20);
};

/// Tells the leader now and then which jobs Slurm has. One thread, which alone waits for Slurm and for the leader; what
/// could not be told is not kept, since the next word replaces it.
class SlurmReporter {
 public:
  /// Errors are those of the TLS options.
  static Result<std::unique_ptr<SlurmReporter>> start(SlurmReporterOptions options);
  SlurmReporter(const SlurmReporter&) = delete;
  SlurmReporter& operator=(const SlurmReporter&) = delete;
  /// Ends the thread; waits for Slurm if it is just being asked.
  ~SlurmReporter();

 private:
  SlurmReporter(SlurmReporterOptions options, std::shared_ptr<Connection> connection);
  void work(const std::stop_token& stop);
  /// How long to wait before the next word.
  Nanos tell();

  const SlurmReporterOptions options_;
  const std::shared_ptr<Connection> connection_;
  bool is_away_ = false;     ///< of the thread: Slurm did not answer
  bool is_refused_ = false;  ///< of the thread
  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
