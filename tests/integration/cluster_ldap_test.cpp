// Signing in with a password that a real directory keeps, by way of a whole leader.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cluster_fixture.h"
#include "ldap_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterLdap : public ClusterTest {
 protected:
  void SetUp() override {
    auto started = TestDirectory::start();
    if (!started && started.error().kind == ErrorKind::unsupported) GTEST_SKIP() << started.error().text();
    ASSERT_TRUE(started.ok()) << started.error().text();
    directory_ = std::move(started).value();
    const fs::path file = leader_.cli().folder() / "leader.yaml";
    ASSERT_TRUE(write_file_atomically(file, settings()).ok());
    leader_.start({"--config", file.string()});
  }

  std::string settings() const {
    return fmt::format(R"(ldap:
  url: {}
  ca_file: "{}"
  bind_dn: cn=reader,dc=example,dc=org
  bind_password_file: "{}"
  user_base: ou=people,dc=example,dc=org
  group_base: ou=groups,dc=example,dc=org
  roles: [gpu-admins=admin, gpu-users=user]
)",
                       directory_->ldaps_url(), directory_->ca_file().string(), directory_->password_file().string());
  }

  ClientResponse sign_in(const std::string& user, const std::string& password) {
    return leader_.request("POST", "/api/v1/session", "", {},
                           json::serialize(json::object{{"user", user}, {"password", password}}));
  }
  /// What whoever signed in is asked for by the leader with the cookie of that answer.
  int status_with(const ClientResponse& signed_in, const std::string& target) {
    const std::string cookie(signed_in.headers.find("Set-Cookie").value_or(""));
    return leader_.request("GET", target, "", {{"Cookie", cookie.substr(0, cookie.find(';'))}}).status;
  }

  std::unique_ptr<TestDirectory> directory_;
};

TEST_F(ClusterLdap, PeopleSignInWithTheRoleOfTheirGroups) {
  const auto ada = sign_in("ada", "correct horse");
  ASSERT_EQ(ada.status, 200) << ada.body;
  EXPECT_THAT(ada.body, HasSubstr("Ada Lovelace"));
  EXPECT_EQ(status_with(ada, "/api/v1/users"), 200) << "an administrator";
  const auto bob = sign_in("bob", "battery");
  ASSERT_EQ(bob.status, 200) << bob.body;
  EXPECT_EQ(status_with(bob, "/api/v1/nodes"), 200);
  EXPECT_EQ(status_with(bob, "/api/v1/users"), 403) << "a user";
  const auto audit = leader_.cli().run({"audit"});
  EXPECT_THAT(audit.out, HasSubstr("ada"));
  EXPECT_THAT(leader_.process().said() + audit.out, Not(HasSubstr("correct horse")));
}

TEST_F(ClusterLdap, WrongAndUnknownAreRefusedAlike) {
  const auto wrong = sign_in("ada", "wrong");
  EXPECT_EQ(wrong.status, 401);
  const auto unknown = sign_in("nobody-here", "wrong");
  EXPECT_EQ(unknown.status, 401);
  EXPECT_EQ(wrong.body, unknown.body);
  EXPECT_EQ(sign_in("twin", "same").status, 401);
  EXPECT_EQ(sign_in("*", "correct horse").status, 401);
}

TEST_F(ClusterLdap, WithoutTheDirectoryItIsSaidAndAccountsOfTheLeaderStillWork) {
  const auto signed_in = sign_in("ada", "correct horse");
  ASSERT_EQ(signed_in.status, 200) << signed_in.body;
  const auto made =
      leader_.cli().run({"user", "add", "root-here", "--role", "admin", "--password"}, {}, "kept by us 4711\n");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  directory_->kill();
  const auto away = sign_in("bob", "battery");
  EXPECT_EQ(away.status, 503) << away.body;
  EXPECT_EQ(sign_in("root-here", "kept by us 4711").status, 200);
  EXPECT_EQ(status_with(signed_in, "/api/v1/users"), 200) << "who is in stays in";
}

}  // namespace
}  // namespace assay
