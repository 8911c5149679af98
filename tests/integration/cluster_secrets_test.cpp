#include <gmock/gmock.h>

#include "base/text.h"
#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

using ClusterSecrets = ClusterTest;

// A run that was asked for by somebody with a token looks for what would make it the node, or an administrator.
TEST_F(ClusterSecrets, ARunFindsNeitherTheNodesKeyNorTheJoinToken) {
  leader_.start();
  const auto agent = leader_.start_agent("n1", {"--allow", "run"});
  leader_.expect_state("n1", "online");
  const std::string state = (leader_.cli().folder() / "agents" / "n1").string();
  ASSERT_TRUE(fs::exists(state + "/key")) << "the test must know where the key is";
  const std::string key(trim(read_file(state + "/key").value()));

  const auto spec = leader_.cli().write("thief.yaml", "kind: command\ncommand: \"cat " + state + "/key; ls -R " +
                                                          state + "; env; cat /proc/$PPID/environ; grep -r assay_ " +
                                                          state + "; echo loss=1; echo searched\"\n");
  const auto asked = leader_.cli().run({"run", spec, "--node", "n1"});
  const std::string id(leader_.cli().json({"show", "@last"}).at("result").at("id").as_string());
  const auto printed = leader_.cli().run({"logs", id}).out;
  EXPECT_THAT(printed, HasSubstr("searched")) << asked.error;
  EXPECT_THAT(printed, HasSubstr("Permission denied"));
  EXPECT_THAT(printed, Not(HasSubstr(key)));
  EXPECT_THAT(printed, Not(HasSubstr("spool"))) << "the folder was read";
}

}  // namespace
}  // namespace assay
