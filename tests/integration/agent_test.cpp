#include <gmock/gmock.h>
#include <unistd.h>

#include "base/guard.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::HasSubstr;

class AgentCommand : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(AgentCommand, WrongUseIsExitCode2WithAHint) {
  const auto nothing = cli_.run({"agent"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.error, HasSubstr("--token-file"));
  const std::string record = (cli_.folder() / "node.rec").string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"agent", "--leader", "nonsense"},
           {"agent", "--leader", "http://leader.example.org:8080"},
           {"agent", "--leader", "https://leader:8443", "--name", "no name"},
           {"agent", "--leader", "https://leader:8443", "--allow", "everything"},
           {"agent", "--leader", "https://leader:8443", "--allow", "stop"},
           {"agent", "--leader", "https://leader:8443", "--fingerprint", "sha256:12"},
           {"agent", "--leader", "https://leader:8443", "--spool-limit", "5"},
           {"agent", "--leader", "https://leader:8443", "--token-file", "no-such-file"},
           {"agent", "--leader", "https://leader:8443"},
           {"agent", "--record", record, "--period", "1"},
           {"agent", "--record", record, "--period", "1h"},
           {"agent", "--record", record, "--replay", "no-such-file"}}) {
    const auto answer = cli_.run(arguments);
    EXPECT_EQ(answer.exit_code, 2) << arguments.back() << ": " << answer.error;
    EXPECT_FALSE(answer.error.empty());
  }
}

TEST_F(AgentCommand, ATokenThatOthersCanReadIsRefusedWithoutShowingIt) {
  const std::string secret(64, 'a');
  const std::string file = cli_.write("join.token", "assay-join:" + secret);
  fs::permissions(file, fs::perms::owner_all | fs::perms::others_read);
  const auto answer = cli_.run({"agent", "--leader", "https://leader:8443", "--token-file", file});
  EXPECT_EQ(answer.exit_code, 3);
  EXPECT_THAT(answer.error, testing::Not(HasSubstr(secret)));
}

TEST_F(AgentCommand, RecordsUntilItIsToldToStop) {
  const fs::path record = cli_.folder() / "node.rec";
  auto agent = GuardedProcess::start(
      {.arguments = {AssayCli::program().string(), "agent", "--record", record.string(), "--no-gpu", "--period", "20ms",
                     "--state", (cli_.folder() / "agent").string()}});
  ASSERT_TRUE(agent.ok());
  EXPECT_TRUE(eventually([&] {
    std::error_code code;
    const auto size = fs::file_size(record, code);
    return !code && size > 5000;
  }));
  agent->stop();
  std::optional<GuardReport> report;
  EXPECT_TRUE(eventually([&] {
    auto polled = agent->poll_report();
    if (polled && *polled) report = **polled;
    return report.has_value();
  }));
  EXPECT_EQ(report->exit_code, 0);
  std::string said(1000, '\0');
  const ssize_t size = ::read(agent->error_fd(), said.data(), said.size());
  EXPECT_THAT(said.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0))), HasSubstr("watching 2 sources on"));
  // What was recorded can be played.
  const auto again = cli_.folder() / "again.rec";
  auto player = GuardedProcess::start(
      {.arguments = {AssayCli::program().string(), "agent", "--replay", record.string(), "--record", again.string(),
                     "--period", "20ms", "--seed", "3", "--state", (cli_.folder() / "player").string()}});
  ASSERT_TRUE(player.ok());
  EXPECT_TRUE(eventually([&] {
    std::error_code code;
    const auto bytes = fs::file_size(again, code);
    return !code && bytes > 1000;
  }));
}

}  // namespace
}  // namespace assay
