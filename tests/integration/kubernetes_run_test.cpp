// `assay run --on k8s:…` with the built program at both ends, in a cluster of the tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/kubernetes/kube_cluster_fixture.h"
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
    const auto access = cluster_.access();
    const auto config = cli_.write("kubeconfig", fmt::format("current-context: test\n"
                                                             "clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n"
                                                             "contexts: [{{name: test, context: {{cluster: c}}}}]\n",
                                                             access.server.place()));
    arguments.insert(arguments.begin(), "run");
    return cli_.run(arguments, {{"KUBECONFIG", config}});
  }
  static constexpr const char* kPlace = "k8s:namespace=bench,image=assay:test,gpus=0,patience=2min";

  AssayCli cli_;
  KubeCluster cluster_{AssayCli::program()};
};

TEST_F(KubernetesRunTest, RecordsWhatAPodDid) {
  const auto spec = cli_.write("a.yaml", "kind: command\ncommand: [sh, -c, 'echo loss=0.5; echo kept >$ASSAY_ARTIFACTS/note']\n"
                                         "metrics: {loss: 'loss=([0-9.]+)'}\n");
  const auto answer = run({spec, "--on", kPlace});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.error;
  const auto recorded = json::serialize(cli_.last_run());
  EXPECT_THAT(recorded, HasSubstr("\"loss\""));
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

}  // namespace
}  // namespace assay
