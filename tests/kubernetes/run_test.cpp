// `assay run --on k8s:…` with the built program at both ends of a real control plane.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "base/spawn.h"
#include "launch/kubernetes/kube_object.h"
#include "real_cluster.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RealKubernetesRunTest : public testing::Test {
 protected:
  void TearDown() override { cluster_.clear(name_space_); }

  AssayCli::Answer run(const std::string& spec, const std::string& user = "ada") {
    return cli_.run({"run", cli_.write("a.yaml", spec), "--on", kPlace},
                    {{"KUBECONFIG", cluster_.kubeconfig(user, name_space_).string()}});
  }

  static constexpr const char* kPlace = "k8s:image=assay:test,gpus=0,patience=2min";
  AssayCli cli_;
  RealCluster& cluster_ = *shared_cluster().value();
  const std::string name_space_ = cluster_.make_namespace();
};

TEST_F(RealKubernetesRunTest, RecordsWhatAPodDid) {
  const auto answer =
      run("kind: command\ncommand: [sh, -c, 'echo loss=0.5; echo kept >$ASSAY_ARTIFACTS/note']\n"
          "metrics: {loss: 'loss=([0-9.]+)'}\n");
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.error;
  EXPECT_THAT(json::serialize(cli_.last_run()), HasSubstr("\"loss\""));
}

TEST_F(RealKubernetesRunTest, AFailureIsTheRuns) {
  EXPECT_EQ(run("kind: command\ncommand: [sh, -c, 'exit 5']\n").exit_code, 1);
}

TEST_F(RealKubernetesRunTest, ARightThatIsMissingIsSaid) {
  const auto answer = run("kind: null\nsteps: 3\n", "bob");
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.error, AllOf(HasSubstr("may not create jobs"), HasSubstr("'create' on 'jobs'")));
}

TEST_F(RealKubernetesRunTest, CtrlCEndsItAndLeavesNothing) {
  const std::string there = (cli_.folder() / "there").string();
  const auto spec =
      cli_.write("long.yaml", fmt::format("kind: command\ncommand: 'echo >\"{}\"; exec sleep 1000'\n", there));
  const auto nothing = open_file("/dev/null", O_RDWR).value();
  const pid_t owner =
      spawn({.arguments = {AssayCli::program().string(), "run", spec, "--on", kPlace, "--data", cli_.data().string()},
             .environment =
                 merged_environment({{"KUBECONFIG", cluster_.kubeconfig("ada", name_space_).string()}}).value(),
             .folder = {},
             .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}}})
          .value();
  EXPECT_TRUE(eventually([&] { return fs::exists(there); }));
  ::kill(owner, SIGINT);
  int status = 0;
  ::waitpid(owner, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  const std::string jobs = fmt::format("/apis/batch/v1/namespaces/{}/jobs", name_space_);
  const std::string pods = fmt::format("/api/v1/namespaces/{}/pods", name_space_);
  EXPECT_TRUE(eventually([&] {
    return kube_array(cluster_.admin().get(jobs).body, {"items"}).empty() &&
           kube_array(cluster_.admin().get(pods).body, {"items"}).empty();
  }));
}

TEST_F(RealKubernetesRunTest, TrainingOverTwoPodsIsOneRun) {
  if (!std::getenv("ASSAY_ENGINE") && !fs::exists(AssayCli::program().parent_path() / "assay-engine")) {
    GTEST_SKIP() << "there is no engine: beside this assay or in ASSAY_ENGINE";
  }
  const auto answer =
      run("kind: train\nmodel: mlp\ndataset: {name: spiral, samples: 500}\nepochs: 2\ndevice: cpu\n"
          "scale: [{ranks: 2, nodes: 2}]\n");
  EXPECT_THAT(answer.exit_code, testing::AnyOf(0, 4)) << answer.out << answer.error;
  const auto recorded = cli_.last_run();
  EXPECT_EQ(recorded.at("nodes").as_int64(), 2);
  EXPECT_TRUE(recorded.at("metrics").as_object().contains("val_loss")) << json::serialize(recorded);
}

}  // namespace
}  // namespace assay
