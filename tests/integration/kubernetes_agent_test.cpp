// An agent whose runs are done in Kubernetes, in a cluster of the tests.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster_fixture.h"
#include "launch/kubernetes/kube_cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class KubernetesAgentTest : public ClusterTest {
 protected:
  void SetUp() override {
    const auto access = kubernetes_.access();
    config_ = cli().write("kubeconfig", fmt::format("current-context: test\n"
                                                    "clusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n"
                                                    "contexts: [{{name: test, context: {{cluster: c}}}}]\n",
                                                    access.server.place()));
    leader_.start();
    start_agent();
  }
  void start_agent() {
    const char* place = "k8s:namespace=bench,image=assay:test,gpus=0,patience=2min";
    agent_.emplace(leader_.start_agent("pods", {"--allow", "run", "--on", place}, "", {{"KUBECONFIG", config_}}));
    leader_.expect_state("pods", "online");
  }
  AssayCli& cli() { return leader_.cli(); }
  std::string logs(const std::string& id) { return cli().run({"logs", id}).out; }

  KubeCluster kubernetes_{AssayCli::program()};
  std::string config_;
  std::optional<AssayProcess> agent_;
};

TEST_F(KubernetesAgentTest, RunsAreJobsThatOutliveTheAgent) {
  const auto spec = cli().write(
      "spec.yaml", "kind: command\ncommand: \"for i in $(seq 40); do echo step=$i loss=0.$i; sleep 0.2; done\"\n");
  const auto answer = cli().json({"submit", spec, "--node", "pods"});
  const std::string run(answer.at("result").at("submitted").as_array().at(0).at("run").as_string());
  ASSERT_TRUE(eventually([&] { return logs(run).find("step=3 ") != std::string::npos; })) << logs(run);
  EXPECT_THAT(kubernetes_.objects("jobs"), SizeIs(1));
  agent_->kill_now();
  start_agent();
  ASSERT_TRUE(eventually([&] { return leader_.get("/api/v1/runs/" + run).at("state").as_string() == "ended"; }));
  const auto record = leader_.get("/api/v1/runs/" + run);
  EXPECT_EQ(record.at("verdict").as_string(), "valid") << json::serialize(record);
  expect_each_step_once(logs(run), 40);
  EXPECT_THAT(kubernetes_.objects("jobs"), SizeIs(1)) << "it was done once";
}

}  // namespace
}  // namespace assay
