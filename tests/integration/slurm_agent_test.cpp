#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster_fixture.h"
#include "launch/job.h"
#include "slurm_fixture.h"

// A leader beside a real Slurm: agents whose runs are done in its queue, and what others do there.

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LeaderWithSlurm : public ClusterTest {
 protected:
  void SetUp() override {
    auto cluster = shared_slurm();
    if (!cluster && cluster.error().kind == ErrorKind::unsupported) GTEST_SKIP() << cluster.error().text();
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    slurm_ = *cluster;
  }
  void TearDown() override {
    ClusterTest::TearDown();
    login_.reset();
    if (slurm_) slurm_->cancel_all();
  }

  /// An agent as on a login node.
  void start_login(const std::vector<std::string>& arguments) {
    auto environment = slurm_->environment();
    environment["LOGIN_SECRET"] = "s3cret";
    login_.emplace(leader_.start_agent("login1", arguments, "", environment));
    leader_.expect_state("login1", "online");
  }
  void start_login_on_slurm() { start_login({"--allow", "run", "--on", "slurm:partition=normal", "--on-gpus", "2"}); }
  AssayCli& cli() { return leader_.cli(); }
  std::string spec_of(const std::string& command) {
    return cli().write("spec.yaml", "kind: command\ncommand: \"" + command + "\"\n");
  }
  /// Counts to `steps`, five a second.
  std::string counting(int steps) {
    return spec_of(fmt::format("for i in $(seq {}); do echo step=$i loss=0.$i; sleep 0.2; done", steps));
  }
  std::string ask(const std::string& spec, const std::string& node) {
    const auto answer = cli().json({"run", spec, "--node", node, "--no-wait"});
    return std::string(answer.at("result").at("run").as_string());
  }
  json::object run_of(const std::string& id) { return cli().json({"show", id}).at("result").as_object(); }
  std::string logs(const std::string& id) { return cli().run({"logs", id}).out; }
  bool says(const std::string& id, const std::string& text) {
    return eventually([&] { return logs(id).find(text) != std::string::npos; });
  }
  bool ends(const std::string& id) {
    return eventually([&] { return run_of(id).at("state").as_string() == "ended"; });
  }
  void expect_all_lines(const std::string& id, int steps) {
    const auto text = logs(id);
    for (int i = 1; i <= steps; ++i) {
      const auto line = fmt::format("step={} ", i);
      const auto first = text.find(line);
      EXPECT_NE(first, std::string::npos) << line << "is lost";
      EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line << "is there twice";
    }
  }

  SlurmCluster* slurm_ = nullptr;
  std::optional<AssayProcess> login_;
};

TEST_F(LeaderWithSlurm, AnAgentHasItsRunsDoneInTheQueue) {
  leader_.start();
  start_login_on_slurm();
  const auto run =
      ask(spec_of("echo loss=0.25 on $SLURMD_NODENAME with $CUDA_VISIBLE_DEVICES and ${LOGIN_SECRET-none}"), "login1");
  ASSERT_TRUE(ends(run));
  const auto record = run_of(run);
  EXPECT_EQ(record.at("verdict").as_string(), "valid") << json::serialize(record);
  EXPECT_EQ(record.at("metrics").at("loss").to_number<double>(), 0.25);
  EXPECT_EQ(record.at("placement").at("node").as_string(), "login1");
  EXPECT_TRUE(record.at("provenance").at("job").as_object().contains("SLURM_JOB_ID"));
  EXPECT_THAT(logs(run), AllOf(HasSubstr("on node"), HasSubstr("with 0,1 and none")))
      << "Slurm says which GPUs, and what else is in the agent's environment stays there";
}

