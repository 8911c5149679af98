#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/slurm/slurm_commands.h"
#include "model/slurm_jobs.h"

namespace assay {

// All jobs of a cluster, whoever's they are. Users choose names and comments freely, line ends included, so fields are
// told apart by a mark that nobody can know beforehand.

/// Arguments of squeue, whose output `parse_slurm_jobs` reads. `mark`: letters and digits.
std::string slurm_jobs_format(std::string_view mark);
/// The jobs in what squeue printed, at most `kMostSlurmJobs`: those that have nodes first, else in its order. What is
/// no job is passed over. `keeps_private`: leave out who and what for.
SlurmJobs parse_slurm_jobs(std::string_view printed, std::string_view mark, bool keeps_private);

/// Whether `scontrol show config` says that users do not see each other's jobs. True where it does not say.
bool keeps_jobs_private(std::string_view config);

/// Asks Slurm; blocks for at most 20 s. What Slurm shows to nobody but a job's owner stays out also where the caller
/// may see it. Errors as those of `SlurmCommands::list`.
Result<SlurmJobs> read_slurm_jobs(const SlurmCommands& commands);

}  // namespace assay
