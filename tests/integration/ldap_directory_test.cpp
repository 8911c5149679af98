#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "access/directory_roles.h"
#include "access/ldap/ldap_directory.h"
#include "ldap_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kAdmins = "cn=gpu-admins,ou=groups,dc=example,dc=org";
constexpr const char* kUsers = "cn=gpu-users,ou=groups,dc=example,dc=org";

/// Starts the directory once for all tests of a process.
class LdapDirectory : public testing::Test {
 public:
  static void SetUpTestSuite() {
    // What its user tells the library must not loosen anything.
    ::setenv("LDAPTLS_REQCERT", "never", 1);
    ::setenv("LDAPREFERRALS", "on", 1);
    ::setenv("LDAPNETWORK_TIMEOUT", "5", 1);
    // As assay does: libldap writes to connections that may be gone.
    std::signal(SIGPIPE, SIG_IGN);
    auto started = TestDirectory::start();
    if (started) {
      directory_ = std::move(started).value();
    } else {
      problem_ = started.error();
    }
  }
  static void TearDownTestSuite() { directory_.reset(); }

  void SetUp() override {
    if (directory_) return;
    if (problem_.kind == ErrorKind::unsupported) GTEST_SKIP() << problem_.text();
    FAIL() << problem_.text();
  }

  static LdapSettings settings() {
    LdapSettings settings;
    settings.url = directory_->ldaps_url();
    settings.ca_file = directory_->ca_file();
    settings.bind_dn = "cn=reader,dc=example,dc=org";
    settings.bind_password_file = directory_->password_file();
    settings.user_base = "ou=people,dc=example,dc=org";
    settings.group_base = "ou=groups,dc=example,dc=org";
    settings.roles = {{"gpu-admins", Role::admin}, {"gpu-users", Role::user}};
    settings.timeout = std::chrono::seconds(60);
    return settings;
  }
  /// Everybody may search these.
  static LdapSettings open_settings() {
    LdapSettings open = settings();
    open.bind_dn.clear();
    open.bind_password_file.clear();
    open.user_base = "ou=open,dc=example,dc=org";
    return open;
  }

  static Result<DirectoryEntry> ask(const LdapSettings& settings, std::string_view user, std::string_view password) {
    ASSAY_TRY(const auto directory, make_ldap_directory(settings));
    return directory->check(user, password);
  }
  static Result<DirectoryEntry> ask(std::string_view user, std::string_view password) {
    return ask(settings(), user, password);
  }

  static void expect_refused(const Result<DirectoryEntry>& answer, std::string_view what) {
    ASSERT_FALSE(answer.ok()) << what;
    EXPECT_EQ(answer.error().kind, ErrorKind::denied) << what << ": " << answer.error().text();
    EXPECT_EQ(answer.error().text(), "the directory knows no such user with this password") << what;
  }
  static void expect_unreachable(const Result<DirectoryEntry>& answer, std::string_view why) {
    ASSERT_FALSE(answer.ok()) << why;
    EXPECT_EQ(answer.error().kind, ErrorKind::unreachable) << answer.error().text();
    EXPECT_THAT(answer.error().text(), HasSubstr(why));
  }

  static inline std::unique_ptr<TestDirectory> directory_;
  static inline Error problem_;
};

TEST_F(LdapDirectory, TheRightPasswordIsRight) {
  const auto ada = ask("ada", "correct horse");
  ASSERT_TRUE(ada.ok()) << ada.error().text();
  EXPECT_EQ(ada->user, "ada");
  EXPECT_EQ(ada->name, "Ada Lovelace");
  EXPECT_THAT(ada->groups, UnorderedElementsAre(kAdmins, kUsers));
  EXPECT_EQ(role_of_groups(ada->groups, settings().roles), Role::admin);
}

TEST_F(LdapDirectory, OverStartTlsAndOnLoopbackWithoutTls) {
  auto changed = settings();
  changed.url = directory_->ldap_url();
  for (const bool start_tls : {true, false}) {
    changed.start_tls = start_tls;
    const auto bob = ask(changed, "bob", "battery");
    ASSERT_TRUE(bob.ok()) << bob.error().text();
    EXPECT_EQ(bob->name, "Bob");
    EXPECT_THAT(bob->groups, ElementsAre(kUsers));
    expect_refused(ask(changed, "bob", "Battery"), "wrong password");
  }
}

TEST_F(LdapDirectory, WrongPasswordsAndUnknownUsersAreRefusedAlike) {
  expect_refused(ask("ada", "correct hors"), "wrong");
  expect_refused(ask("ada", "battery"), "another's");
  expect_refused(ask("nobody", "correct horse"), "unknown");
  expect_refused(ask("cn=reader", "reader's"), "not below the base");
  expect_refused(ask("reader", "reader's"), "not below the base");
}

