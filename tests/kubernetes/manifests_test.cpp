// What packaging/kubernetes has for administrators, applied to a real API server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/kubernetes/kube_object.h"
#include "real_cluster.h"
#include "support/assay_cli.h"
#include "support/source_tree.h"

namespace assay {
namespace {

class RealManifestsTest : public testing::Test {
 protected:
  void SetUp() override { cluster_.kubectl({"create", "namespace", "assay"}); }
  void TearDown() override { cluster_.kubectl({"delete", "namespace", "assay", "--wait=false"}); }

  std::string manifest(const std::string& name) {
    return (test::source_folder() / "packaging/kubernetes" / name).string();
  }
  /// The names of the pods that the controllers have made.
  std::vector<std::string> pods() {
    std::vector<std::string> names;
    const auto list = cluster_.admin().get("/api/v1/namespaces/assay/pods");
    for (const auto& pod : kube_array(list.body, {"items"})) names.push_back(kube_text(pod, {"metadata", "name"}));
    return names;
  }

  RealCluster& cluster_ = *shared_cluster().value();
};

TEST_F(RealManifestsTest, LeaderAndAgentsAreTakenAsTheyAreAndBecomePods) {
  // A field that the API does not know is an error here, not passed over.
  for (const auto* const name : {"leader.yaml", "agents.yaml", "launcher-role.yaml"}) {
    cluster_.kubectl({"apply", "-n", "assay", "--validate=strict", "-f", manifest(name)});
  }
  EXPECT_TRUE(eventually([&] { return pods() == std::vector<std::string>{"assay-leader-0"}; }))
      << testing::PrintToString(pods());
  // On the nodes with GPUs, once they are called so and have the runtime.
  const std::string runtime_class =
      "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia\n";
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "class.yaml", runtime_class).ok());
  cluster_.kubectl({"apply", "-f", (folder.path() / "class.yaml").string()});
  cluster_.kubectl({"label", "node", "gpu01", "gpu02", "nvidia.com/gpu.present=true"});
  EXPECT_TRUE(eventually([&] { return pods().size() == 3; })) << testing::PrintToString(pods());
  cluster_.kubectl({"label", "node", "gpu01", "gpu02", "nvidia.com/gpu.present-"});
  cluster_.kubectl({"delete", "runtimeclass", "nvidia"});
}

}  // namespace
}  // namespace assay
