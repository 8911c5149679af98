#include "agent/run_confinement.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

OwnThings some_things() {
  return {.state = "/var/lib/assay-agent",
          .token_file = "/etc/assay/join.token",
          .environment = {{"PATH", "/usr/bin"},
                          {"HOME", "/nowhere"},
                          {"CREDENTIALS_DIRECTORY", "/run/credentials/assay-agent.service"},
                          {"ASSAY_LEADER", "https://leader:8470"}},
          .run_as = ::geteuid() == 0 ? "nobody" : ""};
}

TEST(RunConfinement, HidesWhatIsTheAgents) {
  const auto confinement = confinement_of_runs(some_things());
  if (!confinement && confinement.error().kind == ErrorKind::unsupported) GTEST_SKIP() << confinement.error().text();
  ASSERT_TRUE(confinement.ok()) << confinement.error().text();
  EXPECT_THAT(confinement->hidden, Contains("/var/lib/assay-agent"));
  EXPECT_THAT(confinement->hidden, Contains("/etc/assay/join.token"));
  EXPECT_THAT(confinement->hidden, Contains("/run/credentials/assay-agent.service"));
  EXPECT_THAT(confinement->environment, Contains(Pair("PATH", "/usr/bin")));
  EXPECT_THAT(confinement->environment, Not(Contains(Key("CREDENTIALS_DIRECTORY"))));
  if (::geteuid() == 0) {
    EXPECT_THAT(confinement->environment, Contains(Pair("USER", "nobody")));
  }
}

TEST(RunConfinement, RootHasToSayAsWhom) {
  if (::geteuid() != 0) GTEST_SKIP() << "this is not root";
  auto things = some_things();
  things.run_as.clear();
  const auto refused = confinement_of_runs(things);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().hint, HasSubstr("--run-as"));
  things.run_as = "root";
  EXPECT_TRUE(confinement_of_runs(things).ok());
}

TEST(RunConfinement, RunsElsewhereAreTheAgentsOwn) {
  const auto other = check_runs_elsewhere(::geteuid() == 0 ? "nobody" : "root");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::usage);
  EXPECT_THAT(other.error().message, HasSubstr("as the agent's own user"));
  EXPECT_THAT(check_runs_elsewhere("no-such-user").error().text(), HasSubstr("no-such-user"));
  const auto silent = check_runs_elsewhere("");
  EXPECT_EQ(silent.ok(), ::geteuid() != 0) << "root has to say so";
  if (::geteuid() != 0) return;
  EXPECT_THAT(silent.error().hint, HasSubstr("--run-as root"));
  EXPECT_TRUE(check_runs_elsewhere("root").ok());
}

TEST(RunConfinement, AnUnknownUserIsNamed) {
  auto things = some_things();
  things.run_as = "no-such-user";
  EXPECT_THAT(confinement_of_runs(things).error().text(), HasSubstr("no-such-user"));
}

}  // namespace
}  // namespace assay
