#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launch/hosted/job_folder.h"
#include "launch/launcher.h"
#include "launch/slurm/slurm_watch.h"

namespace assay {

/// A job that Slurm took on, and its folder.
struct SlurmTicket {
  JobFolder folder;
  std::int64_t id = 0;     ///< Slurm's
  std::int64_t nodes = 1;  ///< parts
};

/// Why a part that has no ending will never have one, as far as Slurm knows; nothing while there is hope. For
/// `FolderJobOptions::find_loss`.
std::optional<Error> find_slurm_loss(const SlurmTicket& ticket, const SlurmWatch& watch, std::int64_t part,
                                     SteadyTime now);

/// What Slurm knows beside what the folder tells: why a job waits, why it was ended. `inner` follows the folder;
/// `watch` must outlive it.
std::unique_ptr<RunningJob> make_slurm_running_job(std::unique_ptr<RunningJob> inner, SlurmTicket ticket,
                                                   SlurmWatch& watch);

}  // namespace assay
