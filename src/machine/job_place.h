#pragma once

#include <map>
#include <optional>
#include <string>

namespace assay {

/// This process's place in a job of several processes, as srun, mpirun or torchrun told it.
struct JobPlace {
  std::string launcher;  ///< "slurm", "openmpi", "mpich", "torchrun"
  std::string job;       ///< the same text in every process of the job and in no other job at the same time
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  bool operator==(const JobPlace&) const = default;
};

/// Nothing when this process was started alone (an sbatch script outside srun counts as alone), or when what the
/// environment says cannot be true. The innermost launcher decides: torchrun inside srun is a torchrun job.
/// `parent` is the id of the parent process, usually getppid(): MPICH's mpirun hands out no name for the job, and
/// outside of Slurm and the like its processes on one host share nothing but their parent. With 0 such a job counts
/// as alone.
std::optional<JobPlace> job_place(const std::map<std::string, std::string>& environment, int parent = 0);

/// Those variables that tell about the job and nothing else, for provenance.
std::map<std::string, std::string> job_variables(const std::map<std::string, std::string>& environment);

}  // namespace assay
