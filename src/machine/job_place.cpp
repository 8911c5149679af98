#include "machine/job_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "redact/redact.h"

namespace assay {
namespace {

using Environment = std::map<std::string, std::string>;

std::string_view value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

/// The first of these variables that is set.
std::string_view first_of(const Environment& environment, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    if (const auto value = value_of(environment, name); !value.empty()) return value;
  }
  return {};
}

std::optional<int> count_in(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// A place if rank and size make sense together; size 1 is no job of several processes.
std::optional<JobPlace> place_from(std::string launcher, std::string job, std::string_view rank, std::string_view size,
                                   std::string_view local_rank) {
  const auto rank_number = count_in(rank);
  const auto size_number = count_in(size);
  if (job.empty() || !rank_number || !size_number || *size_number < 2 || *rank_number >= *size_number) {
    return std::nullopt;
  }
  const int local = count_in(local_rank).value_or(0);
  return JobPlace{.launcher = std::move(launcher),
                  .job = std::move(job),
                  .rank = *rank_number,
                  .size = *size_number,
                  .local_rank = local < *size_number ? local : 0};
}

/// A job step as srun started it. Empty outside of one: the batch script itself, an interactive shell.
std::string slurm_step(const Environment& environment) {
  const auto job = first_of(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  const auto step = first_of(environment, {"SLURM_STEP_ID", "SLURM_STEPID"});
  // Slurm numbers its own steps (batch script, interactive shell, …) down from 2³²−1.
  constexpr std::uint64_t kFirstSpecialStep = 0xFFFF'FFF0;
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(step.data(), step.data() + step.size(), number);
  if (job.empty() || step.empty() || code != std::errc() || end != step.data() + step.size()) return {};
  if (number >= kFirstSpecialStep) return {};
  return fmt::format("slurm:{}:{}.{}", value_of(environment, "SLURM_CLUSTER_NAME"), job, number);
}

/// For launchers that give their job no name: what else all its processes, and no others, have in common.
std::string borrowed_job_name(const Environment& environment, std::string_view launcher, int parent) {
  if (const auto step = slurm_step(environment); !step.empty()) return fmt::format("{}:{}", launcher, step);
  const auto batch_job =
      first_of(environment, {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"});
  if (!batch_job.empty()) return fmt::format("{}:{}", launcher, batch_job);
  return parent > 0 ? fmt::format("{}:parent {}", launcher, parent) : std::string();
}

std::optional<JobPlace> torchrun_place(const Environment& environment) {
  const auto address = value_of(environment, "MASTER_ADDR");
  if (address.empty()) return std::nullopt;
  return place_from("torchrun",
                    fmt::format("torchrun:{}:{}:{}", address, value_of(environment, "MASTER_PORT"),
                                value_of(environment, "TORCHELASTIC_RUN_ID")),
                    value_of(environment, "RANK"), value_of(environment, "WORLD_SIZE"),
                    value_of(environment, "LOCAL_RANK"));
}

std::optional<JobPlace> openmpi_place(const Environment& environment, int parent) {
  const auto name = first_of(environment, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
  return place_from("openmpi",
                    name.empty() ? borrowed_job_name(environment, "openmpi", parent) : fmt::format("openmpi:{}", name),
                    value_of(environment, "OMPI_COMM_WORLD_RANK"), value_of(environment, "OMPI_COMM_WORLD_SIZE"),
                    value_of(environment, "OMPI_COMM_WORLD_LOCAL_RANK"));
}

std::optional<JobPlace> mpich_place(const Environment& environment, int parent) {
  const auto name = first_of(environment, {"PMI_JOBID", "PALS_APID"});
  return place_from("mpich",
                    name.empty() ? borrowed_job_name(environment, "mpich", parent) : fmt::format("mpich:{}", name),
                    value_of(environment, "PMI_RANK"), value_of(environment, "PMI_SIZE"),
                    first_of(environment, {"MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID"}));
}

std::optional<JobPlace> slurm_place(const Environment& environment) {
  return place_from("slurm", slurm_step(environment), value_of(environment, "SLURM_PROCID"),
                    first_of(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}),
                    value_of(environment, "SLURM_LOCALID"));
}

}  // namespace

std::optional<JobPlace> job_place(const std::map<std::string, std::string>& environment, int parent) {
  // Innermost first: mpirun may run in a Slurm step and torchrun in either, never the other way round.
  if (auto place = torchrun_place(environment)) return place;
  if (auto place = openmpi_place(environment, parent)) return place;
  if (auto place = mpich_place(environment, parent)) return place;
  return slurm_place(environment);
}

std::map<std::string, std::string> job_variables(const std::map<std::string, std::string>& environment) {
  static constexpr std::array<std::string_view, 51> kNames = {
      // Slurm
      "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_CPUS_ON_NODE", "SLURM_CPUS_PER_TASK",
      "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_JOB_GPUS",
      "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_PARTITION",
      "SLURM_JOB_QOS", "SLURM_LOCALID", "SLURM_MEM_PER_NODE", "SLURM_NNODES", "SLURM_NODEID", "SLURM_NTASKS",
      "SLURM_NTASKS_PER_NODE", "SLURM_PROCID", "SLURM_STEP_GPUS", "SLURM_STEP_ID", "SLURM_STEP_NODELIST",
      "SLURM_STEP_NUM_TASKS", "SLURM_TASKS_PER_NODE", "SLURMD_NODENAME",
      // other batch systems
      "FLUX_JOB_ID", "LSB_JOBID", "PBS_JOBID",
      // MPI
      "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
      "OMPI_COMM_WORLD_NODE_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_JOBID", "PMI_RANK", "PMI_SIZE",
      "PMIX_NAMESPACE", "PMIX_RANK",
      // torchrun
      "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "RANK", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID",
      "WORLD_SIZE"};
  std::map<std::string, std::string> found;
  for (const auto name : kNames) {
    if (const auto value = value_of(environment, name); !value.empty()) found.emplace(name, redact(value));
  }
  return found;
}

}  // namespace assay