TEST_F(LeaderWithSlurm, RunsOutliveAnAgentThatIsKilledOrStopped) {
  leader_.start();
  start_login_on_slurm();
  const auto run = ask(counting(60), "login1");
  ASSERT_TRUE(says(run, "step=3 "));
  login_->kill_now();
  start_login_on_slurm();
  ASSERT_TRUE(says(run, "step=20 "));
  login_->terminate();
  EXPECT_THAT(slurm_->run({"squeue", "--noheader"}), HasSubstr("normal")) << "it goes on";
  start_login_on_slurm();
  ASSERT_TRUE(ends(run));
  expect_all_lines(run, 60);
  EXPECT_EQ(run_of(run).at("verdict").as_string(), "valid") << json::serialize(run_of(run));
}

TEST_F(LeaderWithSlurm, ALeaderThatIsKilledMissesNothingOfIt) {
  leader_.start();
  start_login_on_slurm();
  const auto run = ask(counting(60), "login1");
  ASSERT_TRUE(says(run, "step=3 "));
  for (const char* step : {"step=20 ", "step=40 "}) {
    leader_.process().kill_now();
    leader_.start();
    ASSERT_TRUE(says(run, step));
  }
  ASSERT_TRUE(ends(run));
  expect_all_lines(run, 60);
  EXPECT_EQ(run_of(run).at("verdict").as_string(), "valid") << json::serialize(run_of(run));
  EXPECT_EQ(slurm_->run({"squeue", "--noheader"}), "") << "it was done once";
  EXPECT_TRUE(leader_.get("/api/v1/runs/" + run + "/lease").at("lease").is_null());
  EXPECT_TRUE(leader_.get("/api/v1/queue").at("runs").as_array().empty());
}

TEST_F(LeaderWithSlurm, ARunIsCancelledInTheQueueAndOnTheNode) {
  leader_.start();
  start_login_on_slurm();
  const auto run = ask(counting(10'000), "login1");
  ASSERT_TRUE(says(run, "step=3 "));
  EXPECT_EQ(cli().run({"cancel", run}).exit_code, 0);
  ASSERT_TRUE(ends(run));
  EXPECT_EQ(run_of(run).at("verdict").as_string(), "interrupted");
  EXPECT_TRUE(eventually([&] { return slurm_->run({"squeue", "--noheader"}).empty(); }));
  // Nothing is free: it waits in Slurm's queue, and is taken from there.
  slurm_->run({"sbatch", "--output=/dev/null", "--nodes=2", "--exclusive", "--wrap=sleep 1000"});
  EXPECT_TRUE(eventually([&] { return slurm_->run({"squeue", "-h", "-t", "running", "-o", "%i"}) != ""; }));
  const auto waits = ask(counting(10), "login1");
  EXPECT_TRUE(eventually([&] { return slurm_->run({"squeue", "-h", "-t", "pending", "-o", "%i"}) != ""; }));
  EXPECT_TRUE(eventually([&] { return !leader_.get("/api/v1/runs/" + waits + "/lease").at("lease").is_null(); }));
  EXPECT_EQ(run_of(waits).at("state").as_string(), "starting") << "its time limit counts once it begins";
  EXPECT_EQ(cli().run({"cancel", waits}).exit_code, 0);
  ASSERT_TRUE(ends(waits));
  EXPECT_EQ(slurm_->run({"squeue", "-h", "-t", "pending", "-o", "%i"}), "");
}

TEST_F(LeaderWithSlurm, MistakesOfAnAgentOnSlurmAreSaidAtItsStart) {
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"agent", "--leader", "http://127.0.0.1:1", "--state", "none"});
    const auto answer = cli().run(arguments, slurm_->environment());
    EXPECT_EQ(answer.exit_code, 2) << answer.error;
    return answer.error;
  };
  EXPECT_THAT(refused({"--allow", "run", "--on", "slurm:partiton=x", "--run-as", "root"}), HasSubstr("'partition'"));
  EXPECT_THAT(refused({"--allow", "run", "--on", "slurm:"}), HasSubstr("an agent of root's"));
  EXPECT_THAT(refused({"--on", "slurm:"}), HasSubstr("none are allowed"));
  EXPECT_THAT(refused({"--allow", "run", "--on", "slurm:", "--run-memory", "1GiB"}), HasSubstr("slurm:memory=64G"));
  EXPECT_THAT(refused({"--allow", "run", "--on", "node:n1", "--run-as", "root"}), HasSubstr("does its own runs"));
}