TEST_F(LdapDirectory, WhatCannotBeAPasswordIsNotAsked) {
  expect_refused(ask("ada", ""), "a log-in without a password would be let in");
  expect_refused(ask("ada", std::string_view("\0", 1)), "zero");
  expect_refused(ask("ada", std::string_view("correct horse\0", 14)), "zero behind it");
  expect_refused(ask("ada", std::string(100'000, 'x')), "endless");
  expect_refused(ask("", "correct horse"), "nobody");
  expect_refused(ask("  ", "correct horse"), "blank");
  expect_refused(ask(std::string(100'000, 'a'), "x"), "endless");
  expect_refused(ask("ada\n", "correct horse"), "line end");
}

TEST_F(LdapDirectory, WhatIsTypedIsNeverAFilter) {
  for (const char* user : {"*", "a*", "ada)(uid=*", "*)(uid=*))(|(uid=*", "ada)(objectClass=*", "\\61da", "ad\\61",
                           "(ada", "{user}", "{dn}", "uid=ada,ou=people,dc=example,dc=org", "ada\xff"}) {
    expect_refused(ask(user, "correct horse"), user);
  }
  const auto weird = ask("we(ird*", "odd");
  ASSERT_TRUE(weird.ok()) << weird.error().text();
  EXPECT_EQ(weird->user, "we(ird*");
}

TEST_F(LdapDirectory, WhoIsThereTwiceIsRefused) { expect_refused(ask("twin", "same"), "two entries"); }

TEST_F(LdapDirectory, AUserIsSpelledAsTheDirectoryDoes) {
  EXPECT_EQ(ask("ADA", "correct horse")->user, "ada");
  auto changed = settings();
  changed.user_filter = "(|(uid={user})(mail={user}))";
  EXPECT_EQ(ask(changed, "Ada@Example.org", "correct horse")->user, "ada") << "the same account by either name";
  changed.user_filter = "(mail={user})";
  EXPECT_EQ(ask(changed, "Ada@Example.org", "correct horse")->user, "ada@example.org");
}

TEST_F(LdapDirectory, GroupsMayBeAnAttributeOfTheUser) {
  auto changed = open_settings();
  changed.group_base.clear();
  EXPECT_THAT(ask(changed, "eve", "apple")->groups, ElementsAre(kAdmins));
  changed = settings();
  changed.group_base.clear();
  EXPECT_THAT(ask(changed, "ada", "correct horse")->groups, IsEmpty());
}

TEST_F(LdapDirectory, WhereNobodySearchesTheUserLooksForGroups) {
  const auto eve = ask(open_settings(), "eve", "apple");
  ASSERT_TRUE(eve.ok()) << eve.error().text();
  EXPECT_THAT(eve->groups, ElementsAre(kAdmins)) << "which are for those alone who are logged in";
  expect_refused(ask(open_settings(), "eve", "Apple"), "wrong");
}

TEST_F(LdapDirectory, ACertificateOfAnotherAuthorityIsNotBelieved) {
  const TemporaryFolder folder;
  TestAuthority().issue(folder.path() / "other.pem", "127.0.0.1");
  ASSERT_TRUE(write_file_atomically(folder.path() / "other.crt", authority_of(folder.path() / "other.pem")).ok());
  auto changed = settings();
  changed.ca_file = folder.path() / "other.crt";
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
  changed.url = directory_->ldap_url();
  changed.start_tls = true;
  const auto answer = ask(changed, "ada", "correct horse");
  expect_unreachable(answer, "starting TLS");
  EXPECT_THAT(answer.error().hint, HasSubstr("'ldap.ca_file'"));
  changed.ca_file.clear();
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
}

TEST_F(LdapDirectory, ACertificateForAnotherHostIsNotBelieved) {
  const auto other = TestDirectory::start({.host = "other.example.org"});
  ASSERT_TRUE(other.ok()) << other.error().text();
  auto changed = settings();
  changed.ca_file = (*other)->ca_file();
  changed.url = (*other)->ldaps_url();
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
  changed.url = (*other)->ldap_url();
  changed.start_tls = true;
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
  changed = settings();
  changed.url = fmt::format("ldaps://localhost:{}", directory_->ldaps_port());
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
}

TEST_F(LdapDirectory, WithoutTlsThereIsNoWayBackToPlain) {
  const auto plain = TestDirectory::start({.tls = false});
  ASSERT_TRUE(plain.ok()) << plain.error().text();
  auto changed = settings();
  changed.url = (*plain)->ldap_url();
  changed.start_tls = true;
  expect_unreachable(ask(changed, "ada", "correct horse"), "starting TLS");
}

TEST_F(LdapDirectory, SaysWhatIsWrongWithTheSettings) {
  auto changed = settings();
  changed.url = "ldap://ldap.example.org";
  EXPECT_THAT(make_ldap_directory(changed).error().text(), HasSubstr("in the clear"));
  EXPECT_THAT(make_ldap_directory({}).error().text(), HasSubstr("no 'ldap.url'"));
  changed = settings();
  changed.user_filter = "(uid=ada)";
  EXPECT_THAT(make_ldap_directory(changed).error().text(), HasSubstr("ldap.user_filter"));
  changed = settings();
  changed.ca_file = "/nowhere/ca.crt";
  EXPECT_EQ(make_ldap_directory(changed).error().kind, ErrorKind::missing_file);
  changed.ca_file = directory_->password_file();
  EXPECT_FALSE(ask(changed, "ada", "correct horse").ok()) << "no certificate is in it";
  changed = settings();
  changed.bind_password_file = directory_->ca_file();
  EXPECT_THAT(make_ldap_directory(changed).error().text(), HasSubstr("ldap.bind_password_file"));
}

TEST_F(LdapDirectory, TroubleOfTheLeaderIsNotTheUsers) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "password", "wrong").ok());
  fs::permissions(folder.path() / "password", fs::perms::owner_read);
  auto changed = settings();
  changed.bind_password_file = folder.path() / "password";
  const auto answer = ask(changed, "ada", "correct horse");
  expect_unreachable(answer, "refuses 'cn=reader,dc=example,dc=org'");
  EXPECT_THAT(answer.error().hint, HasSubstr("ldap.bind_password_file"));
  changed = settings();
  changed.user_base = "ou=nowhere,dc=example,dc=org";
  expect_unreachable(ask(changed, "ada", "correct horse"), "searching below 'ou=nowhere,dc=example,dc=org'");
  changed = settings();
  changed.group_base = "ou=nowhere,dc=example,dc=org";
  expect_unreachable(ask(changed, "ada", "correct horse"), "searching below 'ou=nowhere");
  changed = settings();
  changed.user_filter = "(uid,=,{user})";
  expect_unreachable(ask(changed, "ada", "correct horse"), "Bad search filter");
}

TEST_F(LdapDirectory, OneThatIsGoneIsUnreachable) {
  const auto gone = TestDirectory::start();
  ASSERT_TRUE(gone.ok()) << gone.error().text();
  auto changed = settings();
  changed.ca_file = (*gone)->ca_file();
  changed.url = (*gone)->ldaps_url();
  const auto asked = make_ldap_directory(changed);
  ASSERT_TRUE(asked.ok()) << asked.error().text();
  EXPECT_TRUE((*asked)->check("ada", "correct horse").ok());
  (*gone)->kill();
  expect_unreachable((*asked)->check("ada", "correct horse"), "Connection refused");
  EXPECT_EQ((*asked)->check("ada", "").error().kind, ErrorKind::denied) << "what need not be asked is known";
}

TEST_F(LdapDirectory, OneThatSaysNothingOrNeverEndsIsWaitedForAndNoLonger) {
  const std::string tls_may_start("\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00", 14);
  const std::string endless("\x30\x84\x00\x10\x00\x00\x02\x01\x01", 9);
  const std::string handshake("\x16\x03\x03\x20\x00", 5);
  auto changed = settings();
  changed.timeout = std::chrono::milliseconds(300);
  struct Case {
    const char* scheme;
    bool start_tls;
    FallingSilent::Options server;
  };
  for (const Case& each :
       {Case{"ldap", false, {}}, Case{"ldap", true, {}}, Case{"ldaps", false, {}},
        Case{"ldap", true, {.greeting = tls_may_start}}, Case{"ldap", false, {.greeting = endless.substr(0, 4)}},
        Case{"ldap", false, {.greeting = endless, .drips = true}},
        Case{"ldap", true, {.greeting = endless, .drips = true}},
        Case{"ldaps", false, {.greeting = handshake, .drips = true}}}) {
    const FallingSilent silent(each.server);
    changed.url = fmt::format("{}://127.0.0.1:{}", each.scheme, silent.port());
    changed.start_tls = each.start_tls;
    expect_unreachable(ask(changed, "ada", "correct horse"), changed.url + ": no answer within 0.3 s");
  }
}

TEST_F(LdapDirectory, WhereverItFallsSilentTheAnswerIsInTime) {
  auto changed = settings();
  changed.timeout = std::chrono::milliseconds(200);
  for (const bool tls : {true, false}) {
    for (const std::size_t limit : {1, 6, 20, 40, 100, 200, 400, 700, 900, 1100, 1300}) {
      const FallingSilent silent({.port = tls ? directory_->ldaps_port() : directory_->ldap_port(), .limit = limit});
      changed.url = fmt::format("{}://127.0.0.1:{}", tls ? "ldaps" : "ldap", silent.port());
      const auto answer = ask(changed, "ada", "correct horse");
      // All that it says may fit; if not, nobody can say that the password is wrong.
      if (!answer.ok()) expect_unreachable(answer, changed.url + ": no answer within 0.2 s");
    }
  }
}

TEST_F(LdapDirectory, ManyMayAskAtOnce) {
  const auto asked = make_ldap_directory(settings());
  ASSERT_TRUE(asked.ok()) << asked.error().text();
  std::atomic<int> right = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) {
          if ((*asked)->check("ada", "correct horse").ok()) ++right;
          const auto wrong = (*asked)->check("ada", "wrong");
          if (!wrong.ok() && wrong.error().kind == ErrorKind::denied) ++refused;
        }
      });
    }
  }
  EXPECT_EQ(right, 40);
  EXPECT_EQ(refused, 40);
}

}  // namespace
}  // namespace assay
