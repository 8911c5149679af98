#include "machine/job_place.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using Environment = std::map<std::string, std::string>;
using testing::ElementsAre;
using testing::Pair;

Environment srun_task(int rank) {
  return {{"SLURM_CLUSTER_NAME", "alps"},
          {"SLURM_JOB_ID", "4711"},
          {"SLURM_JOBID", "4711"},
          {"SLURM_STEP_ID", "2"},
          {"SLURM_STEPID", "2"},
          {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NTASKS", "8"},
          {"SLURM_STEP_NUM_TASKS", "8"},
          {"SLURM_NNODES", "2"},
          {"SLURM_JOB_NODELIST", "gpu[01-02]"}};
}

Environment mpirun_task(int rank) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank)},
          {"PMIX_NAMESPACE", "prterun-gpu01-31337@1"},
          {"PMIX_RANK", std::to_string(rank)}};
}

Environment torchrun_task(int rank) {
  return {{"RANK", std::to_string(rank)}, {"WORLD_SIZE", "16"},     {"LOCAL_RANK", std::to_string(rank % 8)},
          {"MASTER_ADDR", "gpu01"},       {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "bench-1"}};
}

void overlay(Environment& base, const Environment& top) {
  for (const auto& [name, value] : top) base[name] = value;
}

TEST(JobPlace, a_process_on_its_own_is_alone) {
  EXPECT_EQ(job_place({}), std::nullopt);
  EXPECT_EQ(job_place({{"HOME", "/root"}, {"RANK", "colonel"}}), std::nullopt);
}

TEST(JobPlace, srun) {
  EXPECT_EQ(job_place(srun_task(5)),
            (JobPlace{.launcher = "slurm", .job = "slurm:alps:4711.2", .rank = 5, .size = 8, .local_rank = 1}));
  EXPECT_EQ(job_place(srun_task(0))->job, job_place(srun_task(7))->job);
  auto next_step = srun_task(0);
  next_step["SLURM_STEP_ID"] = "3";
  EXPECT_NE(job_place(next_step)->job, job_place(srun_task(0))->job);
}

TEST(JobPlace, an_sbatch_script_is_alone) {
  auto script = srun_task(0);
  script.erase("SLURM_STEP_ID");
  script.erase("SLURM_STEPID");
  EXPECT_EQ(job_place(script), std::nullopt);
  for (const char* special : {"4294967291", "4294967290", "batch", "-1"}) {
    script["SLURM_STEP_ID"] = special;
    EXPECT_EQ(job_place(script), std::nullopt) << special;
  }
}