TEST_F(LeaderWithSlurm, JobsOfOthersAreShownAndKeepRunsAway) {
  leader_.start({"--slurm-from", "login1"});
  start_login({"--slurm-jobs"});
  auto node = leader_.start_agent("node1", {"--allow", "run"});
  leader_.expect_state("node1", "online");
  // As root may: a job of somebody else's, whose name must not look like another job.
  const auto job = slurm_->run({"sbatch", "--parsable", "--uid=nobody", "--chdir=/tmp", "--output=/dev/null",
                                "--nodelist=node1", "--gres=gpu:2", "--job-name=a|b\n9 c", "--wrap=sleep 1000"});
  const auto listed = [&]() -> json::array {
    return cli().json({"queue", "--slurm"}).at("result").at("jobs").as_array();
  };
  ASSERT_TRUE(eventually([&] { return !listed().empty(); })) << job;
  const auto theirs = listed().front().as_object();
  EXPECT_EQ(theirs.at("id").as_string(), job);
  EXPECT_EQ(theirs.at("user").as_string(), "nobody");
  EXPECT_EQ(theirs.at("name").as_string(), "a|b 9 c");
  EXPECT_EQ(theirs.at("state").as_string(), "RUNNING");
  EXPECT_EQ(theirs.at("gpus").as_int64(), 2);
  EXPECT_EQ(theirs.at("on").as_array(), json::array{"node1"});
  EXPECT_THAT(cli().run({"queue", "--slurm"}).out,
              AllOf(HasSubstr("nobody"), HasSubstr("running"), HasSubstr("1 job of Slurm, as 'login1' said")));

  const auto run = ask(counting(1), "node1");
  const auto why = [&] { return std::string(leader_.get("/api/v1/queue/" + run).at("why").as_string()); };
  EXPECT_THAT(why(), HasSubstr(fmt::format("is used by Slurm job {} (nobody)", job)));
  slurm_->run({"scancel", job});
  ASSERT_TRUE(ends(run));
  EXPECT_EQ(run_of(run).at("verdict").as_string(), "valid");
  EXPECT_TRUE(listed().empty());
}

TEST_F(LeaderWithSlurm, OnlyTheNodeThatWasNamedIsBelieved) {
  leader_.start();
  start_login({"--slurm-jobs"});
  EXPECT_TRUE(
      eventually([&] { return login_->said().find("does not want to know Slurm's jobs") != std::string::npos; }));
  EXPECT_THAT(login_->said(), HasSubstr("slurm_from"));
  EXPECT_THAT(cli().run({"queue", "--slurm"}).out, HasSubstr("Nobody tells this leader"));
}

TEST_F(LeaderWithSlurm, ASlurmThatIsAwayIsSaid) {
  leader_.start({"--slurm-from", "login1"});
  start_login({"--slurm-jobs"});
  slurm_->run({"sbatch", "--output=/dev/null", "--nodelist=node1", "--wrap=sleep 1000"});
  const auto view = [&] { return cli().json({"queue", "--slurm"}).at("result").as_object(); };
  ASSERT_TRUE(eventually([&] { return !view().at("jobs").as_array().empty(); }));
  slurm_->kill_controller();
  EXPECT_TRUE(eventually([&] { return view().contains("problem"); }));
  EXPECT_THAT(view().at("jobs").as_array(), Not(testing::IsEmpty())) << "what was known still is";
  slurm_->restart_controller();
  EXPECT_TRUE(eventually([&] { return !view().contains("problem"); }));
}

}  // namespace
}  // namespace assay
