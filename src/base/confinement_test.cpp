#include "base/confinement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/guard.h"
#include "base/spawn.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A folder of ours with a secret in it, and one beside it for workloads.
class ConfinementTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto possible = check_confinement({}); !possible) GTEST_SKIP() << possible.error().text();
    fs::create_directories(state_);
    fs::create_directories(room_);
    ASSERT_TRUE(write_file_atomically(secret_, "the node's key").ok());
    ASSERT_TRUE(write_file_atomically(room_ / "data", "samples").ok());
  }

  Confinement confinement() const {
    return {.hidden = {state_}, .user = "", .environment = {{"PATH", ::getenv("PATH")}}};
  }

  /// What a script prints, errors included.
  static std::string output_of(const std::string& script, const Confinement& confinement) {
    auto process = GuardedProcess::start({.arguments = {"sh", "-c", "exec 2>&1; " + script},
                                          .grace = std::chrono::seconds(5),
                                          .confinement = confinement});
    if (!process) return process.error().text();
    std::string text;
    std::array<char, 4096> buffer;
    while (wait_readable(process->out_fd(), SystemClock().now() + std::chrono::seconds(90))) {
      const ssize_t got = ::read(process->out_fd(), buffer.data(), buffer.size());
      if (got <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  const TemporaryFolder folder_;
  const fs::path state_ = folder_.path() / "state";
  const fs::path room_ = folder_.path() / "room";
  const fs::path secret_ = state_ / "agent.key";
};

TEST_F(ConfinementTest, HiddenFoldersCanNeitherBeReadNorChanged) {
  const std::string state = state_.string();
  const std::string seen =
      output_of("cat " + state + "/agent.key; ls " + state + "; echo x > " + state + "/agent.key; rm " + state +
                    "/agent.key; mv " + state + " " + state + "2; echo end",
                confinement());
  EXPECT_THAT(seen, Not(HasSubstr("the node's key")));
  EXPECT_THAT(seen, HasSubstr("Permission denied"));
  EXPECT_THAT(seen, HasSubstr("end"));
  EXPECT_EQ(read_file(secret_).value(), "the node's key");
}

TEST_F(ConfinementTest, NorOnTheWayThroughOneOfItsOwnDescriptorsOrLinks) {
  const std::string seen = output_of("cat /proc/self/root" + secret_.string() + "; ln -s " + secret_.string() + " " +
                                         (room_ / "link").string() + "; cat " + (room_ / "link").string() + "; cd " +
                                         room_.string() + " && cat ../state/agent.key",
                                     confinement());
  EXPECT_THAT(seen, Not(HasSubstr("the node's key")));
}

TEST_F(ConfinementTest, WhatIsBesideThemCanBeUsedAsBefore) {
  const std::string seen =
      output_of("cd " + room_.string() +
                    " && cat data && echo made > new && mkdir -p sub && mv new sub/ && cat sub/new && "
                    "ls /usr > /dev/null && echo fine",
                confinement());
  EXPECT_EQ(seen, "samplesmade\nfine\n");
}

TEST_F(ConfinementTest, TheEnvironmentIsTheOneThatWasGiven) {
  ::setenv("CREDENTIALS_DIRECTORY", "/run/credentials/of-ours", 1);
  auto given = confinement();
  given.environment["CUDA_VISIBLE_DEVICES"] = "GPU-1";
  // Also that of the guard, its parent.
  const std::string seen = output_of("env; tr '\\0' '\\n' < /proc/$PPID/environ", given);
  ::unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_THAT(seen, HasSubstr("CUDA_VISIBLE_DEVICES=GPU-1"));
  EXPECT_THAT(seen, HasSubstr("ASSAY_EVENTS="));
  EXPECT_THAT(seen, Not(HasSubstr("of-ours")));
}

TEST_F(ConfinementTest, TheMemoryAndEnvironmentOfWhoeverAskedAreOutOfReach) {
  const std::string us = std::to_string(::getpid());
  const std::string seen = output_of("cat /proc/" + us +
                                         "/environ && echo read the environment; "
                                         "ls -l /proc/" +
                                         us +
                                         "/fd && echo saw descriptors; "
                                         "head -c 1 /proc/" +
                                         us + "/mem && echo read memory; echo end",
                                     confinement());
  // Root may look at any process's, unless it is confined as another user.
  if (::geteuid() != 0) {
    EXPECT_THAT(seen, Not(HasSubstr("read the environment")));
  }
  EXPECT_THAT(seen, Not(HasSubstr("saw descriptors")));
  EXPECT_THAT(seen, Not(HasSubstr("read memory")));
  EXPECT_THAT(seen, HasSubstr("end"));
}

TEST_F(ConfinementTest, WhoeverAskedCannotBeEnded) {
  if (!confinement_bars_signals()) GTEST_SKIP() << "this kernel cannot keep signals in: Landlock before version 6";
  const std::string us = std::to_string(::getpid());
  const std::string script = "kill -0 " + us + " 2>/dev/null && echo could have ended us; " +
                             "sleep 100 & kill -TERM $!; wait $! 2>/dev/null; echo ended its own: $?";
  for (const auto& hidden : {std::vector<fs::path>{state_}, std::vector<fs::path>{}}) {
    auto given = confinement();
    given.hidden = hidden;
    const std::string seen = output_of(script, given);
    EXPECT_THAT(seen, Not(HasSubstr("could have ended us")));
    EXPECT_THAT(seen, HasSubstr("ended its own: 143"));
  }
}

TEST_F(ConfinementTest, AsAnotherUserIfWeAreRoot) {
  auto as_nobody = confinement();
  as_nobody.user = "nobody";
  if (::geteuid() != 0) {
    const auto refused = check_confinement({.hidden = {}, .user = "root", .environment = {}});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::denied);
    EXPECT_THAT(refused.error().text(), HasSubstr("only root"));
    return;
  }
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_TRUE(hand_over(room_, "nobody").ok());
  const std::string seen = output_of(
      "id -un; id -G; cat " + secret_.string() + "; cd " + room_.string() + " && echo mine > data && cat data",
      as_nobody);
  EXPECT_THAT(seen, HasSubstr("nobody\n65534\n"));
  EXPECT_THAT(seen, HasSubstr("mine\n"));
  EXPECT_THAT(seen, Not(HasSubstr("the node's key")));
  EXPECT_EQ(environment_of_user("nobody").value().at("USER"), "nobody");
}

TEST(ConfinementOfNobody, AnUnknownUserIsNamed) {
  const auto refused = check_confinement({.hidden = {}, .user = "no-such-user", .environment = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().text(), HasSubstr("no-such-user"));
  EXPECT_FALSE(hand_over("/nonexistent", "no-such-user").ok());
}

}  // namespace
}  // namespace assay
