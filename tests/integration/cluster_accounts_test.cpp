#include <gmock/gmock.h>
#include <sys/stat.h>

#include "cluster_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kPassword = "correct horse battery";

class ClusterAccounts : public ClusterTest {
 protected:
  AssayCli& cli() { return leader_.cli(); }
  /// As somebody on another machine: no data folder of the leader's, a home of their own.
  std::map<std::string, std::string> elsewhere() const {
    return {{"ASSAY_DATA", (home_.path() / "data").string()}, {"XDG_CONFIG_HOME", (home_.path() / "config").string()}};
  }
  /// What stands behind `once=` in a text.
  static std::string secret_in(const std::string& text) {
    const std::string mark = "/#/login?once=";
    const auto at = text.find(mark);
    if (at == std::string::npos) return "";
    return text.substr(at + mark.size(), text.find_first_of("\n ", at) - at - mark.size());
  }
  int sign_in(const std::string& body) { return leader_.request("POST", "/api/v1/session", "", {}, body).status; }

  TemporaryFolder home_;
};

TEST_F(ClusterAccounts, TheFirstAdministratorComesByTheLinkThatServePrints) {
  leader_.start();
  std::string secret;
  ASSERT_TRUE(eventually([&] { return !(secret = secret_in(leader_.process().said())).empty(); }));
  EXPECT_EQ(sign_in(R"({"once": ")" + secret + R"("})"), 200);
  EXPECT_EQ(sign_in(R"({"once": ")" + secret + R"("})"), 401) << "once";
  EXPECT_EQ(cli().run({"user", "password", "admin", "--password"}, {}, std::string(kPassword) + "\n").exit_code, 0);
  leader_.process().terminate();
  fs::remove(leader_.log());
  leader_.start();
  EXPECT_THAT(leader_.process().said(), Not(HasSubstr("once="))) << "somebody administers";
  EXPECT_EQ(sign_in(R"({"user": "admin", "password": "correct horse battery"})"), 200);
}

TEST_F(ClusterAccounts, PeopleAreMadeChangedAndRemoved) {
  leader_.start();
  const auto made = cli().run({"user", "add", "ada", "--full-name", "Ada Lovelace"});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  const std::string secret = secret_in(made.out);
  ASSERT_FALSE(secret.empty()) << made.out;
  EXPECT_EQ(sign_in(R"({"once": ")" + secret + R"("})"), 200);
  EXPECT_EQ(cli().run({"user", "add", "ada"}).exit_code, 3) << "there is one";
  EXPECT_EQ(cli().run({"user", "add", "bob", "--role", "boss"}).exit_code, 2);
  EXPECT_EQ(cli().run({"user", "role", "ada", "viewer"}).exit_code, 0);
  EXPECT_EQ(cli().run({"user", "disable", "ada"}).exit_code, 0);
  const auto list = cli().run({"user", "list"});
  EXPECT_THAT(list.out, HasSubstr("Ada Lovelace"));
  EXPECT_THAT(list.out, HasSubstr("disabled"));
  EXPECT_EQ(cli().run({"user", "remove", "ada"}).exit_code, 0);
  EXPECT_EQ(cli().run({"user", "remove", "ada"}).exit_code, 2);
  const auto audit = cli().run({"audit"});
  EXPECT_THAT(audit.out, HasSubstr("DELETE /api/v1/users/{user}"));
  EXPECT_THAT(audit.out, HasSubstr("token owner"));
}

TEST_F(ClusterAccounts, WhoIsSignedInNeedsNoTokenFile) {
  leader_.start();
  ASSERT_EQ(cli().run({"user", "add", "ada", "--password"}, {}, std::string(kPassword) + "\n").exit_code, 0);
  const std::vector<std::string> nodes = {"nodes", "--leader", leader_.url()};
  EXPECT_EQ(cli().run(nodes, elsewhere()).exit_code, 2) << "nobody yet";
  EXPECT_EQ(cli().run({"login", leader_.url(), "--user", "ada"}, elsewhere(), "wrong password\n").exit_code, 3);
  const auto in = cli().run({"login", leader_.url(), "--user", "ada"}, elsewhere(), std::string(kPassword) + "\n");
  ASSERT_EQ(in.exit_code, 0) << in.error;
  EXPECT_THAT(in.out, HasSubstr("Signed in as ada"));
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(home_.path() / "config")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    struct stat info{};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_THAT(*read_file(entry.path(), 4096), Not(HasSubstr(kPassword)));
  }
  EXPECT_EQ(files, 1);
  EXPECT_EQ(cli().run(nodes, elsewhere()).exit_code, 0);
  EXPECT_EQ(cli().run({"user", "list", "--leader", leader_.url()}, elsewhere()).exit_code, 3) << "no administrator";
  EXPECT_EQ(cli().run({"logout", leader_.url()}, elsewhere()).exit_code, 0);
  EXPECT_EQ(cli().run(nodes, elsewhere()).exit_code, 2);
  EXPECT_THAT(leader_.request("GET", "/api/v1/tokens?all=true", leader_.owner_secret()).body, Not(HasSubstr("cli-")))
      << "it was revoked, too";
}

}  // namespace
}  // namespace assay
