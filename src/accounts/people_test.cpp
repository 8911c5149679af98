#include "accounts/people.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "access/secrets.h"
#include "accounts/accounts.h"
#include "store/memory/account_memory.h"

namespace assay {
namespace {

constexpr const char* kPassword = "correct horse battery";
constexpr const char* kFrom = "10.0.0.7";

class FakeDirectory final : public PasswordDirectory {
 public:
  Result<DirectoryEntry> check(std::string_view user, std::string_view password) override {
    ++asked;
    meanwhile();
    if (down) return Error{.kind = ErrorKind::unreachable, .message = "no answer"};
    if (user != "grace" || password != "navy") return Error{.kind = ErrorKind::denied, .message = "wrong"};
    return DirectoryEntry{.user = "grace", .name = "Grace Hopper", .groups = groups};
  }
  int asked = 0;
  bool down = false;
  std::function<void()> meanwhile = [] {};
  std::vector<std::string> groups = {"staff"};
};

class PeopleTest : public testing::Test {
 protected:
  PeopleTest() { open(); }
  /// As after a restart.
  void open() {
    AccountOptions options;
    options.people.cost = {.passes = 1, .memory_bytes = 8192};
    if (directory_) {
      options.people.directory = {.passwords = directory_,
                                  .role_of = [](const std::vector<std::string>& groups) -> std::optional<Role> {
                                    for (const auto& group : groups) {
                                      if (group == "staff") return Role::user;
                                      if (group == "root") return Role::admin;
                                    }
                                    return std::nullopt;
                                  }};
    }
    auto loaded = Accounts::load(*tables_, clock_, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    accounts_ = std::move(*loaded);
  }
  People& people() { return accounts_->people(); }
  void add(const std::string& name, Role role) {
    ASSERT_TRUE(people().add(name, "", role).ok());
    ASSERT_TRUE(people().set_password(name, kPassword).ok());
  }
  People::SignedIn signed_in(const std::string& name) {
    auto made = people().sign_in(name, kPassword, kFrom);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made ? *made : People::SignedIn{};
  }

  ManualClock clock_;
  std::unique_ptr<AccountTables> tables_ = make_account_memory();
  std::shared_ptr<FakeDirectory> directory_;
  std::unique_ptr<Accounts> accounts_;
};

TEST_F(PeopleTest, SignInAndOut) {
  add("ada", Role::user);
  const auto in = signed_in("Ada");
  EXPECT_EQ(in.user.name, "ada") << "case does not matter";
  EXPECT_NE(in.session.id, in.secret) << "only a hash is kept";
  EXPECT_NE(in.session.csrf, in.secret);
  ASSERT_TRUE(people().visitor(in.secret));
  EXPECT_FALSE(people().visitor(in.session.id)) << "what is stored does not let anybody in";
  EXPECT_FALSE(people().visitor(""));
  ASSERT_TRUE(people().sign_out(in.session.id).ok());
  EXPECT_FALSE(people().visitor(in.secret));
}

TEST_F(PeopleTest, WhateverIsWrongSoundsTheSame) {
  add("ada", Role::user);
  add("eve", Role::user);
  ASSERT_TRUE(people().change("eve", {.disabled = true}).ok());
  ASSERT_TRUE(people().add("new", "", Role::user).ok());
  const std::string words = people().sign_in("ada", "wrong password", kFrom).error().text();
  for (const auto& [user, password] : std::vector<std::pair<std::string, std::string>>{{"nobody", kPassword},
                                                                                       {"eve", kPassword},
                                                                                       {"new", ""},
                                                                                       {"new", kPassword},
                                                                                       {"ada", ""},
                                                                                       {"../x", "y"},
                                                                                       {"", ""}}) {
    const auto tried = people().sign_in(user, password, "from " + user);
    ASSERT_FALSE(tried.ok()) << user;
    EXPECT_EQ(tried.error().kind, ErrorKind::denied) << user;
    EXPECT_EQ(tried.error().text(), words) << user;
  }
}

TEST_F(PeopleTest, GuessingIsSlowedDownAlikeForThoseWhoExistAndThoseWhoDoNot) {
  add("ada", Role::user);
  for (const std::string user : {"ada", "nobody"}) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(people().sign_in(user, "wrong password", user).error().kind, ErrorKind::denied) << user << i;
    }
    EXPECT_EQ(people().sign_in(user, kPassword, user).error().kind, ErrorKind::busy) << user;
  }
  clock_.advance(std::chrono::seconds(1));
  EXPECT_TRUE(people().sign_in("ada", kPassword, "ada").ok()) << "the right one after the wait";
}

TEST_F(PeopleTest, SessionsEndWithoutUseAndInAnyCaseAndOutliveARestart) {
  add("ada", Role::user);
  const auto in = signed_in("ada");
  for (int i = 0; i < 15; ++i) {
    clock_.advance(std::chrono::hours(11));
    ASSERT_TRUE(people().visitor(in.secret)) << i << ": it was used";
    ASSERT_TRUE(people().tidy().ok());
    open();
  }
  clock_.advance(std::chrono::hours(4));
  EXPECT_FALSE(people().visitor(in.secret)) << "a week is over";
  const auto idle = signed_in("ada");
  clock_.advance(std::chrono::hours(12));
  EXPECT_FALSE(people().visitor(idle.secret));
  ASSERT_TRUE(people().tidy().ok());
  EXPECT_TRUE(tables_->sessions().list()->empty()) << "and forgotten";
}

TEST_F(PeopleTest, WhoMayLessIsSignedOut) {
  add("root", Role::admin);
  add("ada", Role::admin);
  auto in = signed_in("ada");
  ASSERT_TRUE(people().change("ada", {.full_name = "Ada"}).ok());
  EXPECT_TRUE(people().visitor(in.secret));
  ASSERT_TRUE(people().change("ada", {.role = Role::viewer}).ok());
  EXPECT_FALSE(people().visitor(in.secret));
  in = signed_in("ada");
  ASSERT_TRUE(people().set_password("ada", "another long one").ok());
  EXPECT_FALSE(people().visitor(in.secret));
  EXPECT_EQ(people().sign_in("ada", kPassword, kFrom).error().kind, ErrorKind::denied);
}

TEST_F(PeopleTest, ALinkWorksOnceAndForADay) {
  ASSERT_TRUE(people().add("ada", "", Role::user).ok());
  const auto first = people().invite("ada");
  const auto second = people().invite("ada");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(people().sign_in_once(*first, kFrom).error().kind, ErrorKind::denied) << "a later one replaces it";
  const auto in = people().sign_in_once(*second, kFrom);
  ASSERT_TRUE(in.ok()) << in.error().text();
  EXPECT_FALSE(has_password(in->user));
  EXPECT_EQ(people().sign_in_once(*second, kFrom).error().kind, ErrorKind::denied) << "once";
  const auto third = people().invite("ada");
  clock_.advance(std::chrono::hours(24));
  EXPECT_EQ(people().sign_in_once(*third, kFrom).error().kind, ErrorKind::denied) << "too late";
  EXPECT_EQ(people().sign_in_once("nonsense", kFrom).error().kind, ErrorKind::denied);
}

TEST_F(PeopleTest, OnesOwnPasswordNeedsTheOldOne) {
  add("ada", Role::user);
  const auto other = signed_in("ada");
  const auto in = signed_in("ada");
  const auto visitor = people().visitor(in.secret);
  ASSERT_TRUE(visitor);
  EXPECT_EQ(people().change_password(*visitor, "wrong", "another long one").error().kind, ErrorKind::denied);
  EXPECT_EQ(people().change_password(*visitor, kPassword, "short").error().kind, ErrorKind::usage);
  ASSERT_TRUE(people().visitor(in.secret));
  ASSERT_TRUE(people().change_password(*visitor, kPassword, "another long one").ok());
  EXPECT_TRUE(people().visitor(in.secret)) << "who changed it stays";
  EXPECT_FALSE(people().visitor(other.secret)) << "whoever else was signed in does not";
  // Who has a session must not be able to guess on.
  int busy = 0;
  const auto again = people().visitor(in.secret);
  for (int i = 0; i < 10; ++i) {
    busy += people().change_password(*again, "wrong", "yet another one").error().kind == ErrorKind::busy ? 1 : 0;
  }
  EXPECT_EQ(busy, 5);
}

TEST_F(PeopleTest, SomebodyAlwaysAdministers) {
  add("root", Role::admin);
  EXPECT_EQ(people().change("root", {.role = Role::user}).error().kind, ErrorKind::usage);
  EXPECT_EQ(people().change("root", {.disabled = true}).error().kind, ErrorKind::usage);
  EXPECT_EQ(people().remove("root").error().kind, ErrorKind::usage);
  add("ada", Role::admin);
  EXPECT_TRUE(people().remove("root").ok());
  EXPECT_EQ(people().change("root", {}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(people().add("ada", "", Role::user).error().kind, ErrorKind::busy);
  EXPECT_EQ(people().add("a b", "", Role::user).error().kind, ErrorKind::usage);
  EXPECT_EQ(people().add("node", "", Role::agent).error().kind, ErrorKind::usage);
}

TEST_F(PeopleTest, TheFirstAdministratorIsInvitedUntilThereIsOne) {
  const auto first = people().invite_first();
  ASSERT_TRUE(first.ok() && *first);
  EXPECT_EQ((*first)->user, "admin");
  const auto again = people().invite_first();
  ASSERT_TRUE(again.ok() && *again) << "it was not used";
  EXPECT_FALSE(people().sign_in_once((*first)->secret, kFrom).ok());
  const auto in = people().sign_in_once((*again)->secret, kFrom);
  ASSERT_TRUE(in.ok());
  EXPECT_EQ(in->user.role, "admin");
  ASSERT_TRUE(people().change_password(*people().visitor(in->secret), "", kPassword).ok());
  const auto done = people().invite_first();
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done);
}

TEST_F(PeopleTest, ADirectoryLetsItsPeopleInWithTheRoleOfTheirGroups) {
  directory_ = std::make_shared<FakeDirectory>();
  open();
  add("ada", Role::admin);
  const auto in = people().sign_in("grace", "navy", kFrom);
  ASSERT_TRUE(in.ok()) << in.error().text();
  EXPECT_EQ(in->user.role, "user");
  EXPECT_EQ(in->user.full_name, "Grace Hopper");
  EXPECT_TRUE(in->user.from_directory);
  directory_->groups = {"root"};
  EXPECT_EQ(people().sign_in("grace", "navy", kFrom)->user.role, "admin") << "groups count anew each time";
  directory_->groups = {"others"};
  EXPECT_EQ(people().sign_in("grace", "navy", kFrom).error().kind, ErrorKind::denied);
  EXPECT_EQ(people().set_password("grace", kPassword).error().kind, ErrorKind::usage);
  EXPECT_EQ(people().invite("grace").error().kind, ErrorKind::usage);
  const int asked = directory_->asked;
  EXPECT_TRUE(people().sign_in("ada", kPassword, kFrom).ok());
  EXPECT_FALSE(people().sign_in("ada", "navy", kFrom).ok());
  EXPECT_FALSE(people().sign_in("grace", "", kFrom).ok()) << "some directories take that for no question";
  EXPECT_EQ(directory_->asked, asked) << "passwords of our own are not told to others";
  directory_->down = true;
  EXPECT_EQ(people().sign_in("grace", "navy", "10.0.0.8").error().kind, ErrorKind::unreachable);
}

TEST_F(PeopleTest, WhatAnAdministratorDoesWhileTheDirectoryIsAskedHolds) {
  directory_ = std::make_shared<FakeDirectory>();
  open();
  add("root", Role::admin);
  ASSERT_TRUE(people().sign_in("grace", "navy", kFrom).ok());
  directory_->meanwhile = [&] { ASSERT_TRUE(people().change("grace", {.disabled = true}).ok()); };
  EXPECT_EQ(people().sign_in("grace", "navy", kFrom).error().kind, ErrorKind::denied);
  EXPECT_TRUE(people().find("grace")->disabled);
  ASSERT_TRUE(people().remove("grace").ok());
  directory_->meanwhile = [&] { ASSERT_TRUE(people().add("grace", "", Role::viewer).ok()); };
  directory_->groups = {"root"};
  EXPECT_EQ(people().sign_in("grace", "navy", kFrom).error().kind, ErrorKind::denied) << "an account of our own";
  EXPECT_EQ(people().find("grace")->role, "viewer");
}

TEST_F(PeopleTest, TokensOfPeopleGoWithThem) {
  add("root", Role::admin);
  add("ada", Role::user);
  const auto made = accounts_->tokens().create("ada", "ci", {"read", "run"}, std::chrono::hours(1));
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(accounts_->tokens().check(made->secret)->name, "ci");
  EXPECT_FALSE(accounts_->tokens().check(made->token.hash));
  for (const auto& scopes : std::vector<std::vector<std::string>>{{}, {"join"}, {"nonsense"}}) {
    EXPECT_EQ(accounts_->tokens().create("ada", "x", scopes, {}).error().kind, ErrorKind::usage);
  }
  EXPECT_EQ(accounts_->tokens().create("ada", "ci", {"read"}, {}).error().kind, ErrorKind::usage) << "twice";
  clock_.advance(std::chrono::hours(1));
  EXPECT_FALSE(accounts_->tokens().check(made->secret)) << "expired";
  ASSERT_TRUE(accounts_->tidy().ok());
  const auto other = accounts_->tokens().create("ada", "ci", {"read"}, {});
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(accounts_->remove_user("ada").ok());
  EXPECT_FALSE(accounts_->tokens().check(other->secret));
}

TEST(PasswordHasherTest, FitsTheRightPasswordAlone) {
  PasswordHasher hasher({.passes = 1, .memory_bytes = 8192});
  const auto hash = hasher.hash("a secret");
  ASSERT_TRUE(hash.ok());
  EXPECT_TRUE(hash->starts_with("$argon2id$v=19$m=8,t=1,p=1$")) << *hash;
  EXPECT_NE(*hash, *hasher.hash("a secret")) << "salted";
  EXPECT_TRUE(*hasher.matches(*hash, "a secret"));
  EXPECT_FALSE(*hasher.matches(*hash, "a secreT"));
  EXPECT_FALSE(*hasher.matches("", ""));
  EXPECT_FALSE(*hasher.matches("damaged", "a secret"));
}

}  // namespace
}  // namespace assay
