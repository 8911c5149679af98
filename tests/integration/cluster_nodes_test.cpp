#include <gmock/gmock.h>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

class ClusterNodes : public ClusterTest {};

TEST_F(ClusterNodes, ComeGoAndComeBack) {
  leader_.start();
  EXPECT_THAT(leader_.cli().run({"nodes"}).out, HasSubstr("No node has joined yet"));
  auto agent = leader_.start_agent("n1");
  leader_.expect_state("n1", "online");
  agent.kill_now();
  leader_.expect_state("n1", "offline");
  EXPECT_THAT(leader_.cli().run({"nodes"}).out, HasSubstr("1 offline"));
  // The key is in its state: the same node again.
  agent = leader_.start_agent("n1");
  leader_.expect_state("n1", "online");
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterNodes, ANameBelongsToOneKeyUntilThatIsRevoked) {
  leader_.start();
  auto agent = leader_.start_agent("n1");
  leader_.expect_state("n1", "online");
  auto other = leader_.start_agent("n1", {}, "impostor");
  EXPECT_EQ(other.wait(), 3);
  EXPECT_THAT(other.said(), HasSubstr("assay token revoke node:n1"));
  EXPECT_TRUE(agent.running());
  EXPECT_EQ(agent.terminate(), 0);

  const auto revoked = leader_.cli().run({"token", "revoke", "node:n1"});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.error;
  leader_.expect_state("n1", "offline");
  leader_.new_join_token();
  agent = leader_.start_agent("n1");
  EXPECT_TRUE(eventually([&] { return agent.said().find("this key of node 'n1' was revoked") != std::string::npos; }))
      << agent.said();
  EXPECT_EQ(agent.terminate(), 0);
  other = leader_.start_agent("n1", {}, "impostor");
  leader_.expect_state("n1", "online");
  EXPECT_TRUE(other.running());
}

TEST_F(ClusterNodes, AreShownDrainedResumedAndForgotten) {
  leader_.start();
  auto fleet = leader_.start_fleet(2, {"--gpus", "4"});
  for (const char* node : {"sim001", "sim002"}) {
    ASSERT_TRUE(eventually([&] { return !leader_.seconds_of(node, "gpu.util").empty(); })) << node;
  }
  AssayCli& cli = leader_.cli();

  const auto shown = cli.run({"nodes", "show", "sim001"});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.out, HasSubstr("simulated"));
  EXPECT_THAT(shown.out, HasSubstr("GPU-"));
  const auto unknown = cli.run({"nodes", "show", "nobody"});
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_THAT(unknown.error, HasSubstr("there is no node 'nobody'"));

  EXPECT_EQ(cli.run({"nodes", "drain", "sim001", "--reason", "fan 2 is loud"}).exit_code, 0);
  EXPECT_EQ(leader_.state_of("sim001"), "draining");
  EXPECT_THAT(cli.run({"nodes", "show", "sim001"}).out, HasSubstr("fan 2 is loud"));
  EXPECT_EQ(cli.run({"nodes", "resume", "sim001"}).exit_code, 0);
  EXPECT_EQ(leader_.state_of("sim001"), "online");

  EXPECT_EQ(cli.run({"nodes", "drain", "sim001", "--in", "8h"}).exit_code, 2) << "for how long?";
  EXPECT_EQ(cli.run({"nodes", "drain", "sim001", "--in", "8h", "--for", "2h"}).exit_code, 0);
  EXPECT_THAT(cli.run({"nodes", "show", "sim001"}).out, HasSubstr("online, maintenance from "));
  EXPECT_EQ(cli.run({"nodes", "resume", "sim001"}).exit_code, 0);
  EXPECT_THAT(cli.run({"nodes", "show", "sim001"}).out, Not(HasSubstr("maintenance from")));
  EXPECT_EQ(cli.run({"nodes", "drain", "sim001", "--for", "2s"}).exit_code, 0);
  EXPECT_EQ(leader_.state_of("sim001"), "draining");
  leader_.expect_state("sim001", "online");

  const auto busy = cli.run({"nodes", "forget", "sim002"});
  EXPECT_NE(busy.exit_code, 0);
  EXPECT_THAT(busy.error, HasSubstr("sim002"));
  EXPECT_EQ(fleet.terminate(), 0);
  leader_.expect_state("sim002", "offline");
  EXPECT_EQ(cli.run({"nodes", "forget", "sim002", "--erase"}).exit_code, 0);
  EXPECT_EQ(leader_.state_of("sim002"), "absent");
  leader_.expect_state("sim001", "offline");
  EXPECT_TRUE(leader_.seconds_of("sim002", "gpu.util").empty());
  EXPECT_FALSE(leader_.seconds_of("sim001", "gpu.util").empty());
}

}  // namespace
}  // namespace assay
