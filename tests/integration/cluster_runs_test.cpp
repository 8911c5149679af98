#include <gmock/gmock.h>

#include "base/ids.h"
#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClusterRuns : public ClusterTest {
 protected:
  void start(const std::vector<std::string>& agent = {"--allow", "run"}) {
    leader_.start();
    agent_.emplace(leader_.start_agent("n1", agent));
    leader_.expect_state("n1", "online");
  }
  AssayCli& cli() { return leader_.cli(); }
  /// A specification that counts to `steps`, ten a second, and leaves a mark among the processes.
  std::string counting(int steps) {
    return cli().write("counting.yaml", "kind: command\ncommand: \"for i in $(seq " + std::to_string(steps) +
                                            "); do echo step=$i loss=0.$i; sleep 0.1; done # " + mark_ + "\"\n");
  }
  std::string ask(const std::string& spec) {
    const auto answer = cli().json({"run", spec, "--node", "n1", "--no-wait"});
    return std::string(answer.at("result").at("run").as_string());
  }
  json::object run_of(const std::string& id) { return cli().json({"show", id}).at("result").as_object(); }
  std::string state_of_run(const std::string& id) { return std::string(run_of(id).at("state").as_string()); }
  std::string verdict_of(const std::string& id) { return std::string(run_of(id).at("verdict").as_string()); }
  /// What the run printed, as the leader has it.
  std::string logs(const std::string& id) { return cli().run({"logs", id}).out; }
  bool ends(const std::string& id) {
    return eventually([&] { return state_of_run(id) == "ended"; });
  }
  void expect_all_lines(const std::string& id, int steps) {
    const auto text = logs(id);
    for (int i = 1; i <= steps; ++i) {
      const auto line = "step=" + std::to_string(i) + " ";
      const auto first = text.find(line);
      EXPECT_NE(first, std::string::npos) << line << "is lost";
      EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line << "is there twice";
    }
  }

  const std::string mark_ = "mark-" + new_id();  ///< other tests go on beside this one
  std::optional<AssayProcess> agent_;
};

