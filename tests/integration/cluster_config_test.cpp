// The configuration of leader and agent as its users meet it: files, `assay config`, and who wins.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ConfigCommand : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(ConfigCommand, CheckListsEveryMistakeOfAFileAtOnce) {
  const std::string rules = cli_.write("rules.yaml", "overheting: {above: 85}\n");
  const std::string file =
      cli_.write("leader.yaml", "lisen: ':8470'\nworkers: 0\ncertificate: a.crt\nrules: rules.yaml\n");
  const auto checked = cli_.run({"config", "check", file});
  EXPECT_EQ(checked.exit_code, 2);
  EXPECT_THAT(checked.error,
              AllOf(HasSubstr("leader.yaml:1:1: unknown key 'lisen'. Did you mean 'listen'?"),
                    HasSubstr("leader.yaml:2:10: 'workers: 0' must be at least 1."),
                    HasSubstr("leader.yaml:3:14: 'certificate' and 'key' belong together."),
                    HasSubstr("rules.yaml:1:1: unknown rule 'overheting'."), HasSubstr("4 mistakes found")));
  int code = 0;
  const auto answer = cli_.json({"config", "check", file}, &code);
  EXPECT_EQ(code, 2);
  EXPECT_EQ(answer.at("error").at("kind"), "bad_spec");
}

TEST_F(ConfigCommand, CheckSaysWhatAFileIs) {
  const auto agent = cli_.run({"config", "check", cli_.write("a.yaml", "leader: https://head:8470\n")});
  EXPECT_EQ(agent.exit_code, 0) << agent.error;
  EXPECT_THAT(agent.out, HasSubstr("configuration of an agent, 1 setting given"));
  const auto spec = cli_.run({"config", "check", cli_.write("b.yaml", "kind: train\n")});
  EXPECT_EQ(spec.exit_code, 2);
  EXPECT_THAT(spec.error, HasSubstr("assay validate"));
  const std::string empty = cli_.write("c.yaml", "");
  EXPECT_THAT(cli_.run({"config", "check", empty}).error, HasSubstr("--as leader"));
  EXPECT_EQ(cli_.run({"config", "check", empty, "--as", "leader"}).exit_code, 0);
  EXPECT_EQ(cli_.run({"config", "check", "no-such-file.yaml"}).exit_code, 2);
  for (const char* whose : {"leader", "agent"}) {
    const auto example = cli_.run({"config", "example", whose});
    EXPECT_EQ(example.exit_code, 0);
    EXPECT_EQ(cli_.run({"config", "check", cli_.write(fmt::format("{}.yaml", whose), example.out)}).exit_code, 0);
    EXPECT_THAT(cli_.run({"config", "schema", whose}).out, HasSubstr("\"additionalProperties\""));
  }
}

TEST_F(ConfigCommand, ShowTellsWhereEachValueComesFrom) {
  const std::string file = cli_.write("leader.yaml",
                                      "workers: 5\nevents_per_node: 1000\nkeep: {raw: 30d}\n"
                                      "webhooks: https://chat.example.org/hooks/5ecret\n");
  const std::map<std::string, std::string> environment = {{"ASSAY_SERVE_EVENTS_PER_NODE", "2000"}};
  const auto text = cli_.run({"config", "show", "leader", "--config", file, "--workers", "7"}, environment);
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_THAT(text.out, Not(HasSubstr("5ecret")));
  int code = 0;
  const auto answer = cli_.json({"config", "show", "leader", "--config", file, "--workers", "7"}, &code, environment);
  EXPECT_EQ(code, 0);
  std::map<std::string, std::string> shown;
  for (const auto& setting : answer.at("result").at("settings").as_array()) {
    const auto& origin = setting.at("origin").as_object();
    shown[std::string(setting.at("key").as_string())] =
        fmt::format("{} {}", std::string_view(setting.at("written").as_string()),
                    std::string_view(origin.at("source").as_string()));
  }
  EXPECT_EQ(shown["workers"], "7 flag");
  EXPECT_EQ(shown["events_per_node"], "2000 variable");
  EXPECT_EQ(shown["keep.raw"], "30d file");
  EXPECT_EQ(shown["keep.hours"], "730d default");
  EXPECT_EQ(shown["webhooks"], "https://chat.example.org/[redacted] file");
  EXPECT_THAT(cli_.run({"config", "show", "--config", file}).out, HasSubstr("leader.yaml:3"));
  EXPECT_EQ(cli_.run({"config", "show"}).exit_code, 2);
}

TEST_F(ConfigCommand, CommonFlagsAndVariablesAreSettingsToo) {
  const auto origin = [&](const std::vector<std::string>& arguments, const std::string& key,
                          const std::map<std::string, std::string>& environment) {
    const auto answer = cli_.json(arguments, nullptr, environment);
    for (const auto& setting : answer.at("result").at("settings").as_array()) {
      if (setting.at("key") == json::value(key)) {
        return fmt::format("{} {}", std::string_view(setting.at("written").as_string()),
                           std::string_view(setting.at("origin").at("source").as_string()));
      }
    }
    return std::string("absent");
  };
  const std::map<std::string, std::string> environment = {{"ASSAY_LEADER", "https://a:1"}};
  EXPECT_EQ(origin({"config", "show", "agent"}, "leader", environment), "https://a:1 variable");
  EXPECT_EQ(origin({"config", "show", "agent", "--leader", "https://b:1"}, "leader", environment), "https://b:1 flag");
  EXPECT_EQ(origin({"--data", "/x", "config", "show", "leader"}, "data", {}), "/x flag");
}

class ConfiguredCluster : public ClusterTest {};

TEST_F(ConfiguredCluster, LeaderAndAgentStartFromFiles) {
  AssayCli& cli = leader_.cli();
  const std::string file = cli.write("leader.yaml", "tls: true\nnames: [head.example.org]\nkeep: {raw: 2d}\n");
  leader_.start({"--config", file});
  EXPECT_THAT(leader_.url(), testing::StartsWith("https://"));
  const fs::path token = leader_.token_file("agent");
  const std::string agent_file = cli.write(
      "agent.yaml", fmt::format("leader: {}\ntoken_file: {}\nname: from-file\nstate: agent-state\nno_gpu: true\n"
                                "period: 200ms\n",
                                leader_.url(), token.filename().string()));
  const AssayProcess agent = leader_.start_command("agent", {"agent", "--config", agent_file});
  leader_.expect_state("from-file", "online");
  EXPECT_TRUE(fs::exists(cli.folder() / "agent-state" / "key")) << "relative to the file";
  EXPECT_THAT(agent.said(), HasSubstr("every 200ms"));
}

TEST_F(ConfiguredCluster, AWrongFileIsRefusedBeforeAnythingIsDone) {
  AssayCli& cli = leader_.cli();
  const std::string file = cli.write("leader.yaml", "workers: many\n");
  const auto wrong = cli.run({"serve", "--config", file});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.error, HasSubstr("leader.yaml:1:10: 'workers: many' must be a whole number"));
  EXPECT_FALSE(fs::exists(cli.data() / "leader"));
  const auto missing = cli.run({"agent", "--config", "none.yaml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.error, HasSubstr("assay config example agent"));
}

}  // namespace
}  // namespace assay
