// An agent whose runs are done on another machine, over a real sshd: they outlive it.

#include <gmock/gmock.h>

#include "cluster_fixture.h"
#include "support/ssh_hosts.h"

namespace assay {
namespace {

using testing::HasSubstr;

class ClusterElsewhere : public ClusterTest {
 protected:
  void SetUp() override {
    if (const auto missing = SshHosts::missing(); !missing.empty()) GTEST_SKIP() << missing;
    hosts_.emplace();
    hosts_->add("alpha");
    leader_.start();
    start_agent();
  }
  void start_agent() {
    agent_.emplace(leader_.start_agent("door", {"--allow", "run", "--on", "ssh:alpha", "--on-gpus", "2"}, "",
                                       {{"ASSAY_SSH_CONFIG", hosts_->config().string()}}));
    leader_.expect_state("door", "online");
  }
  AssayCli& cli() { return leader_.cli(); }
  std::string asked(const std::string& command) {
    const auto spec = cli().write("spec.yaml", "kind: command\ncommand: \"" + command + "\"\n");
    const auto answer = cli().json({"submit", spec, "--node", "door"});
    return std::string(answer.at("result").at("submitted").as_array().at(0).at("run").as_string());
  }
  json::object run_of(const std::string& id) { return leader_.get("/api/v1/runs/" + id); }
  std::string logs(const std::string& id) { return cli().run({"logs", id}).out; }
  bool says(const std::string& id, const std::string& text) {
    return eventually([&] { return logs(id).find(text) != std::string::npos; });
  }
  bool ends(const std::string& id) {
    return eventually([&] { return run_of(id).at("state").as_string() == "ended"; });
  }

  std::optional<SshHosts> hosts_;
  std::optional<AssayProcess> agent_;
};

TEST_F(ClusterElsewhere, RunsAreDoneThereAndOutliveTheAgent) {
  const auto run = asked("echo cache=$XDG_CACHE_HOME; for i in $(seq 40); do echo step=$i loss=0.$i; sleep 0.2; done");
  ASSERT_TRUE(says(run, "step=3 "));
  EXPECT_THAT(logs(run), HasSubstr("cache alpha")) << "it is done on the host";
  agent_->kill_now();
  start_agent();
  ASSERT_TRUE(ends(run));
  const auto record = run_of(run);
  EXPECT_EQ(record.at("verdict").as_string(), "valid") << json::serialize(record);
  EXPECT_EQ(record.at("placement").at("node").as_string(), "door");
  expect_each_step_once(logs(run), 40);
  EXPECT_TRUE(leader_.get("/api/v1/runs/" + run + "/lease").at("lease").is_null());
}

TEST_F(ClusterElsewhere, ACancelledRunEndsThere) {
  const auto there = (hosts_->folder() / "there").string();
  const auto run = asked("trap 'echo over > " + there + "; exit 1' INT TERM; echo ready; while :; do sleep 0.1; done");
  ASSERT_TRUE(says(run, "ready"));
  EXPECT_EQ(cli().run({"cancel", run}).exit_code, 0);
  ASSERT_TRUE(ends(run));
  EXPECT_EQ(run_of(run).at("verdict").as_string(), "interrupted");
  EXPECT_TRUE(eventually([&] { return fs::exists(there); })) << "nobody told it there";
}

}  // namespace
}  // namespace assay
