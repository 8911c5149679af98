#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

using ClusterTokens = ClusterTest;

TEST_F(ClusterTokens, ANodeWaitsUntilAnAdministratorLetsItIn) {
  leader_.start();
  leader_.new_join_token({"--approve", "--nodes", "n*"});
  const auto agent = leader_.start_agent("n1");
  const auto waiting = [&] { return leader_.cli().run({"token", "list"}).out; };
  EXPECT_TRUE(eventually([&] { return waiting().find("wait to be let in") != std::string::npos; })) << waiting();
  EXPECT_EQ(leader_.state_of("n1"), "absent");
  // Another machine has no data folder of this leader.
  const std::map<std::string, std::string> away = {{"ASSAY_DATA", (leader_.cli().folder() / "nothing").string()}};
  const auto approve = [&](const std::string& node, const std::string& role) {
    std::vector<std::string> words = {"nodes", "approve"};
    if (!node.empty()) words.push_back(node);
    for (const std::string& word :
         {std::string("--leader"), leader_.url(), std::string("--token-file"), leader_.token_file(role).string()}) {
      words.push_back(word);
    }
    return leader_.cli().run(words, away);
  };
  EXPECT_THAT(approve("", "admin").out, HasSubstr("n1")) << "who waits";
  EXPECT_EQ(approve("n1", "user").exit_code, 3);
  EXPECT_EQ(approve("n2", "admin").exit_code, 2);
  EXPECT_EQ(leader_.state_of("n1"), "absent");
  EXPECT_EQ(approve("n1", "admin").exit_code, 0);
  leader_.expect_state("n1", "online");
}

TEST_F(ClusterTokens, AJoinTokenIsGoodForADayUnlessItsMakerSaidOtherwise) {
  leader_.start();
  for (const auto& [name, expires] :
       std::vector<std::pair<std::string, std::string>>{{"usual", ""}, {"month", "30d"}, {"images", "never"}}) {
    leader_.token_file("agent", expires.empty() ? std::vector<std::string>{"--name", name}
                                                : std::vector<std::string>{"--name", name, "--expires", expires});
  }
  const auto tokens = leader_.cli().json({"token", "list"}).at("result").at("tokens").as_array();
  const auto hours_left = [&](const std::string& name) {
    for (const auto& token : tokens) {
      if (token.at("name").as_string() != name) continue;
      if (token.at("expires").is_null()) return std::numeric_limits<double>::infinity();
      return seconds_of(parse_iso8601(token.at("expires").as_string()).value() - SystemClock().wall()) / 3600;
    }
    return 0.0;
  };
  EXPECT_NEAR(hours_left("usual"), 24, 0.5);
  EXPECT_NEAR(hours_left("month"), 24 * 30, 0.5);
  EXPECT_EQ(hours_left("images"), std::numeric_limits<double>::infinity());
}

TEST_F(ClusterTokens, ANameThatAStrangerTookIsTakenBackWithOneCommand) {
  leader_.start();
  auto stranger = leader_.start_agent("n1", {}, "strangers");
  leader_.expect_state("n1", "online");
  auto turned_away = leader_.start_agent("n1", {}, "own");
  EXPECT_NE(turned_away.wait(), 0) << "the name is taken";

  leader_.new_join_token({"--nodes", "n1", "--uses", "1", "--replace"});
  const auto own = leader_.start_agent("n1", {}, "own");
  // The stranger's key is not listed any more; the one that comes is the owner's.
  EXPECT_TRUE(eventually(
      [&] { return leader_.cli().json({"token", "list"}).at("result").at("nodes").as_array().size() == 1; }));
  leader_.expect_state("n1", "online");
  EXPECT_TRUE(eventually([&] {
    return stranger.said().find("does not know") != std::string::npos ||
           stranger.said().find("revoked") != std::string::npos;
  })) << stranger.said();
}

TEST_F(ClusterTokens, ALeakedJoinTokenGoesWithAllThatItLetIn) {
  leader_.start();
  auto fleet = leader_.start_fleet(5);
  leader_.expect_state("sim003", "online");
  const auto tokens = leader_.cli().json({"token", "list"}).at("result").at("tokens").as_array();
  std::string leaked;
  for (const auto& token : tokens) {
    if (token.at("role").as_string() == "agent") leaked = token.at("id").as_string();
  }
  const auto revoked = leader_.cli().run({"token", "revoke", leaked, "--with-nodes"});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.error;
  EXPECT_TRUE(leader_.cli().json({"token", "list"}).at("result").at("nodes").as_array().empty());
  leader_.expect_state("sim003", "offline");
}

}  // namespace
}  // namespace assay
