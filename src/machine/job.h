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
};

/// Nothing when this process was started alone (an sbatch script outside srun counts as alone).
std::optional<JobPlace> job_place(const std::map<std::string, std::string>& environment);

/// Those variables that tell about the job and nothing else, for provenance.
std::map<std::string, std::string> job_variables(const std::map<std::string, std::string>& environment);

}  // namespace assay
