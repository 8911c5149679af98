#include <gmock/gmock.h>
#include <sys/stat.h>

#include "access/secrets.h"
#include "base/text.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kWrongSecret(64, 'b');

unsigned mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

class ClusterAccess : public ClusterTest {
 protected:
  int status(const std::string& method, const std::string& target, const std::string& secret,
             const std::string& body = "") {
    return leader_.request(method, target, secret, {{"Content-Type", "application/json"}}, body).status;
  }
};

TEST_F(ClusterAccess, NeedsATokenThatIsGoodForIt) {
  leader_.start();
  auto fleet = leader_.start_fleet(1, {"--gpus", "1", "--metrics", "4"});
  leader_.expect_state("sim001", "online");
  const std::string viewer = leader_.secret_of(leader_.token_file("viewer", {"--name", "grafana"}));
  const std::string user = leader_.secret_of(leader_.token_file("user"));
  const std::string admin = leader_.secret_of(leader_.token_file("admin"));
  const std::string join = leader_.secret_of(leader_.token_file("agent"));

  EXPECT_EQ(status("GET", "/api/v1/nodes", ""), 401);
  EXPECT_EQ(status("GET", "/api/v1/nodes", kWrongSecret), 401);
  EXPECT_EQ(status("GET", "/metrics", ""), 401);
  EXPECT_EQ(status("GET", "/api/v1/nodes", viewer), 200);
  // What joins nodes looks at nothing.
  EXPECT_EQ(status("GET", "/api/v1/nodes", join), 403);
  for (const auto& secret : {viewer, user}) {
    EXPECT_EQ(status("POST", "/api/v1/nodes/sim001/drain", secret, "{}"), 403);
    EXPECT_EQ(status("DELETE", "/api/v1/nodes/sim001", secret), 403);
    EXPECT_EQ(status("POST", "/api/v1/nodes/sim001/commands", secret, R"({"kind": "doctor"})"), 403);
    EXPECT_EQ(status("POST", "/api/v1/backup", secret), 403);
  }
  EXPECT_EQ(status("POST", "/api/v1/silences", viewer, R"({"for": "1h", "node": "sim001"})"), 403);
  EXPECT_EQ(status("POST", "/api/v1/silences", user, R"({"for": "1h", "node": "sim001"})"), 200);
  EXPECT_EQ(status("POST", "/api/v1/nodes/sim001/drain", admin, "{}"), 200);

  EXPECT_EQ(leader_.cli().run({"token", "revoke", "grafana"}).exit_code, 0);
  EXPECT_EQ(status("GET", "/api/v1/nodes", viewer), 401);

  const std::string said = leader_.process().said();
  EXPECT_THAT(said, HasSubstr("Refused GET /api/v1/nodes"));
  EXPECT_THAT(said, HasSubstr("token 'grafana' of role viewer may not: this needs the scope 'manage'"));
  for (const auto& secret : {viewer, user, admin, join, kWrongSecret, leader_.owner_secret()}) {
    EXPECT_THAT(said, Not(HasSubstr(secret)));
    const auto book = read_file(leader_.cli().data() / "leader" / "tokens.jsonl");
    ASSERT_TRUE(book.ok());
    EXPECT_THAT(*book, Not(HasSubstr(secret)));
  }
}

TEST_F(ClusterAccess, EndsWhenATokenExpires) {
  leader_.start();
  const fs::path viewer = leader_.token_file("viewer", {"--expires", "1s"});
  const fs::path join = leader_.token_file("agent", {"--expires", "1s"});
  EXPECT_TRUE(eventually([&] { return status("GET", "/api/v1/nodes", leader_.secret_of(viewer)) == 401; }));
  const std::string body = R"({"node": "n1", "key": ")" + new_secret() + R"("})";
  EXPECT_TRUE(eventually([&] { return status("POST", "/agent/v1/join", leader_.secret_of(join), body) == 401; }));
  EXPECT_THAT(leader_.cli().run({"token", "list"}).out, Not(HasSubstr("expired")));
  EXPECT_THAT(leader_.cli().run({"token", "list", "--all"}).out, HasSubstr("expired"));
  EXPECT_EQ(leader_.cli().run({"token", "create", "--role", "king"}).exit_code, 2);
  EXPECT_EQ(leader_.cli().run({"token", "create", "--role", "viewer", "--expires", "5"}).exit_code, 2);
}

TEST_F(ClusterAccess, OfANodeIsByItsOwnKeyAlone) {
  leader_.start();
  const std::string join = leader_.secret_of(leader_.token_file("agent"));
  const std::string first = new_secret();
  const std::string second = new_secret();
  const auto join_as = [&](const std::string& node, const std::string& key) {
    return status("POST", "/agent/v1/join", join, R"({"node": ")" + node + R"(", "key": ")" + key + R"("})");
  };
  EXPECT_EQ(join_as("n1", first), 200);
  EXPECT_EQ(join_as("n1", first), 200);
  EXPECT_EQ(join_as("n2", second), 200);
  EXPECT_EQ(join_as("n1", second), 409);
  EXPECT_EQ(status("POST", "/agent/v1/join", leader_.owner_secret(), R"({"node": "n3", "key": ")" + first + R"("})"),
            403);
  const auto batch = [&](const std::string& node, const std::string& key) {
    return leader_.request("POST", "/agent/v1/batch", key, {{"Assay-Node", node}}).status;
  };
  // 410: admitted, and asked to say hello.
  EXPECT_EQ(batch("n1", first), 410);
  EXPECT_EQ(batch("n1", second), 401);
  EXPECT_EQ(batch("n1", join), 401);
  EXPECT_EQ(batch("n1", leader_.owner_secret()), 401);
  EXPECT_EQ(batch("nobody", first), 401);
  EXPECT_EQ(leader_.cli().run({"token", "revoke", "node:n1"}).exit_code, 0);
  EXPECT_EQ(batch("n1", first), 401);
  for (const auto& secret : {first, second, join}) EXPECT_THAT(leader_.process().said(), Not(HasSubstr(secret)));
}

