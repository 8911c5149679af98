// `assay run --on k8s:…` with the built program at both ends, in a cluster of the tests.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>

#include "base/spawn.h"
#include "launch/kubernetes/kube_cluster_fixture.h"
#include "net/http_message.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class KubernetesRunTest : public testing::Test {
 protected:
  AssayCli::Answer run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    return cli_.run(arguments, {{"KUBECONFIG", config()}});
  }
  std::string config() {
    const auto access = cluster_.access();
    return cli_.write("kubeconfig", fmt::format("current-context: test\n"
                                                "clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n"
                                                "contexts: [{{name: test, context: {{cluster: c}}}}]\n",
                                                access.server.place()));
  }
  static constexpr const char* kPlace = "k8s:namespace=bench,image=assay:test,gpus=0,patience=2min";

  AssayCli cli_;
  KubeCluster cluster_{AssayCli::program()};
};

TEST_F(KubernetesRunTest, RecordsWhatAPodDid) {
  const auto spec =
      cli_.write("a.yaml",
                 "kind: command\ncommand: [sh, -c, 'echo loss=0.5; echo kept >$ASSAY_ARTIFACTS/note; sleep 0.5']\n"
                 "metrics: {loss: 'loss=([0-9.]+)'}\n");
  const auto answer = run({spec, "--on", kPlace});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.error;
  const auto recorded = json::serialize(cli_.last_run());
  EXPECT_THAT(recorded, HasSubstr("\"loss\""));
  EXPECT_THAT(cli_.last_series("host.cpu_util"), testing::Not(IsEmpty())) << "as the pod measured it";
  EXPECT_THAT(cluster_.objects("jobs"), SizeIs(1)) << "the cluster clears it away";
}

TEST_F(KubernetesRunTest, AFailureIsTheRuns) {
  const auto spec = cli_.write("a.yaml", "kind: command\ncommand: [sh, -c, 'exit 5']\n");
  EXPECT_EQ(run({spec, "--on", kPlace}).exit_code, 1);
}

TEST_F(KubernetesRunTest, MistakesAreSaidBeforeAnythingIsAsked) {
  const auto spec = cli_.write("a.yaml", "kind: null\nsteps: 3\n");
  auto answer = run({spec, "--on", "k8s:namspace=bench,image=a"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("Did you mean 'namespace'?"));
  answer = run({spec, "--on", "k8s:bench"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("'bench' is no option"));
  answer = run({spec, "--on", "k8s:image=a,context=other"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, AllOf(HasSubstr("no context 'other'"), HasSubstr("test")));
  EXPECT_THAT(cluster_.asked(), IsEmpty());
}

TEST_F(KubernetesRunTest, ARightThatIsMissingIsSaid) {
  cluster_.intercept([](const HttpRequest&) -> std::optional<HttpResponse> {
    return HttpResponse::json(403, kube_fixture("status_forbidden.json"));
  });
  const auto answer = run({cli_.write("a.yaml", "kind: null\nsteps: 3\n"), "--on", kPlace});
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.error, AllOf(HasSubstr("may not create jobs"), HasSubstr("'create' on 'jobs'")));
}

TEST_F(KubernetesRunTest, ItsJobGoesOnWhenTheOwnerIsKilled) {
  const auto spec =
      cli_.write("long.yaml", fmt::format("kind: command\ncommand: 'echo there >\"{}\"; exec sleep 1000'\n",
                                          (cli_.folder() / "there").string()));
  const auto nothing = open_file("/dev/null", O_RDWR).value();
  const pid_t owner =
      spawn({.arguments = {AssayCli::program().string(), "run", spec, "--on", kPlace, "--data", cli_.data().string()},
             .environment = merged_environment({{"KUBECONFIG", config()}}).value(),
             .folder = {},
             .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}}})
          .value();
  EXPECT_TRUE(eventually([&] { return fs::exists(cli_.folder() / "there"); }));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  ASSERT_THAT(cluster_.objects("jobs"), SizeIs(1));
  ASSERT_THAT(cluster_.objects("pods"), SizeIs(1));
  EXPECT_EQ(json::serialize(cluster_.objects("pods")[0].at("status").at("phase")), "\"Running\"");
}

TEST_F(KubernetesRunTest, TrainingOverTwoPodsIsOneRun) {
  if (!std::getenv("ASSAY_ENGINE") && !fs::exists(AssayCli::program().parent_path() / "assay-engine")) {
    GTEST_SKIP() << "there is no engine: beside this assay or in ASSAY_ENGINE";
  }
  const auto spec =
      cli_.write("two.yaml",
                 "kind: train\nmodel: mlp\ndataset: {name: spiral, samples: 500}\nepochs: 2\ndevice: cpu\n"
                 "scale: [{ranks: 2, nodes: 2}]\n");
  const auto answer = run({spec, "--on", kPlace});
  EXPECT_THAT(answer.exit_code, testing::AnyOf(0, 4)) << answer.out << answer.error;
  const auto recorded = cli_.last_run();
  EXPECT_EQ(recorded.at("nodes").as_int64(), 2);
  EXPECT_TRUE(recorded.at("metrics").as_object().contains("val_loss")) << json::serialize(recorded);
}

}  // namespace
}  // namespace assay
