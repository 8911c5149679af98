#include "agent/leader_access.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "access/secrets.h"
#include "agent/fake_leader_fixture.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace assay {
namespace {

TEST(LeaderAccess, SecretsDoNotTravelInTheClear) {
  const auto check = [](const char* url, bool insecure = false) { return check_transport(*parse_url(url), insecure); };
  EXPECT_TRUE(check("https://leader:8443").ok());
  EXPECT_TRUE(check("http://127.0.0.1:8080").ok());
  EXPECT_TRUE(check("http://[::1]:8080").ok());
  EXPECT_TRUE(check("http://localhost").ok());
  EXPECT_TRUE(check("unix:/run/assay.sock").ok());
  const auto refused = check("http://leader:8080");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_NE(refused.error().hint.find("--insecure"), std::string::npos);
  EXPECT_TRUE(check("http://leader:8080", true).ok());
}

TEST(LeaderAccess, TheKeyIsMadeOnceAndForTheOwnerAlone) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "key";
  const auto made = keep_key(file);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->is_new);
  EXPECT_TRUE(is_secret(made->text));
  struct stat found{};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  const auto again = keep_key(file);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->text, made->text);
}

TEST(LeaderAccess, AKeyThatOthersCanReadOrThatIsNoneIsRefused) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "key";
  ASSERT_TRUE(keep_key(file).ok());
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(keep_key(file).error().kind, ErrorKind::denied);
  fs::remove(file);
  ASSERT_TRUE(write_secret_file(file, "not a key").ok());
  EXPECT_EQ(keep_key(file).error().kind, ErrorKind::bad_file);
}

TEST(LeaderAccess, TheFingerprintIsKeptForLaterStarts) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "leader.fingerprint";
  const std::string first = "sha256:" + std::string(64, 'a');
  const std::string second = "sha256:" + std::string(64, 'b');
  EXPECT_EQ(keep_trust(file, {})->fingerprint, "") << "none was ever given";
  EXPECT_EQ(keep_trust(file, {.fingerprint = first})->fingerprint, first);
  EXPECT_EQ(keep_trust(file, {})->fingerprint, first);
  EXPECT_EQ(keep_trust(file, {.ca_file = "ca.pem"})->fingerprint, "") << "something else is to be believed now";
  EXPECT_EQ(keep_trust(file, {.fingerprint = second})->fingerprint, second);
  EXPECT_EQ(keep_trust(file, {})->fingerprint, second);
  ASSERT_TRUE(write_file_atomically(file, "nonsense").ok());
  EXPECT_FALSE(keep_trust(file, {}).ok()) << "nothing is believed instead";
}

TEST(LeaderAccess, OnlyTheCertificateOfTheTokenIsBelieved) {
  const TemporaryFolder folder;
  const auto files = keep_self_made_certificate(folder.path(), {"leader"});
  ASSERT_TRUE(files.ok());
  FakeLeader leader(*files);
  LeaderAccess access = leader.access();
  access.join_secret = leader.secret;
  const auto try_to_reach = [&access] {
    const auto client = make_leader_client(access, std::chrono::seconds(10));
    auto request = agent_request(access, "POST", "/agent/v1/hello");
    request.body = R"({"stream": "s1"})";
    return (*client)->send(std::move(request));
  };
  access.trust.fingerprint = *certificate_fingerprint(files->certificate);
  const auto reached = try_to_reach();
  ASSERT_TRUE(reached.ok()) << reached.error().text();
  EXPECT_EQ(reached->status, 200);
  access.trust.fingerprint = "sha256:" + std::string(64, '0');
  EXPECT_FALSE(try_to_reach().ok());
  access.trust.fingerprint.clear();
  EXPECT_FALSE(try_to_reach().ok()) << "no authority has signed it";
}

TEST(LeaderAccess, TheLeadersOwnWordsAreQuoted) {
  const auto error = leader_error(
      {.status = 401, .headers = {}, .body = R"({"error": {"kind": "denied", "message": "expired", "hint": "Ask."}})"});
  EXPECT_EQ(error.kind, ErrorKind::denied);
  EXPECT_EQ(error.message, "the leader answered 401: expired");
  EXPECT_EQ(error.hint, "Ask.");
  EXPECT_EQ(leader_error({.status = 500, .headers = {}, .body = "<html>"}).kind, ErrorKind::crash);
  EXPECT_EQ(leader_error({.status = 409, .headers = {}, .body = R"({"error": 5})"}).kind, ErrorKind::busy);
  EXPECT_EQ(leader_error({.status = 204, .headers = {}, .body = {}}).kind, ErrorKind::io);
}

}  // namespace
}  // namespace assay