TEST_F(ClusterAccess, FilesOfSecretsAreTheirOwnersAlone) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  const fs::path viewer = leader_.token_file("viewer");
  EXPECT_EQ(mode_of(viewer), 0600U);
  EXPECT_EQ(mode_of(cli.data() / "leader"), 0700U);
  EXPECT_EQ(mode_of(cli.data() / "leader" / "owner.token"), 0600U);
  EXPECT_EQ(mode_of(cli.data() / "leader" / "tokens.jsonl"), 0600U);
  EXPECT_EQ(cli.run({"token", "create", "--role", "viewer", "--out", viewer.string()}).exit_code, 2)
      << "a file that is there was overwritten";
  // The one that was not written is worth nothing.
  EXPECT_EQ(cli.json({"token", "list"}).at("result").at("tokens").as_array().size(), 2U);

  const auto looked = cli.run({"--leader", leader_.url(), "nodes", "--token-file", viewer.string()});
  EXPECT_EQ(looked.exit_code, 0) << looked.error;
  fs::permissions(viewer, fs::perms::owner_read | fs::perms::others_read);
  const auto refused = cli.run({"--leader", leader_.url(), "nodes", "--token-file", viewer.string()});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.error, HasSubstr("chmod 600"));
  EXPECT_THAT(refused.error, Not(HasSubstr(leader_.secret_of(viewer))));
  const auto without = cli.run({"--leader", leader_.url(), "nodes"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.error, HasSubstr("--token-file"));
}

TEST_F(ClusterAccess, IsDeniedToAgentsWithAWordAboutTheRemedy) {
  leader_.start();
  const fs::path file = leader_.cli().folder() / "made-up.token";
  ASSERT_TRUE(write_secret_file(file, join_token_text(kWrongSecret, std::nullopt)).ok());
  const auto agent_at = [&](const std::string& url, const fs::path& token) {
    return leader_.cli().run({"agent", "--leader", url, "--token-file", token.string(), "--name", "n1", "--no-gpu",
                              "--state", (leader_.cli().folder() / "n1").string()});
  };
  const auto unknown = agent_at(leader_.url(), file);
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error, HasSubstr("assay token create"));
  EXPECT_THAT(unknown.error, Not(HasSubstr(kWrongSecret)));

  const fs::path join = leader_.token_file("agent", {"--name", "last-years"});
  EXPECT_EQ(leader_.cli().run({"token", "revoke", "last-years"}).exit_code, 0);
  EXPECT_EQ(agent_at(leader_.url(), join).exit_code, 3);
  const auto fleet = leader_.cli().run({"fleet-sim", "1", "--leader", leader_.url(), "--token-file", join.string()});
  EXPECT_EQ(fleet.exit_code, 3) << fleet.error;
  EXPECT_EQ(leader_.state_of("n1"), "absent");

  const auto plain = agent_at("http://192.0.2.1:8470", join);
  EXPECT_EQ(plain.exit_code, 2);
  EXPECT_THAT(plain.error, HasSubstr("--insecure"));
}

TEST_F(ClusterAccess, OverTlsIsByTheFingerprintInTheJoinToken) {
  leader_.start({"--tls"});
  EXPECT_THAT(leader_.url(), testing::StartsWith("https://"));
  auto agent = leader_.start_agent("n1");
  leader_.expect_state("n1", "online");

  const fs::path join = leader_.token_file("agent");
  const auto text = read_file(join);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("@sha256:"));
  const std::string wrong = join_token_text(leader_.secret_of(join), "sha256:" + std::string(64, 'c'));
  const fs::path forged = leader_.cli().folder() / "forged.token";
  ASSERT_TRUE(write_secret_file(forged, wrong).ok());
  AssayProcess deceived({"agent", "--leader", leader_.url(), "--token-file", forged.string(), "--name", "n2",
                         "--no-gpu", "--state", (leader_.cli().folder() / "n2").string()},
                        leader_.cli().folder() / "deceived.log", {});
  EXPECT_TRUE(eventually([&] {
    return deceived.said().find("another certificate than expected") != std::string::npos;
  })) << deceived.said();
  deceived.kill_now();
  EXPECT_EQ(leader_.state_of("n2"), "absent");

  // The certificate outlives the leader's process: agents go on trusting it.
  leader_.process().kill_now();
  leader_.start({"--tls"});
  leader_.expect_state("n1", "online");
  EXPECT_EQ(agent.terminate(), 0);
}

}  // namespace
}  // namespace assay
