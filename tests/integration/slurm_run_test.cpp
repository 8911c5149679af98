#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "launch/programs.h"
#include "slurm_fixture.h"

// `assay run --on slurm:…` as people use it, with a real Slurm.

namespace assay {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

class RunOnSlurm : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = shared_slurm();
    if (!cluster && cluster.error().kind == ErrorKind::unsupported) GTEST_SKIP() << cluster.error().text();
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    cluster_ = *cluster;
    environment_ = cluster_->environment();
  }
  void TearDown() override {
    if (cluster_) cluster_->cancel_all();
  }
  /// Whether the events of a job's first node hold that text.
  bool first_part_has(std::string_view text) const {
    std::error_code code;
    for (const auto& job : fs::directory_iterator(cli_.data() / "launch" / "slurm", code)) {
      if (read_file(job.path() / "part-0" / "events").value_or("").find(text) != std::string::npos) return true;
    }
    return false;
  }
  bool has_engine() const { return !find_engine(AssayCli::program()).empty(); }

  AssayCli cli_;
  SlurmCluster* cluster_ = nullptr;
  std::map<std::string, std::string> environment_;
};

TEST_F(RunOnSlurm, ACommandIsRecordedAsIfItRanHere) {
  const auto spec = cli_.write("command.yaml",
                               "kind: command\n"
                               "command: echo loss=0.25; echo $SLURMD_NODENAME > $ASSAY_ARTIFACTS/node; sleep 0.5\n");
  const auto answer = cli_.run({"run", spec, "--on", "slurm:partition=normal,nodelist=node2"}, environment_);
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  const auto run = cli_.last_run();
  EXPECT_EQ(run.at("verdict").as_string(), "valid");
  EXPECT_EQ(run.at("metrics").at("loss").to_number<double>(), 0.25);
  EXPECT_TRUE(run.at("provenance").at("job").as_object().contains("SLURM_JOB_ID"));
  const fs::path artifacts = cli_.data() / "runs" / std::string(run.at("id").as_string()) / "artifacts";
  EXPECT_EQ(read_file(artifacts / "node").value_or("none"), "node2\n") << "what it left came back";
  EXPECT_THAT(cli_.last_series("host.cpu_util"), testing::Not(testing::IsEmpty())) << "as its node measured it";
}

TEST_F(RunOnSlurm, SlurmrestdDoesInPlaceOfTheCommands) {
  if (!SlurmCluster::has_rest()) GTEST_SKIP() << "slurmrestd is not installed";
  const auto spec = cli_.write("command.yaml", "kind: command\ncommand: echo loss=0.25 on $SLURMD_NODENAME\n");
  const auto place = "slurm:partition=normal,nodelist=node2,gres=gpu:1,memory=100M,rest=" + cluster_->rest();
  // Slurm's commands are out of order: nothing but the API is used here.
  auto environment = environment_;
  for (const auto* const name : {"sbatch", "squeue", "scancel"}) {
    fs::permissions(cli_.write(name, "#!/bin/sh\nexit 1\n"), fs::perms::owner_all);
  }
  environment["PATH"] = cli_.folder().string() + ":/usr/bin:/bin";
  const auto answer = cli_.run({"run", spec, "--on", place}, environment);
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_EQ(cli_.last_run().at("verdict").as_string(), "valid");
  EXPECT_THAT(cli_.run({"logs", "@last"}).out, HasSubstr("on node2"));
  const auto refused = cli_.run({"run", spec, "--on", "slurm:partition=nope,rest=" + cluster_->rest()}, environment_);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("Invalid partition name"));
  const auto away = cli_.run({"run", spec, "--on", "slurm:rest=unix:/no/such/socket"}, environment_);
  EXPECT_NE(away.exit_code, 0);
  EXPECT_THAT(away.error, HasSubstr("slurmrestd"));
}

TEST_F(RunOnSlurm, MistakesAreSaidBeforeAnythingRuns) {
  const auto spec = cli_.write("null.yaml", "kind: null\nsteps: 10\n");
  const auto unknown = cli_.run({"run", spec, "--on", "slurm:partiton=gpu"}, environment_);
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("Did you mean 'partition'?"));
  const auto partition = cli_.run({"run", spec, "--on", "slurm:partition=nope"}, environment_);
  EXPECT_EQ(partition.exit_code, 2);
  EXPECT_THAT(partition.error, HasSubstr("Invalid partition name"));
  EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), testing::IsEmpty());
}

TEST_F(RunOnSlurm, TrainingOnOneAndOnTwoNodesIsOneStudy) {
  if (!has_engine()) GTEST_SKIP() << "there is no assay-engine here";
  const auto spec = cli_.write("spiral.yaml",
                               "kind: train\n"
                               "model: mlp\n"
                               "dataset: {name: spiral, samples: 600}\n"
                               "device: cpu\n"
                               "epochs: 2\n"
                               "scale: [1, {ranks: 2, nodes: 2}]\n");
  const auto answer = cli_.run({"run", spec, "--on", "slurm:partition=normal"}, environment_);
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.error;
  const auto runs = cli_.json({"runs"}).at("result").at("runs").as_array();
  ASSERT_THAT(runs, testing::SizeIs(2));
  for (const auto& run : runs) {
    EXPECT_NE(run.at("verdict").as_string(), "failed") << json::serialize(run);
    EXPECT_TRUE(run.at("metrics").as_object().contains("val_accuracy")) << json::serialize(run);
  }
}

TEST_F(RunOnSlurm, ANodeThatIsLostEndsTrainingAsALostPeer) {
  if (!has_engine()) GTEST_SKIP() << "there is no assay-engine here";
  const auto spec = cli_.write("long.yaml",
                               "kind: train\n"
                               "model: mlp\n"
                               "dataset: {name: spiral, samples: 10000}\n"
                               "device: cpu\n"
                               "epochs: 100000\n"
                               "scale: [{ranks: 2, nodes: 2}]\n");
  AssayCli::Answer answer;
  {
    const std::jthread owner([&] { answer = cli_.run({"run", spec, "--on", "slurm:"}, environment_); });
    EXPECT_TRUE(eventually([&] { return first_part_has("step"); }));
    for (const int host : processes_with(cli_.data().string())) {
      const auto line = read_file(fmt::format("/proc/{}/cmdline", host)).value_or("");
      if (line.find("\0001/2\0"s) != std::string::npos) ::kill(host, SIGKILL);
    }
  }
  EXPECT_EQ(answer.exit_code, 1) << answer.out << answer.error;
  EXPECT_EQ(cli_.last_run().at("error").at("kind").as_string(), "lost_peer") << answer.out;
}

}  // namespace
}  // namespace assay