TEST_F(ClusterRuns, AreRefusedUnlessTheAgentAllowsThem) {
  start({});
  int exit_code = -1;
  const auto doctor = cli().json({"nodes", "doctor", "n1"}, &exit_code);
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(doctor.at("result").at("state").as_string(), "done");
  EXPECT_EQ(doctor.at("result").at("answer").at("command").as_string(), "doctor");
  EXPECT_NE(cli().run({"nodes", "doctor", "nobody"}).exit_code, 0);

  const auto refused = cli().run({"run", counting(1), "--node", "n1"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.error, HasSubstr("--allow run"));
  EXPECT_EQ(cli().run({"run", counting(1), "--node", "nobody"}).exit_code, 2);
  EXPECT_EQ(cli().run({"run", "no-such-file", "--node", "n1"}).exit_code, 2);
  const auto wrong = cli().run({"run", cli().write("wrong.yaml", "kind: comand\n"), "--node", "n1"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.error, AllOf(HasSubstr("wrong.yaml:1"), HasSubstr("Did you mean 'command'")));
}

TEST_F(ClusterRuns, AreDoneByTheNodeAndJudgedAsEverywhere) {
  start();
  const auto ran = cli().run({"run", counting(5), "--node", "n1", "--name", "from-afar", "-v"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out + ran.error, AllOf(HasSubstr("step=5"), HasSubstr("from-afar"), HasSubstr("✔ valid")));
  const auto record = cli().last_run();
  EXPECT_EQ(record.at("state").as_string(), "ended");
  EXPECT_EQ(record.at("placement").at("node").as_string(), "n1");
  EXPECT_EQ(record.at("metrics").at("loss").to_number<double>(), 0.5);
  expect_all_lines("@last", 5);
  EXPECT_EQ(cli().run({"reindex"}).exit_code, 0) << "what arrived is damaged";

  const auto failed =
      cli().run({"run", cli().write("failing.yaml", "kind: command\ncommand: exit 3\n"), "--node", "n1"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.out, HasSubstr("✘ failed"));
}

TEST_F(ClusterRuns, KeepTheirArtifacts) {
  start();
  const auto spec =
      cli().write("artifact.yaml", "kind: command\ncommand: head -c 3000000 /dev/zero > $ASSAY_ARTIFACTS/zeros.bin\n");
  const auto ran = cli().run({"run", spec, "--node", "n1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.error;
  const std::string id(cli().last_run().at("id").as_string());
  const auto listed = leader_.get("/api/v1/runs/" + id + "/artifacts");
  ASSERT_EQ(listed.at("artifacts").as_array().size(), 1U);
  EXPECT_EQ(listed.at("artifacts").as_array()[0].at("bytes").to_number<int>(), 3'000'000);
}

TEST_F(ClusterRuns, CanBeLookedAtWithNothingButTheLeader) {
  start();
  const auto id = ask(counting(30));
  const auto token = leader_.token_file("viewer").string();
  const std::vector<std::string> leader = {"--leader", leader_.url(), "--token-file", token, "--data", "/nonexistent"};
  const auto with_leader = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), leader.begin(), leader.end());
    return cli().run(arguments);
  };
  EXPECT_TRUE(eventually([&] { return with_leader({"logs", id}).out.find("step=3") != std::string::npos; }))
      << "nothing is to be seen while it goes on";
  EXPECT_EQ(state_of_run(id), "running");
  const auto followed = with_leader({"logs", "-f", id});
  EXPECT_THAT(followed.out, HasSubstr("step=30"));
  EXPECT_THAT(with_leader({"runs"}).out, HasSubstr(id));
  EXPECT_THAT(with_leader({"show", id}).out, HasSubstr("loss"));
  EXPECT_THAT(with_leader({"report", id}).out, HasSubstr("counting"));
  EXPECT_EQ(with_leader({"export", id}).exit_code, 0);
  const auto refused = with_leader({"tag", id, "best"});
  EXPECT_NE(refused.exit_code, 0) << "a viewer changes nothing";
  const auto tag_as = [&](const std::string& role) {
    return cli()
        .run({"tag", id, "best", "--leader", leader_.url(), "--token-file", leader_.token_file(role).string()})
        .exit_code;
  };
  EXPECT_EQ(tag_as("user"), 3) << "it is somebody else's";
  EXPECT_EQ(tag_as("admin"), 0);
  EXPECT_THAT(with_leader({"runs", "tag=best"}).out, HasSubstr(id));
}

TEST_F(ClusterRuns, AreEndedByWhoeverMay) {
  start();
  const auto id = ask(counting(100000));
  const auto waiting = ask(counting(100000));
  ASSERT_TRUE(eventually([&] { return !processes_with(mark_).empty(); })) << "the run does not start";
  EXPECT_EQ(state_of_run(waiting), "queued") << "the node's CPUs are in use";
  EXPECT_EQ(cli().run({"cancel", waiting}).exit_code, 0);
  EXPECT_EQ(verdict_of(waiting), "interrupted");
  EXPECT_EQ(cli().run({"cancel", id}).exit_code, 0);
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(verdict_of(id), "interrupted");
  EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "stopped, and it goes on";
  EXPECT_NE(cli().run({"cancel", id}).exit_code, 0);
}

TEST_F(ClusterRuns, GoOnWhenNobodyWaitsAnyMore) {
  start();
  auto waiting = leader_.start_command("waiting", {"run", counting(100000), "--node", "n1"});
  ASSERT_TRUE(eventually([&] { return !processes_with(mark_).empty(); })) << "the run does not start";
  EXPECT_EQ(waiting.terminate(), 1);
  EXPECT_THAT(waiting.said(), HasSubstr("assay cancel "));
  EXPECT_FALSE(processes_with(mark_).empty());
}

TEST_F(ClusterRuns, OfAStudyAreOneStudy) {
  start();
  const auto spec = cli().write("study.yaml", "kind: null\nsteps: 20\nrepeat: 3\n");
  const auto ran = cli().run({"run", spec, "--node", "n1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("3 of 3 runs valid"));
}

/// What becomes of a study whose asker is gone, and how somebody goes on with it.
class ClusterStudies : public ClusterRuns {
 protected:
  /// Three runs of a second each, asked for by somebody who is killed while the first goes on.
  void ask_and_die() {
    start();
    const auto spec =
        cli().write("study.yaml", "kind: command\ncommand: \"echo begun; for i in $(seq 10); do sleep 0.1; done # " +
                                      mark_ + "\"\nrepeat: 3\n");
    auto asking = leader_.start_command("asking", {"run", spec, "--node", "n1"});
    ASSERT_TRUE(eventually([&] { return !processes_with(mark_).empty(); })) << "the study does not start";
    asking.kill_now();
    study_ = std::string(leader_.get("/api/v1/studies").at("studies").as_array().at(0).at("id").as_string());
  }
  std::vector<std::string> runs_of_plan() {
    std::vector<std::string> runs;
    const auto study = leader_.get("/api/v1/studies/" + study_);
    for (const auto& planned : study.at("plan").as_array()) {
      const auto* run = planned.as_object().if_contains("run");
      if (run && !run->as_string().empty()) runs.emplace_back(run->as_string());
    }
    return runs;
  }
  bool goes_on() { return !leader_.get("/api/v1/studies/" + study_ + "/jobs").at("runs").as_array().empty(); }

  std::string study_;
};

TEST_F(ClusterStudies, GoOnWithoutWhoeverAskedAndAreFollowedByWhoeverResumesThem) {
  ask_and_die();
  const auto followed = cli().run(
      {"run", "--resume", "@last", "--leader", leader_.url(), "--token-file", leader_.token_file("admin").string()});
  EXPECT_EQ(followed.exit_code, 0) << followed.out << followed.error;
  EXPECT_THAT(followed.out, HasSubstr("3 of 3 runs valid"));
  EXPECT_EQ(leader_.get("/api/v1/runs").at("total").to_number<int>(), 3) << "something was done twice";
}

TEST_F(ClusterStudies, AreResumedWhereTheyWereStopped) {
  ask_and_die();
  ASSERT_TRUE(eventually([&] { return runs_of_plan().size() == 2; })) << "it does not go on by itself";
  EXPECT_EQ(cli().run({"cancel", "study:" + study_}).exit_code, 0);
  ASSERT_TRUE(eventually([&] { return !goes_on(); }));
  const auto before = runs_of_plan();
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(verdict_of(before[0]), "valid");
  EXPECT_EQ(verdict_of(before[1]), "interrupted");

  // On the leader's own machine the plan says that it is its nodes' to do.
  const auto resumed = cli().run({"run", "--resume", study_});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.error;
  EXPECT_THAT(resumed.out, HasSubstr("3 of 3 runs valid"));
  const auto after = runs_of_plan();
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after[0], before[0]) << "what was done is done again";
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(cli().run({"run", "--resume", study_}).exit_code, 0) << "nothing is left to do, and that is said";
  EXPECT_EQ(leader_.get("/api/v1/runs").at("total").to_number<int>(), 4);
  EXPECT_EQ(cli().run({"run", "--resume", study_, "--node", "n2"}).exit_code, 2);
}

TEST_F(ClusterStudies, GoOnAfterARunWhoseAgentWasKilled) {
  ask_and_die();
  auto following = leader_.start_command("following", {"run", "--resume", study_});
  agent_->kill_now();
  agent_.emplace(leader_.start_agent("n1", {"--allow", "run"}));
  EXPECT_EQ(following.wait(), 1) << "one was interrupted";
  EXPECT_EQ(runs_of_plan().size(), 3U) << "nobody waited for the rest";
  EXPECT_EQ(cli().run({"run", "--resume", study_}).exit_code, 0);
  EXPECT_EQ(leader_.get("/api/v1/runs").at("total").to_number<int>(), 4);
}

// The promise of all this: whoever dies at whatever moment, nothing that was told is lost, nothing is done twice, no
// process is left.

TEST_F(ClusterRuns, SurviveTheirLeader) {
  start();
  const auto id = ask(counting(60));
  for (int i = 0; i < 3; ++i) {
    const auto seen = "step=" + std::to_string(5 + 10 * i) + " ";
    ASSERT_TRUE(eventually([&] { return logs(id).find(seen) != std::string::npos; }));
    leader_.process().kill_now();
    leader_.start();
  }
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(verdict_of(id), "valid");
  expect_all_lines(id, 60);
  EXPECT_EQ(cli().json({"runs"}).at("result").at("runs").as_array().size(), 1U);
}

TEST_F(ClusterRuns, AreWaitedForWhileTheirLeaderIsStartedAnew) {
  start();
  auto waiting = leader_.start_command("waiting", {"run", counting(30), "--leader", leader_.url(), "--token-file",
                                                   leader_.token_file("admin").string(), "--node", "n1"});
  ASSERT_TRUE(eventually([&] { return !processes_with(mark_).empty(); })) << "the run does not start";
  leader_.process().kill_now();
  EXPECT_TRUE(eventually([&] { return waiting.said().find("does not answer") != std::string::npos; }));
  leader_.start();
  EXPECT_EQ(waiting.wait(), 0) << waiting.said();
}

TEST_F(ClusterRuns, SurviveALeaderThatIsAwayAtTheirEnd) {
  start();
  const auto id = ask(counting(20));
  ASSERT_TRUE(eventually([&] { return logs(id).find("step=3 ") != std::string::npos; }));
  leader_.process().kill_now();
  ASSERT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "it waits for its leader";
  leader_.start();
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(verdict_of(id), "valid");
  expect_all_lines(id, 20);
}

TEST_F(ClusterRuns, AreInterruptedWithTheirDataWhenTheirAgentDies) {
  start();
  const auto id = ask(counting(100000));
  ASSERT_TRUE(eventually([&] { return logs(id).find("step=10 ") != std::string::npos; }));
  agent_->kill_now();
  EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "its workload goes on without it";
  agent_.emplace(leader_.start_agent("n1", {"--allow", "run"}));
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(verdict_of(id), "interrupted");
  expect_all_lines(id, 10);
  EXPECT_TRUE(processes_with(mark_).empty()) << "it was begun a second time";
  EXPECT_EQ(cli().run({"run", counting(2), "--node", "n1"}).exit_code, 0) << "the node gets no further work";
}

TEST_F(ClusterRuns, WaitWhileTheirNodeIsDraining) {
  start();
  ASSERT_EQ(cli().run({"nodes", "drain", "n1", "--reason", "fan 2 is loud"}).exit_code, 0);
  auto waiting = leader_.start_command("waiting", {"run", counting(2), "--node", "n1"});
  EXPECT_TRUE(eventually([&] { return waiting.said().find("fan 2 is loud") != std::string::npos; }))
      << "nobody says for what it waits";
  EXPECT_EQ(state_of_run("@last"), "queued");
  ASSERT_EQ(cli().run({"nodes", "resume", "n1"}).exit_code, 0);
  EXPECT_EQ(waiting.wait(), 0);
}

TEST_F(ClusterRuns, WaitForTheirAgent) {
  start();
  agent_->kill_now();
  const auto id = ask(counting(3));
  leader_.process().kill_now();
  leader_.start();
  EXPECT_EQ(state_of_run(id), "queued");
  agent_.emplace(leader_.start_agent("n1", {"--allow", "run"}));
  EXPECT_TRUE(ends(id));
  EXPECT_EQ(verdict_of(id), "valid");
  expect_all_lines(id, 3);
}

}  // namespace
}  // namespace assay
