#include <gmock/gmock.h>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClusterCommands : public ClusterTest {
 protected:
  std::string state_of_command(const std::string& id) {
    const auto command = leader_.get("/api/v1/commands/" + id);
    const auto* state = command.if_contains("state");
    return state == nullptr ? "" : std::string(state->as_string());
  }
};

TEST_F(ClusterCommands, AreRefusedUnlessTheAgentAllowsThem) {
  leader_.start();
  auto agent = leader_.start_agent("n1");
  leader_.expect_state("n1", "online");
  int exit_code = -1;
  const auto doctor = leader_.cli().json({"nodes", "doctor", "n1"}, &exit_code);
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(doctor.at("result").at("state").as_string(), "done");
  EXPECT_EQ(doctor.at("result").at("answer").at("command").as_string(), "doctor");

  const std::string spec = leader_.cli().write("small.yaml", "kind: null\nsteps: 10\n");
  const auto refused = leader_.cli().run({"nodes", "run", "n1", spec});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.error, HasSubstr("--allow run"));
  EXPECT_EQ(leader_.cli().run({"nodes", "run", "n1", "no-such-file"}).exit_code, 2);
  EXPECT_NE(leader_.cli().run({"nodes", "doctor", "nobody"}).exit_code, 0);
}

TEST_F(ClusterCommands, RunAndStopWhereTheAgentAllowsRuns) {
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--allow", "run"});
  leader_.expect_state("n1", "online");
  AssayCli& cli = leader_.cli();
  const std::string spec = cli.write("small.yaml", "kind: null\nsteps: 500\n");
  const auto ran = cli.run({"nodes", "run", "n1", spec, "--name", "from-afar"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.error;
  EXPECT_TRUE(eventually([&] { return cli.run({"runs"}).out.find("from-afar") != std::string::npos; }))
      << "the recording of the run does not arrive: " << cli.run({"runs"}).out;
  const auto record = cli.last_run();
  EXPECT_EQ(record.at("state").as_string(), "ended");
  EXPECT_EQ(cli.run({"logs", "@last"}).exit_code, 0);
  EXPECT_EQ(cli.run({"reindex"}).exit_code, 0) << "what arrived is damaged";

  const std::string marker = "86397.25";
  const std::string endless = cli.write("endless.yaml", "kind: command\ncommand: [sleep, '" + marker + "']\n");
  const auto sent = cli.json({"nodes", "run", "n1", endless, "--no-wait"});
  const std::string id(sent.at("result").at("id").as_string());
  EXPECT_TRUE(eventually([&] { return !processes_with(marker).empty(); })) << "the run does not start";
  EXPECT_EQ(state_of_command(id), "running");
  const auto stopped = cli.run({"nodes", "stop", "n1", id});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.error;
  EXPECT_TRUE(eventually([&] { return state_of_command(id) != "running"; }));
  EXPECT_TRUE(eventually([&] { return processes_with(marker).empty(); })) << "stopped, and it goes on";
  EXPECT_TRUE(eventually([&] { return cli.json({"runs"}).at("result").at("runs").as_array().size() == 2; }))
      << "what was recorded until then does not arrive";
  EXPECT_EQ(agent.terminate(), 0);
}

TEST_F(ClusterCommands, EndAsTheRunItselfEnds) {
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--allow", "run"});
  leader_.expect_state("n1", "online");
  AssayCli& cli = leader_.cli();
  const std::string failing = cli.write("failing.yaml", "kind: command\ncommand: exit 3\n");
  int exit_code = -1;
  const auto failed = cli.json({"nodes", "run", "n1", failing}, &exit_code);
  EXPECT_EQ(exit_code, 1);
  EXPECT_FALSE(failed.at("ok").as_bool());
  EXPECT_EQ(failed.at("result").at("answer").at("result").at("verdict").as_string(), "failed");
  const auto told = cli.run({"nodes", "run", "n1", failing});
  EXPECT_EQ(told.exit_code, 1) << told.error;
  EXPECT_THAT(told.out, AllOf(HasSubstr("failing"), HasSubstr("✘ failed"), HasSubstr("assay show")));

  const std::string wrong = cli.write("wrong.yaml", "kind: comand\n");
  const auto refused = cli.run({"nodes", "run", "n1", wrong});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("wrong.yaml:1"), HasSubstr("Did you mean 'command'")));
  EXPECT_EQ(cli.run({"nodes", "run", "nobody", failing}).exit_code, 2);
}

TEST_F(ClusterCommands, GoOnWhenNobodyWaitsAnyMore) {
  leader_.start();
  auto agent = leader_.start_agent("n1", {"--allow", "run"});
  leader_.expect_state("n1", "online");
  AssayCli& cli = leader_.cli();
  const std::string marker = "86396.75";
  const std::string endless = cli.write("endless.yaml", "kind: command\ncommand: [sleep, '" + marker + "']\n");
  auto waiting = leader_.start_command("waiting", {"nodes", "run", "n1", endless});
  ASSERT_TRUE(eventually([&] { return !processes_with(marker).empty(); })) << "the run does not start";
  EXPECT_EQ(waiting.terminate(), 1);
  EXPECT_THAT(waiting.said(), HasSubstr("assay nodes stop n1 "));
  EXPECT_FALSE(processes_with(marker).empty());
  EXPECT_THAT(cli.run({"nodes", "show", "n1"}).out, HasSubstr("Under way"));
  const auto busy = cli.run({"nodes", "run", "n1", endless});
  EXPECT_EQ(busy.exit_code, 3) << busy.error;
  EXPECT_THAT(busy.error, HasSubstr("a run is under way"));
}

}  // namespace
}  // namespace assay