TEST(JobPlace, a_single_task_is_alone) {
  auto task = srun_task(0);
  task["SLURM_NTASKS"] = task["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(job_place(task), std::nullopt);
}

TEST(JobPlace, the_step_counts_and_not_the_allocation_around_it) {
  auto task = srun_task(1);
  task["SLURM_NTASKS"] = "64";
  task["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(job_place(task)->size, 2);
}

TEST(JobPlace, open_mpi_5_and_4) {
  EXPECT_EQ(
      job_place(mpirun_task(3)),
      (JobPlace{.launcher = "openmpi", .job = "openmpi:prterun-gpu01-31337@1", .rank = 3, .size = 4, .local_rank = 3}));
  auto older = mpirun_task(2);
  older.erase("PMIX_NAMESPACE");
  older["OMPI_MCA_ess_base_jobid"] = "2563112961";
  EXPECT_EQ(job_place(older)->job, "openmpi:2563112961");
}

TEST(JobPlace, mpich_by_its_job_id) {
  EXPECT_EQ(job_place({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_JOBID", "88.0"}, {"MPI_LOCALRANKID", "1"}}),
            (JobPlace{.launcher = "mpich", .job = "mpich:88.0", .rank = 1, .size = 2, .local_rank = 1}));
}

TEST(JobPlace, mpich_without_a_job_id_is_named_by_what_its_processes_share) {
  const Environment task = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "9"}, {"MPI_LOCALNRANKS", "2"}};
  EXPECT_EQ(job_place(task), std::nullopt);
  EXPECT_EQ(job_place(task, 1234)->job, "mpich:parent 1234");
  auto in_pbs = task;
  in_pbs["PBS_JOBID"] = "99.head";
  EXPECT_EQ(job_place(in_pbs, 1234)->job, "mpich:99.head");
  auto in_slurm = task;
  overlay(in_slurm, srun_task(0));
  EXPECT_EQ(job_place(in_slurm, 1234)->job, "mpich:slurm:alps:4711.2");
}

TEST(JobPlace, torchrun) {
  EXPECT_EQ(
      job_place(torchrun_task(11)),
      (JobPlace{
          .launcher = "torchrun", .job = "torchrun:gpu01:29500:bench-1", .rank = 11, .size = 16, .local_rank = 3}));
  auto other = torchrun_task(0);
  other["MASTER_PORT"] = "29501";
  EXPECT_NE(job_place(other)->job, job_place(torchrun_task(0))->job);
}

TEST(JobPlace, rank_and_size_alone_do_not_make_torchrun) {
  EXPECT_EQ(job_place({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), std::nullopt);
}

TEST(JobPlace, the_innermost_launcher_decides) {
  auto environment = srun_task(1);
  overlay(environment, mpirun_task(2));
  EXPECT_EQ(job_place(environment)->launcher, "openmpi");
  overlay(environment, torchrun_task(9));
  EXPECT_EQ(job_place(environment)->launcher, "torchrun");
  EXPECT_EQ(job_place(environment)->rank, 9);
}

TEST(JobPlace, what_cannot_be_true_is_alone) {
  const std::vector<std::pair<std::string, std::string>> hostile = {
      {"8", "8"}, {"9", "8"}, {"-1", "8"}, {"0", "-8"},  {"0", "0"},   {"x", "8"},           {"0", "x"},
      {"", "8"},  {"0", ""},  {" 0", "8"}, {"0x1", "8"}, {"1.5", "8"}, {"0", "99999999999"}, {"99999999999", "8"}};
  for (const auto& [rank, size] : hostile) {
    auto torchrun = torchrun_task(0);
    torchrun["RANK"] = rank;
    torchrun["WORLD_SIZE"] = size;
    EXPECT_EQ(job_place(torchrun), std::nullopt) << rank << " of " << size;
    auto slurm = srun_task(0);
    slurm["SLURM_PROCID"] = rank;
    slurm["SLURM_STEP_NUM_TASKS"] = slurm["SLURM_NTASKS"] = size;
    EXPECT_EQ(job_place(slurm), std::nullopt) << rank << " of " << size;
  }
}

TEST(JobPlace, a_strange_local_rank_does_no_harm) {
  for (const char* strange : {"", "x", "-1", "4096"}) {
    auto task = torchrun_task(9);
    task["LOCAL_RANK"] = strange;
    EXPECT_EQ(job_place(task)->local_rank, 0) << strange;
  }
}

TEST(JobVariables, tell_about_the_job_and_nothing_else) {
  EXPECT_THAT(job_variables({{"SLURM_JOB_ID", "1"},
                             {"SLURM_JOB_USER", "ada"},
                             {"SLURM_CONF", "/etc/slurm"},
                             {"RANK", "0"},
                             {"PATH", "/bin"},
                             {"MASTER_ADDR", "gpu01"},
                             {"SLURM_JOB_NAME", "x --password=hunter2"}}),
              ElementsAre(Pair("MASTER_ADDR", "gpu01"), Pair("RANK", "0"), Pair("SLURM_JOB_ID", "1"),
                          Pair("SLURM_JOB_NAME", "x --password=[redacted]")));
}

}  // namespace
}  // namespace assay
