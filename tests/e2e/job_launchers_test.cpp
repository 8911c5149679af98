#include <gmock/gmock.h>

#include "support/assay_cli.h"
#include "support/slurm_cluster.h"

// N processes of one job make one run: rank 0 records, the others add their system metrics. With the real launchers.

namespace assay {
namespace {

using testing::SizeIs;

std::vector<std::string> hosts_of_series(AssayCli& cli) {
  std::vector<std::string> ranks;
  const auto answer = cli.json({"show", "@last", "--series", "host.memory_used_bytes"});
  for (const auto& series : answer.at("result").at("series").as_array()) {
    const auto* rank = series.at("labels").as_object().if_contains("rank");
    ranks.emplace_back(rank ? std::string(rank->as_string()) : "recorder");
  }
  return ranks;
}

TEST(Slurm, TheTasksOfAStepMakeOneRun) {
  auto cluster = SlurmCluster::start(2);
  if (!cluster && cluster.error().kind == ErrorKind::unsupported) GTEST_SKIP() << cluster.error().text();
  ASSERT_TRUE(cluster.ok()) << cluster.error().text();
  AssayCli cli;
  auto environment = (*cluster)->environment();
  environment["ASSAY_DATA"] = cli.data().string();
  const auto srun = run_command({"srun", "-N", "2", "-n", "4", AssayCli::program().string(), "exec", "-q", "--name",
                                 "job", "--", "sh", "-c", "echo loss=0.$SLURM_PROCID; sleep 0.5"},
                                {.deadline = std::chrono::seconds(90), .environment = environment});
  ASSERT_TRUE(srun.ok());
  EXPECT_EQ(srun->exit_code, 0) << srun->error;
  EXPECT_THAT(cli.json({"runs"}).at("result").at("runs").as_array(), SizeIs(1));
  const auto run = cli.last_run();
  EXPECT_EQ(run.at("name").as_string(), "job");
  EXPECT_EQ(run.at("ranks").as_int64(), 4);
  EXPECT_EQ(run.at("nodes").as_int64(), 2);
  EXPECT_TRUE(run.at("provenance").at("job").as_object().contains("SLURM_JOB_ID"));
  EXPECT_THAT(hosts_of_series(cli), testing::UnorderedElementsAre("recorder", "1", "2", "3"));
}

TEST(OpenMpi, TheRanksOfAJobMakeOneRun) {
  if (!fs::exists("/usr/bin/mpirun")) GTEST_SKIP() << "no mpirun here";
  AssayCli cli;
  for (std::size_t jobs = 1; jobs <= 2; ++jobs) {
    const auto mpirun =
        run_command({"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", AssayCli::program().string(),
                     "exec", "-q", "--", "sh", "-c", "echo loss=0.5; sleep 0.5"},
                    {.deadline = std::chrono::seconds(90), .environment = {{"ASSAY_DATA", cli.data().string()}}});
    ASSERT_TRUE(mpirun.ok());
    EXPECT_EQ(mpirun->exit_code, 0) << mpirun->error;
    EXPECT_THAT(cli.json({"runs"}).at("result").at("runs").as_array(), SizeIs(jobs));
    EXPECT_THAT(hosts_of_series(cli), testing::UnorderedElementsAre("recorder", "1"));
  }
}

TEST(Torchrun, ItsVariablesMakeOneRun) {
  // torchrun needs a PyTorch; what it does for its workers is to set these.
  AssayCli cli;
  const auto workers = run_command({"bash", "-c",
                                    "for rank in 1 0; do RANK=$rank LOCAL_RANK=$rank '" + AssayCli::program().string() +
                                        "' exec -q -- sh -c 'echo loss=0.5; sleep 0.5' & done; wait -n && wait -n"},
                                   {.deadline = std::chrono::seconds(90),
                                    .environment = {{"ASSAY_DATA", cli.data().string()},
                                                    {"WORLD_SIZE", "2"},
                                                    {"MASTER_ADDR", "127.0.0.1"},
                                                    {"MASTER_PORT", "29500"},
                                                    {"TORCHELASTIC_RUN_ID", "none"}}});
  ASSERT_TRUE(workers.ok());
  EXPECT_EQ(workers->exit_code, 0) << workers->error;
  EXPECT_THAT(cli.json({"runs"}).at("result").at("runs").as_array(), SizeIs(1));
  EXPECT_THAT(hosts_of_series(cli), testing::UnorderedElementsAre("recorder", "1"));
}

}  // namespace
}  // namespace assay
