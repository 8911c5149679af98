// Over which connections secrets travel, and what a leader's certificate is good for.
#include <gmock/gmock.h>

#include "access/secrets.h"
#include "cluster_fixture.h"
#include "net/authority_fixture.h"
#include "net/client_messages.h"
#include "net/tls.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ClusterTransport : public ClusterTest {
 protected:
  int join_as_n1(const std::string& join_secret) {
    const std::string body = R"({"node": "n1", "key": ")" + new_secret() + R"("})";
    return leader_.request("POST", "/agent/v1/join", join_secret, {{"Content-Type", "application/json"}}, body).status;
  }
};

TEST_F(ClusterTransport, TokensOfPeopleDoNotTravelInTheClear) {
  leader_.start();
  const std::string viewer = leader_.token_file("viewer").string();
  for (const char* url : {"http://192.0.2.1:8470", "http://127.example.org:8470"}) {
    const auto plain = leader_.cli().run({"--leader", url, "nodes", "--token-file", viewer});
    EXPECT_EQ(plain.exit_code, 2) << url << ": " << plain.error;
    EXPECT_THAT(plain.error, HasSubstr("in the clear")) << url;
    EXPECT_THAT(plain.error, HasSubstr("https://")) << url;
  }
  EXPECT_EQ(leader_.cli().run({"--leader", leader_.url(), "nodes", "--token-file", viewer}).exit_code, 0);
  const auto pinned = leader_.cli().run(
      {"--leader", leader_.url(), "nodes", "--token-file", viewer, "--fingerprint", "sha256:" + std::string(64, 'a')});
  EXPECT_EQ(pinned.exit_code, 2) << "nobody would look at the fingerprint";
  EXPECT_THAT(pinned.error, HasSubstr("--fingerprint"));
}

TEST_F(ClusterTransport, ACertificateIsGoodForTheNamesThatWereAskedFor) {
  leader_.start({"--tls", "--name", "head.example.org", "--name", "192.0.2.7"});
  const fs::path certificate = leader_.cli().data() / "leader" / "tls" / "assay-tls.crt";
  const auto missing = names_not_covered(certificate, {"localhost", "127.0.0.1", "head.example.org", "192.0.2.7"});
  ASSERT_TRUE(missing.ok()) << missing.error().text();
  EXPECT_THAT(*missing, IsEmpty());
  EXPECT_THAT(leader_.process().said(), Not(HasSubstr("not good for")));

  EXPECT_EQ(leader_.process().terminate(), 0);
  leader_.start({"--tls", "--name", "head.example.org", "--name", "other.example.org"});
  const std::string said = leader_.process().said();
  EXPECT_THAT(said, HasSubstr("not good for other.example.org:"));
  EXPECT_THAT(said, HasSubstr("assay-tls.pem"));
  EXPECT_THAT(said, HasSubstr("fingerprint"));

  const auto useless = leader_.cli().run({"serve", "--listen", "127.0.0.1:0", "--name", "head.example.org"});
  EXPECT_EQ(useless.exit_code, 2);
  EXPECT_THAT(useless.error, HasSubstr("--name head.example.org"));
}

TEST_F(ClusterTransport, ARenewedCertificateIsTakenOverWithoutDroppingAnybody) {
  const TestAuthority authority;
  const fs::path file = leader_.cli().folder() / "leader.pem";
  const auto first = certificate_fingerprint(authority.issue(file, "127.0.0.1").certificate).value();
  leader_.start({"--certificate", file.string(), "--key", file.string(), "--pin", "authority"});
  const auto before = leader_.start_agent("before");
  leader_.expect_state("before", "online");
  const auto warned = leader_.cli().run({"nodes"});
  EXPECT_THAT(warned.error, HasSubstr("is good only until")) << "for an hour more";

  EXPECT_NE(certificate_fingerprint(authority.issue(file, "127.0.0.1").certificate).value(), first);
  leader_.process().hang_up();
  EXPECT_TRUE(eventually([&] { return leader_.process().said().find("was read again") != std::string::npos; }));
  const auto after = leader_.start_agent("after");
  leader_.expect_state("after", "online");
  leader_.expect_state("before", "online");

  ASSERT_TRUE(write_file_atomically(file, "no certificate").ok());
  leader_.process().hang_up();
  EXPECT_TRUE(eventually([&] {
    return leader_.cli().run({"nodes"}).error.find("reading the certificate again") != std::string::npos;
  })) << "what cannot be read changes nothing, and is said";
}

TEST_F(ClusterTransport, CommandsOnItsOwnMachineNeedNoCertificateForLoopback) {
  const TestAuthority authority;
  const fs::path file = leader_.cli().folder() / "leader.pem";
  authority.issue(file, "head.example.org");
  leader_.start({"--certificate", file.string(), "--key", file.string(), "--pin", "authority"});
  const auto first = leader_.cli().run({"nodes"});
  EXPECT_EQ(first.exit_code, 0) << first.error;
  authority.issue(file, "head.example.org");
  leader_.process().hang_up();
  EXPECT_TRUE(eventually([&] { return leader_.process().said().find("was read again") != std::string::npos; }));
  const auto renewed = leader_.cli().run({"nodes"});
  EXPECT_EQ(renewed.exit_code, 0) << renewed.error;
}

TEST_F(ClusterTransport, ARevokedNodeNeedsANewJoinToken) {
  leader_.start();
  const std::string before = leader_.secret_of(leader_.token_file("agent"));
  EXPECT_EQ(join_as_n1(before), 200);
  EXPECT_EQ(join_as_n1(before), 409);
  const auto revoked = leader_.cli().run({"token", "revoke", "node:n1"});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.error;
  EXPECT_THAT(revoked.out, HasSubstr("new join token"));
  EXPECT_EQ(join_as_n1(before), 403);
  EXPECT_EQ(join_as_n1(leader_.secret_of(leader_.token_file("agent"))), 200);
}

}  // namespace
}  // namespace assay
